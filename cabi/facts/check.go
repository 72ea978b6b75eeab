package facts

import (
	"regexp"
	"strings"
)

// checker compares what the statements say about each other, and resolves the names of kinds.
type checker struct {
	table     *Table
	kinds     map[string]*Kind
	constants map[string]*Constant
	seen      map[string]position // of procedures, callbacks and constants
	errs      []error
}

// check resolves names within t and returns what is wrong with it.
func (t *Table) check() []error {
	c := &checker{table: t, kinds: map[string]*Kind{}, constants: map[string]*Constant{}, seen: map[string]position{}}
	for _, k := range t.Kinds {
		c.kinds[k.Name] = k
	}
	for _, g := range t.Groups {
		for _, k := range g.Constants {
			c.unique(k.at, k.Name)
			c.constants[k.Name] = k
		}
	}
	for _, g := range t.Groups {
		c.group(g)
	}
	for _, f := range t.Callbacks {
		c.procedure(f)
	}
	for _, v := range t.Values {
		for _, name := range v.Constants {
			if c.constants[name] == nil {
				c.errorf(v.at, "unknown constant %s", name)
			}
		}
	}
	for _, f := range t.Procedures() {
		c.procedure(f)
		c.versions(f)
	}
	return c.errs
}

func (c *checker) errorf(at position, format string, args ...any) {
	c.errs = append(c.errs, at.errorf(format, args...))
}

// unique says that a name is there twice.
func (c *checker) unique(at position, name string) {
	if first, ok := c.seen[name]; ok {
		c.errorf(at, "%s twice, first at %s:%d", name, first.file, first.line)
		return
	}
	c.seen[name] = at
}

// group checks the values of constants, and gives those that are the same as others their values.
func (c *checker) group(g *Group) {
	h := c.table.Handle(g.C)
	if g.Form == FormHandle && (h == nil || h.First == 0) {
		c.errorf(g.at, "%s is no type of handles with a range", g.C)
		return
	}
	for _, k := range g.Constants {
		if k.Same != "" {
			if c.constants[k.Same] == nil {
				c.errorf(k.at, "unknown constant %s", k.Same)
				continue
			}
			k.Value = c.constants[k.Same].Value
		}
		if g.Form == FormHandle && (k.Value < h.First || k.Value > h.Last) {
			c.errorf(k.at, "%s is out of the range of %s, %#x to %#x", k.Name, g.C, h.First, h.Last)
		}
	}
}

// procedure checks a procedure or a callback.
func (c *checker) procedure(f *Procedure) {
	for _, b := range f.Bindings() {
		c.unique(f.at, b.CName())
	}
	if f.result != "none" {
		if f.Result = c.kinds[f.result]; f.Result == nil {
			c.errorf(f.at, "unknown kind %q", f.result)
		}
	}
	grows := false
	names := map[string]bool{}
	for _, a := range f.Arguments {
		names[a.Name] = true
	}
	if len(names) < len(f.Arguments) {
		c.errorf(f.at, "%s has two arguments of one name", f.Name)
	}
	for _, a := range f.Arguments {
		grows = c.argument(a, names) || grows
	}
	if grows != (f.Large != "") {
		c.errorf(f.at, "%s has a twin: %v; it has arguments that grow: %v", f.Name, f.Large != "", grows)
	}
}

// argument checks an argument of a procedure whose arguments have those names, and returns whether
// it is another one in the large twin.
func (c *checker) argument(a *Argument, names map[string]bool) bool {
	a.Kind = c.kinds[a.kind]
	if a.Kind == nil {
		c.errorf(a.at, "unknown kind %q", a.kind)
		return false
	}
	for _, s := range a.Sentinels {
		if s != "NULL" && c.constants[s] == nil {
			c.errorf(a.at, "unknown constant %q", s)
		}
	}
	c.expression(a.at, a.Length, names)
	c.expression(a.at, a.Extent, names)
	if a.Extent != "" && a.Kind.Class != ClassBuffer {
		c.errorf(a.at, "of= for what is no buffer")
	}
	a.Function = c.table.Callback(a.function)
	if (a.Kind.Class == ClassFunction) != (a.Function != nil) {
		c.errorf(a.at, "%s is of kind %s and has fn=%s", a.Name, a.Kind.Name, a.function)
	}
	return a.Kind.Large != "" || a.LargeOnly || a.Function != nil && a.Function.Large != ""
}

// factor is a factor of a length or an extent: a word, a word of a word, or a word plus a number.
var factor = regexp.MustCompile(`^(?:(\w+)|(?:ranks|peers|indegree|outdegree|dims|sum|last)\((\w+)\)|(\w+)\+\d+)$`)

// number is a factor that is one.
var number = regexp.MustCompile(`^\d+$`)

// expression checks a length or an extent.
func (c *checker) expression(at position, s string, names map[string]bool) {
	if s == "" || s == "null" {
		return
	}
	for f := range strings.SplitSeq(s, "*") {
		m := factor.FindStringSubmatch(f)
		if m == nil {
			c.errorf(at, "%q is no length", f)
			continue
		}
		word := m[1] + m[2] + m[3]
		if !number.MatchString(word) && !names[word] && c.constants[word] == nil {
			c.errorf(at, "%s is no argument and no constant", word)
		}
	}
}

// versionForm is a version of MPI.
var versionForm = regexp.MustCompile(`^[1-5]\.\d$`)

// versions checks since when a procedure is there, and since when it is not wanted.
func (c *checker) versions(f *Procedure) {
	for _, v := range []string{f.Since, f.Deprecated, f.Large} {
		if v != "" && !versionForm.MatchString(v) || v != "" && v < f.Since {
			c.errorf(f.at, "%s: version %q does not fit", f.Name, v)
		}
	}
	if f.Since == "" {
		c.errorf(f.at, "%s has no version", f.Name)
	}
}
