//go:build linux && !fitmpi_portable

package mpi_test

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
	"testing"
)

// Inside the package no function calls an exported function that tells tools: the library's own
// calls are not the user's.
func TestLibraryCallsAreNotObserved(t *testing.T) {
	fset, files, info := typeCheck(t)
	told := map[*types.Func]bool{}
	for _, f := range files {
		for _, d := range f.Decls {
			d, ok := d.(*ast.FuncDecl)
			if !ok || !isExported(receiverOf(d)+d.Name.Name) {
				continue
			}
			if _, ok := begins(d.Body); ok || delegates(d) == "send" {
				told[info.Defs[d.Name].(*types.Func)] = true
			}
		}
	}
	if len(told) < 150 {
		t.Fatalf("%d functions tell tools: too few, the test sees nothing", len(told))
	}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			if c, ok := n.(*ast.CallExpr); ok {
				if callee := calledBy(info, c); callee != nil && told[callee.Origin()] {
					at := fset.Position(c.Pos())
					t.Errorf("%s:%d: a call of %s, of which tools are told as if the user had called it", filepath.Base(at.Filename), at.Line, callee.Name())
				}
			}
			return true
		})
	}
}

// calledBy is the function that c calls, nil if that is known only when it runs.
func calledBy(info *types.Info, c *ast.CallExpr) *types.Func {
	f := c.Fun
	if x, ok := f.(*ast.IndexExpr); ok {
		f = x.X
	}
	name, ok := f.(*ast.Ident)
	if s, is := f.(*ast.SelectorExpr); is {
		name, ok = s.Sel, true
	}
	if !ok {
		return nil
	}
	callee, _ := info.Uses[name].(*types.Func)
	return callee
}

// typeCheck checks the types of the package, without its tests, against the export data of what it
// imports.
func typeCheck(t *testing.T) (*token.FileSet, []*ast.File, *types.Info) {
	t.Helper()
	out, err := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export,GoFiles,DepOnly", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	exports, fset := map[string]string{}, token.NewFileSet()
	var files []*ast.File
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Export string
			GoFiles            []string
			DepOnly            bool
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if p.DepOnly {
			continue
		}
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
	}
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("go list gave no export data of %s", path)
		}
		return os.Open(exports[path])
	})
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	if _, err := (&types.Config{Importer: imports}).Check("mpi", fset, files, info); err != nil {
		t.Fatal(err)
	}
	return fset, files, info
}
