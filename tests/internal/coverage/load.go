package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// code is what the generator reads of the module.
type code struct {
	exported map[string]export // by name: F, T, T.M
	proofs   []proof
}

// export is an exported name of package mpi.
type export struct {
	promoted bool   // a method of an embedded type that is exported itself, or such a type as a field
	kind     string // "func", "method", "field", "type", "value"
	synopsis string // first sentence of its comment
	doc      string // the comment
}

// listed is a package as go list describes it.
type listed struct {
	ImportPath, Dir, Export            string
	GoFiles, TestGoFiles, XTestGoFiles []string
	TestImports, XTestImports          []string
}

// checked is a package with its files and what the type checker knows about them.
type checked struct {
	pkg   *types.Package
	files []*ast.File
	info  *types.Info
}

// loader type-checks packages of one module against the compiler's export data of what they import.
type loader struct {
	fset     *token.FileSet
	packages map[string]listed
	imports  types.Importer
	subject  *types.Package // mpi with its internal tests, once checked: what all others import as mpi
}

// load reads package mpi and the tests in it and in package tests, named by their import paths.
func load(root, mpi, tests string) (*code, error) {
	l, err := newLoader(root, mpi, tests)
	if err != nil {
		return nil, err
	}
	m := l.packages[mpi]
	inner, err := l.check(mpi, m.Dir, append(m.GoFiles, m.TestGoFiles...))
	if err != nil {
		return nil, err
	}
	l.subject = inner.pkg
	outer, err := l.check(mpi+"_test", m.Dir, m.XTestGoFiles)
	if err != nil {
		return nil, err
	}
	t := l.packages[tests]
	suite, err := l.check(tests, t.Dir, append(t.GoFiles, t.TestGoFiles...))
	if err != nil {
		return nil, err
	}
	names, err := exportsOf(l.fset, inner, m)
	if err != nil {
		return nil, err
	}
	c := &code{exported: names}
	namer := newNamer(l.fset, inner.pkg)
	for _, p := range []*checked{suite, inner, outer} {
		c.proofs = append(c.proofs, proofsIn(l.fset, p, namer)...)
	}
	return c, nil
}

// newLoader lists the packages and what they and their tests import, compiled. The tests themselves
// are not: they are checked from their source, and what go list -test compiles for them takes most
// of a minute.
func newLoader(root string, paths ...string) (*loader, error) {
	tested, err := list(root, append([]string{"-json=TestImports,XTestImports"}, paths...)...)
	if err != nil {
		return nil, err
	}
	args := append([]string{"-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,TestGoFiles,XTestGoFiles"}, paths...)
	for _, p := range tested {
		args = append(append(args, p.TestImports...), p.XTestImports...)
	}
	all, err := list(root, args...)
	if err != nil {
		return nil, err
	}
	l := &loader{fset: token.NewFileSet(), packages: map[string]listed{}}
	for _, p := range all {
		l.packages[p.ImportPath] = p
	}
	l.imports = importer.ForCompiler(l.fset, "gc", func(path string) (io.ReadCloser, error) {
		p, ok := l.packages[path]
		if !ok || p.Export == "" {
			return nil, fmt.Errorf("go list gave no export data of %s", path)
		}
		return os.Open(p.Export)
	})
	return l, nil
}

// list runs go list, which is to print JSON.
func list(root string, args ...string) ([]listed, error) {
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir = root
	out, err := cmd.Output()
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("go list: %w\n%s", err, e.Stderr)
	} else if err != nil {
		return nil, err
	}
	var all []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

// Import implements types.Importer.
func (l *loader) Import(path string) (*types.Package, error) {
	if l.subject != nil && path == l.subject.Path() {
		return l.subject, nil
	}
	return l.imports.Import(path)
}

func (l *loader) check(path, dir string, names []string) (*checked, error) {
	c := &checked{info: &types.Info{
		Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{},
	}}
	for _, name := range names {
		f, err := parser.ParseFile(l.fset, filepath.Join(dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		c.files = append(c.files, f)
	}
	conf := types.Config{Importer: l}
	var err error
	c.pkg, err = conf.Check(path, l.fset, c.files, c.info)
	return c, err
}
