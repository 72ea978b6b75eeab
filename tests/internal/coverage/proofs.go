package main

import (
	"go/ast"
	"go/constant"
	"go/doc"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// proof is a test and the names of package mpi that it uses, by itself and by the functions of the
// tests that it calls.
type proof struct {
	name    string // of the test, example or case
	kind    kind
	section string          // of the standard, which a case shows; "" if it is no case
	uses    map[string]bool // true: the test uses it itself, false: a function that it calls does
}

// kind of proof, the better ones first.
type kind int

const (
	isCase    kind = iota // a case of the suite: a sentence of the standard, over all transports
	isTest                // a test
	isExample             // an example whose output is compared
)

// node is a function or variable of a test and what it mentions.
type node struct {
	names map[string]bool
	refs  map[types.Object]bool
}

// scanner reads one package of tests.
type scanner struct {
	*namer
	c        *checked
	nodes    map[types.Object]*node
	cases    []caseOf
	programs map[string]types.Object // main functions of the processes that tests start, which they name by a string
}

// caseOf is an entry of a table of cases.
type caseOf struct {
	name, section string
	node          *node
}

// proofsIn returns the proofs in the test files of a package.
func proofsIn(fset *token.FileSet, c *checked, n *namer) []proof {
	s := &scanner{namer: n, c: c, nodes: map[types.Object]*node{}, programs: map[string]types.Object{}}
	var tests []*ast.File
	for _, f := range c.files {
		if strings.HasSuffix(fset.Position(f.Pos()).Filename, "_test.go") {
			tests = append(tests, f)
			ast.Inspect(f, s.findPrograms)
		}
	}
	var roots []*ast.FuncDecl
	for _, f := range tests {
		for _, d := range f.Decls {
			s.declare(d)
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				roots = append(roots, fn)
			}
		}
	}
	var proofs []proof
	run := runnable(tests)
	for _, fn := range roots {
		if k, ok := rootKind(fn.Name.Name); ok && (k != isExample || run[fn.Name.Name]) {
			proofs = append(proofs, proof{name: fn.Name.Name, kind: k, uses: s.closure(s.nodes[c.info.Defs[fn.Name]])})
		}
	}
	for _, tc := range s.cases {
		proofs = append(proofs, proof{tc.name, isCase, tc.section, s.closure(tc.node)})
	}
	return proofs
}

// runnable is the examples that are run, as they say what they print; others are only compiled.
func runnable(tests []*ast.File) map[string]bool {
	run := map[string]bool{}
	for _, e := range doc.Examples(tests...) {
		run["Example"+e.Name] = e.Output != "" || e.EmptyOutput
	}
	return run
}

func rootKind(name string) (kind, bool) {
	switch {
	case name == "TestMain":
		return 0, false
	case strings.HasPrefix(name, "Test"), strings.HasPrefix(name, "Fuzz"):
		return isTest, true
	case strings.HasPrefix(name, "Example"):
		return isExample, true
	}
	return 0, false
}

// findPrograms notes assignments such as programs["ring"] = ringRank.
func (s *scanner) findPrograms(n ast.Node) bool {
	a, ok := n.(*ast.AssignStmt)
	if !ok || len(a.Lhs) != 1 || len(a.Rhs) != 1 {
		return true
	}
	index, _ := a.Lhs[0].(*ast.IndexExpr)
	f, _ := a.Rhs[0].(*ast.Ident)
	if index == nil || f == nil {
		return true
	}
	if x, ok := index.X.(*ast.Ident); ok && x.Name == "programs" && s.text(index.Index) != "" {
		s.programs[s.text(index.Index)] = s.c.info.Uses[f]
	}
	return true
}

// declare notes what a declaration mentions.
func (s *scanner) declare(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if o := s.c.info.Defs[d.Name]; o != nil {
			s.nodes[o] = s.scan(d)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			v, ok := spec.(*ast.ValueSpec)
			if !ok {
				continue
			}
			n := s.scan(v)
			for _, name := range v.Names {
				if o := s.c.info.Defs[name]; o != nil {
					s.nodes[o] = n
				}
			}
		}
	}
}

// scan collects what a piece of syntax mentions, and the cases in it, which are no part of it: what
// runs them all proves nothing in particular.
func (s *scanner) scan(root ast.Node) *node {
	n := &node{names: map[string]bool{}, refs: map[types.Object]bool{}}
	ast.Inspect(root, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.Ident:
			s.mention(n, s.c.info.Uses[x])
		case *ast.BasicLit:
			if f := s.programs[s.text(x)]; f != nil {
				n.refs[f] = true
			}
		case *ast.CompositeLit:
			if tc, ok := s.caseIn(x); ok {
				s.cases = append(s.cases, tc)
				return false
			}
		}
		return true
	})
	return n
}

func (s *scanner) mention(n *node, o types.Object) {
	if o == nil {
		return
	}
	if name := s.name(o); name != "" {
		n.names[name] = true
		return
	}
	if f, ok := o.(*types.Func); ok {
		o = f.Origin()
	}
	if o.Pkg() == s.c.pkg {
		n.refs[o] = true
	}
}

// caseIn reads a literal of type testCase; ok is false if x is none, or has no constant name.
func (s *scanner) caseIn(x *ast.CompositeLit) (tc caseOf, ok bool) {
	named, ok := s.c.info.Types[x].Type.(*types.Named)
	if !ok || named.Obj().Name() != "testCase" {
		return tc, false
	}
	for _, e := range x.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		switch key, _ := kv.Key.(*ast.Ident); {
		case key == nil:
		case key.Name == "name":
			tc.name = s.text(kv.Value)
		case key.Name == "section":
			tc.section = s.text(kv.Value)
		case key.Name == "run":
			tc.node = s.scan(kv.Value)
		}
	}
	return tc, tc.name != "" && tc.node != nil
}

// text is the value of a constant string, "" if e is none.
func (s *scanner) text(e ast.Expr) string {
	if v := s.c.info.Types[e].Value; v != nil && v.Kind() == constant.String {
		return constant.StringVal(v)
	}
	return ""
}

// closure returns the names that n uses (true), and those of what it calls (false). What n is the
// name of alone, as a case is of its function, counts as n itself.
func (s *scanner) closure(n *node) map[string]bool {
	uses := map[string]bool{}
	for name := range n.names {
		uses[name] = true
	}
	depth := 0
	if len(n.names) == 0 && len(n.refs) == 1 {
		depth = -1
	}
	seen := map[types.Object]bool{}
	for refs := n.refs; len(refs) > 0; depth++ {
		next := map[types.Object]bool{}
		for o := range refs {
			for _, called := range s.targets(o) {
				m := s.nodes[called]
				if seen[called] || m == nil {
					continue
				}
				seen[called] = true
				for name := range m.names {
					uses[name] = uses[name] || depth < 0
				}
				for r := range m.refs {
					next[r] = true
				}
			}
		}
		refs = next
	}
	return uses
}

// targets are what calling o may call: o, or if it is a method of an interface, all methods of its
// name.
func (s *scanner) targets(o types.Object) []types.Object {
	f, ok := o.(*types.Func)
	if !ok || f.Signature().Recv() == nil || !types.IsInterface(f.Signature().Recv().Type()) {
		return []types.Object{o}
	}
	var all []types.Object
	for m := range s.nodes {
		if g, ok := m.(*types.Func); ok && g.Name() == f.Name() && g.Signature().Recv() != nil {
			all = append(all, m)
		}
	}
	return all
}

// best returns the proof of a name that says most, nil if there is none. That is a case or test
// that is called like the name, else a case, a test, an example. Of those it takes one that is not
// about wrong arguments; of those one of the chapter's sections; of those one that uses it itself;
// of those the one that uses the fewest other names.
func best(proofs []proof, name, sections string) *proof {
	var found *proof
	for i := range proofs {
		p := &proofs[i]
		if _, ok := p.uses[name]; ok && (found == nil || compare(p, found, name, sections) < 0) {
			found = p
		}
	}
	return found
}

func compare(a, b *proof, name, sections string) int {
	rank := func(p *proof) []int {
		return []int{
			choose(p.kind != isExample && isCalled(p.name, name), 0, 1), int(p.kind), choose(isAboutMisuse(p.name), 1, 0),
			choose(isWithin(p.section, sections), 0, 1), choose(p.uses[name], 0, 1), len(p.uses),
		}
	}
	if c := slices.Compare(rank(a), rank(b)); c != 0 {
		return c
	}
	return strings.Compare(a.name, b.name)
}

// isAboutMisuse reports whether a test shows what becomes of wrong calls.
func isAboutMisuse(name string) bool {
	return slices.ContainsFunc(words(name), func(w string) bool {
		return slices.Contains([]string{"arguments", "error", "errors", "wrong"}, w)
	})
}

// isWithin reports whether a section such as 6.12.3, or a part of it, is in a list such as "6.3 to
// 6.11, 6.13". Of several ("6.5-6.8") the first counts.
func isWithin(section, list string) bool {
	section, _, _ = strings.Cut(strings.ReplaceAll(section, ",", "-"), "-")
	s := numbers(section)
	if len(s) == 0 {
		return false
	}
	for part := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), " to ")
		if !isRange {
			to = from
		}
		low, high := numbers(from), numbers(to)
		if len(low) > 0 && len(high) > 0 && slices.Compare(cut(s, low), cut(low, s)) >= 0 && slices.Compare(cut(s, high), cut(high, s)) <= 0 {
			return true
		}
	}
	return false
}

// cut shortens a to the length of b.
func cut(a, b []int) []int { return a[:min(len(a), len(b))] }

// numbers reads 6.12.3; nil if s is no section.
func numbers(s string) []int {
	var ns []int
	for f := range strings.SplitSeq(s, ".") {
		n, err := strconv.Atoi(f)
		if err != nil {
			return nil
		}
		ns = append(ns, n)
	}
	return ns
}

func choose(cond bool, yes, no int) int {
	if cond {
		return yes
	}
	return no
}

// isCalled reports whether words of a test's name are the Go name: "request/get status" is called
// Request.GetStatus.
func isCalled(test, name string) bool {
	if _, member, ok := strings.Cut(name, "."); ok {
		name = member
	}
	name = strings.ToLower(name)
	ws := words(test)
	for i := range ws {
		for j := i; j < len(ws); j++ {
			if strings.Join(ws[i:j+1], "") == name {
				return true
			}
		}
	}
	return false
}

// words splits a test's name where it has no letter or digit and before capitals, in lower case.
func words(s string) []string {
	var b strings.Builder
	for _, r := range s {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	isBreak := func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9') }
	return strings.FieldsFunc(strings.ToLower(b.String()), isBreak)
}

// exampleOf is the example that go doc shows with a name.
func exampleOf(proofs []proof, name string) string {
	want := "Example" + strings.ReplaceAll(name, ".", "_")
	for _, p := range proofs {
		if p.kind == isExample && p.name == want {
			return want
		}
	}
	return ""
}
