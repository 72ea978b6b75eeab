package main

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
)

// namer gives the names of package mpi their place in the table: F for a function, T.M for a method
// or field.
type namer struct {
	fset   *token.FileSet
	pkg    *types.Package
	fields map[types.Object]string // T of each field
	lifted map[types.Object]string // T.M of each method that T has of an embedded type that is not exported
}

func newNamer(fset *token.FileSet, pkg *types.Package) *namer {
	n := &namer{fset: fset, pkg: pkg, fields: map[types.Object]string{}, lifted: map[types.Object]string{}}
	for _, name := range pkg.Scope().Names() {
		o, ok := pkg.Scope().Lookup(name).(*types.TypeName)
		if !ok || !o.Exported() {
			continue
		}
		for m := range types.NewMethodSet(types.NewPointer(o.Type())).Methods() {
			if f, ok := m.Obj().(*types.Func); ok && len(m.Index()) > 1 && !receiverOf(f).Exported() {
				n.lifted[f.Origin()] = name + "." + f.Name()
			}
		}
		if s, ok := o.Type().Underlying().(*types.Struct); ok {
			for f := range s.Fields() {
				n.fields[f] = name
			}
		}
	}
	return n
}

// receiverOf is the type that a method was declared for.
func receiverOf(f *types.Func) *types.TypeName {
	t := f.Origin().Signature().Recv().Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if named, ok := t.(*types.Named); ok {
		return named.Obj()
	}
	return types.NewTypeName(token.NoPos, nil, "", nil) // of an interface without a name
}

// isTest reports whether o is declared in a test.
func (n *namer) isTest(o types.Object) bool {
	return strings.HasSuffix(n.fset.Position(o.Pos()).Filename, "_test.go")
}

// name is "" if o is no exported name of package mpi.
func (n *namer) name(o types.Object) string {
	if o.Pkg() != n.pkg || !o.Exported() || n.isTest(o) {
		return ""
	}
	switch o := o.(type) {
	case *types.Func:
		if o.Signature().Recv() == nil {
			return o.Name()
		}
		if t := receiverOf(o); t.Exported() {
			return t.Name() + "." + o.Name()
		}
		return n.lifted[o.Origin()]
	case *types.Var:
		if o.IsField() {
			if t := n.fields[o.Origin()]; t != "" {
				return t + "." + o.Name()
			}
			return ""
		}
	}
	if o.Parent() != n.pkg.Scope() {
		return ""
	}
	return o.Name()
}

// exportsOf lists the exported names of package mpi with their comments.
func exportsOf(fset *token.FileSet, c *checked, l listed) (map[string]export, error) {
	n := newNamer(fset, c.pkg)
	all := map[string]export{}
	for _, name := range c.pkg.Scope().Names() {
		o := c.pkg.Scope().Lookup(name)
		if !o.Exported() || n.isTest(o) {
			continue
		}
		switch o := o.(type) {
		case *types.Func:
			all[name] = export{kind: "func"}
		case *types.TypeName:
			all[name] = export{kind: "type"}
			members(all, name, o)
		default:
			all[name] = export{kind: "value"}
		}
	}
	return all, comments(all, c.pkg.Path(), l)
}

// members adds the exported methods and fields of a type, those of embedded types too.
func members(all map[string]export, name string, o *types.TypeName) {
	if types.IsInterface(o.Type()) {
		return
	}
	set := types.NewMethodSet(types.NewPointer(o.Type()))
	for m := range set.Methods() {
		if f, ok := m.Obj().(*types.Func); ok && f.Exported() {
			all[name+"."+f.Name()] = export{kind: "method", promoted: len(m.Index()) > 1 && receiverOf(f).Exported()}
		}
	}
	if s, ok := o.Type().Underlying().(*types.Struct); ok {
		for f := range s.Fields() {
			if f.Exported() {
				all[name+"."+f.Name()] = export{kind: "field", promoted: f.Embedded()}
			}
		}
	}
}

// comments adds the comments of functions, methods and types. go/doc changes the syntax it is
// given, so it gets its own.
func comments(all map[string]export, path string, l listed) error {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range l.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(l.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	p, err := doc.NewFromFiles(fset, files, path)
	if err != nil {
		return err
	}
	note := func(name, text string) {
		if e, ok := all[name]; ok {
			e.doc, e.synopsis = text, p.Synopsis(text)
			all[name] = e
		}
	}
	values := func(vs []*doc.Value) {
		for _, v := range vs {
			for _, name := range v.Names {
				note(name, v.Doc)
			}
		}
	}
	funcs := func(prefix string, fs []*doc.Func) {
		for _, f := range fs {
			note(prefix+f.Name, f.Doc)
		}
	}
	funcs("", p.Funcs)
	values(p.Consts)
	values(p.Vars)
	for _, t := range p.Types {
		note(t.Name, t.Doc)
		funcs("", t.Funcs)
		funcs(t.Name+".", t.Methods)
		values(t.Consts)
		values(t.Vars)
	}
	return nil
}
