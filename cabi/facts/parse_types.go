package facts

import (
	"slices"
	"strconv"
)

// classes are all classes, and whether the kinds of a class have a type in C.
var classes = map[Class]bool{
	ClassHandle: true, ClassInteger: true, ClassReal: true, ClassStatus: true, ClassBuffer: true,
	ClassString: true, ClassWord: true, ClassStrings: true, ClassFunction: false, ClassVarargs: true,
}

// parseKind adds a kind.
func (p *parser) parseKind(l line) error {
	if err := l.need(3, "kind NAME CLASS [C-TYPE]"); err != nil {
		return err
	}
	k := &Kind{Name: l.fields[1], Class: Class(l.fields[2])}
	typed, ok := classes[k.Class]
	if !ok {
		return l.at.errorf("unknown class %q", k.Class)
	}
	n := 3
	if typed {
		if err := l.need(4, "kind NAME CLASS C-TYPE"); err != nil {
			return err
		}
		k.C, n = l.fields[3], 4
	}
	o, err := l.options(n, "large=")
	if err != nil {
		return err
	}
	k.Large = o["large"]
	if slices.ContainsFunc(p.table.Kinds, func(other *Kind) bool { return other.Name == k.Name }) {
		return l.at.errorf("kind %s twice", k.Name)
	}
	p.table.Kinds = append(p.table.Kinds, k)
	return nil
}

// parseAlias adds a second name of a callback.
func (p *parser) parseAlias(l line) error {
	if len(l.fields) != 3 {
		return l.at.errorf("want alias NAME CALLBACK")
	}
	p.table.Aliases = append(p.table.Aliases, Alias{l.fields[1], l.fields[2]})
	return nil
}

// parseInteger adds a name for a type of <stdint.h>.
func (p *parser) parseInteger(l line) error {
	if len(l.fields) != 3 {
		return l.at.errorf("want integer NAME C-TYPE")
	}
	p.table.Integers = append(p.table.Integers, Integer{l.fields[1], l.fields[2]})
	return nil
}

// parseStruct starts a struct.
func (p *parser) parseStruct(l line) error {
	if len(l.fields) != 2 {
		return l.at.errorf("want struct NAME")
	}
	s := &Struct{Name: l.fields[1]}
	p.table.Structs = append(p.table.Structs, s)
	p.body = func(l line) error { return parseField(s, l) }
	return nil
}

// parseField adds a field to s.
func parseField(s *Struct, l line) error {
	if len(l.fields) < 2 || len(l.fields) > 3 {
		return l.at.errorf("want C-TYPE FIELD [LENGTH]")
	}
	f := Field{C: l.fields[0], Name: l.fields[1]}
	if len(l.fields) == 3 {
		n, err := strconv.Atoi(l.fields[2])
		if err != nil || n < 1 {
			return l.at.errorf("the length %q is no positive number", l.fields[2])
		}
		f.Length = n
	}
	s.Fields = append(s.Fields, f)
	return nil
}

// parseHandle adds a type of handles.
func (p *parser) parseHandle(l line) error {
	if len(l.fields) != 3 && len(l.fields) != 5 {
		return l.at.errorf("want handle NAME TAG [FIRST LAST]")
	}
	h := &Handle{Name: l.fields[1], Tag: l.fields[2]}
	for i, v := range []*int{&h.First, &h.Last} {
		if len(l.fields) == 3 {
			break
		}
		n, err := strconv.ParseInt(l.fields[3+i], 0, 32)
		if err != nil {
			return l.at.errorf("%q is no number", l.fields[3+i])
		}
		*v = int(n)
	}
	p.table.Handles = append(p.table.Handles, h)
	return nil
}
