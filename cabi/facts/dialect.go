package facts

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
)

//go:embed dialects/*.txt
var dialectFiles embed.FS

// Dialect is the binary interface of another library: the same procedures, as far as its version of
// MPI has them, and other numbers.
//
//	library NAME SONAME VERSION
//	addresses HANDLE...
//	values TITLE
//	  CONSTANT NUMBER
//	objects HANDLE SIZE
//	  CONSTANT|- SYMBOL
//
// A handle of objects is the address of an object that the library exports by that symbol, of so
// many bytes; one without a constant is there for programs that name it. All other handles are
// numbers. What a library has no number for is not in its file.
type Dialect struct {
	Name      string
	Library   string
	Version   string           // of MPI
	Addresses []string         // types of handles that are addresses, of which null is zero
	Values    map[string]int64 // by constant
	Objects   []Object

	at position
}

// Object is an exported object.
type Object struct {
	Constant string // "" if there is none in the standard ABI
	Handle   string // type of the handle
	Symbol   string
	Size     int
}

// Removed are the handles that MPI 3.0 removed, by numbers that the standard ABI leaves free. Only
// what has not forgotten them knows these.
var Removed = map[string]int{"MPI_LB": 0x2fe, "MPI_UB": 0x2ff}

// Dialects returns the dialects, by name. Their constants are those of t.
func (t *Table) Dialects() ([]*Dialect, error) {
	names, err := fs.Glob(dialectFiles, "dialects/*.txt")
	if err != nil {
		return nil, err
	}
	var all []*Dialect
	var errs []error
	for _, name := range names {
		text, err := fs.ReadFile(dialectFiles, name)
		if err != nil {
			return nil, err
		}
		d := &Dialect{Values: map[string]int64{}, at: position{path.Base(name), 1}}
		errs = append(errs, d.parse(path.Base(name), string(text), t)...)
		all = append(all, d)
	}
	return all, errors.Join(errs...)
}

// parse reads a file.
func (d *Dialect) parse(name, text string, t *Table) (errs []error) {
	var body func(line) error
	for _, l := range scan(name, text) {
		var err error
		switch {
		case l.body && body == nil:
			err = l.at.errorf("an indented line belongs to no statement")
		case l.body:
			err = body(l)
		default:
			body, err = d.statement(l, t)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	if d.Name == "" {
		errs = append(errs, d.at.errorf("no library"))
	}
	return errs
}

// statement reads a line that is not indented, and returns what reads those below it.
func (d *Dialect) statement(l line, t *Table) (func(line) error, error) {
	switch l.fields[0] {
	case "library":
		if len(l.fields) != 4 {
			return nil, l.at.errorf("want library NAME SONAME VERSION")
		}
		d.Name, d.Library, d.Version = l.fields[1], l.fields[2], l.fields[3]
		return nil, nil
	case "addresses":
		d.Addresses = l.fields[1:]
		return nil, nil
	case "values":
		return func(l line) error { return d.value(l, t) }, nil
	case "objects":
		return d.objects(l, t)
	}
	return nil, l.at.errorf("unknown statement %q", l.fields[0])
}

// value reads the number of a constant.
func (d *Dialect) value(l line, t *Table) error {
	if len(l.fields) != 2 {
		return l.at.errorf("want CONSTANT NUMBER")
	}
	name := l.fields[0]
	n, err := strconv.ParseInt(l.fields[1], 0, 64)
	if err != nil {
		return l.at.errorf("the value %q is no number", l.fields[1])
	}
	if err := d.known(l, name, t); err != nil {
		return err
	}
	d.Values[name] = n
	return nil
}

// objects starts a group of objects.
func (d *Dialect) objects(l line, t *Table) (func(line) error, error) {
	if len(l.fields) != 3 || t.Handle(l.fields[1]) == nil {
		return nil, l.at.errorf("want objects HANDLE SIZE")
	}
	size, err := strconv.Atoi(l.fields[2])
	if err != nil || size < 64 {
		return nil, l.at.errorf("the size %q is no number of bytes from 64", l.fields[2])
	}
	handle := l.fields[1]
	return func(l line) error {
		if len(l.fields) != 2 {
			return l.at.errorf("want CONSTANT SYMBOL")
		}
		o := Object{Constant: l.fields[0], Handle: handle, Symbol: l.fields[1], Size: size}
		if o.Constant == "-" {
			o.Constant = ""
		} else if err := d.known(l, o.Constant, t); err != nil {
			return err
		}
		d.Objects = append(d.Objects, o)
		return nil
	}, nil
}

// known says what is wrong with a constant.
func (d *Dialect) known(l line, name string, t *Table) error {
	if _, ok := Removed[name]; !ok && t.Constant(name) == nil {
		return l.at.errorf("unknown constant %s", name)
	}
	twice := slices.ContainsFunc(d.Objects, func(o Object) bool { return o.Constant == name })
	if _, ok := d.Values[name]; ok || twice {
		return l.at.errorf("%s twice", name)
	}
	return nil
}

// Number is the number of a constant in the standard ABI.
func (t *Table) Number(name string) int {
	if n, ok := Removed[name]; ok {
		return n
	}
	c := t.Constant(name)
	if c == nil {
		panic(fmt.Sprintf("no constant %s", name))
	}
	return c.Value
}

// Has reports whether the dialect's version of MPI has a binding.
func (d *Dialect) Has(b Binding) bool {
	if b.Twin {
		return b.Large <= d.Version
	}
	return b.Since <= d.Version
}
