// Command coverage writes docs/COVERAGE.md: which procedure of the MPI standard has which name in
// package mpi, and which test shows that it does what the standard says.
//
//	go run ./tests/internal/coverage
//	go run ./tests/internal/coverage -print    shows it instead
//
// The procedures are listed in procedures.txt; everything else is found in the code. The exported
// names are those of package mpi as it type-checks, so methods, promoted ones and fields count too.
// What a test calls is found by type as well, and through the functions of the tests that it calls.
// A case of the suite (a testCase with a name and a function), a test or an example proves a name
// if it reaches a use of it. There is no list of proofs to keep.
//
// The test beside it fails if the document is stale.
package main

import (
	"bytes"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

//go:generate go run .

//go:embed procedures.txt
var procedures string

const (
	module  = "github.com/fitmpi/fitmpi"
	command = "go run ./tests/internal/coverage" // what renews the document
	target  = "docs/COVERAGE.md"
)

func main() {
	show := flag.Bool("print", false, "write the document to standard output")
	flag.Parse()
	if err := run(*show); err != nil {
		fmt.Fprintln(os.Stderr, "coverage:", err)
		os.Exit(1)
	}
}

func run(show bool) error {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return fmt.Errorf("go env GOMOD: %w", err)
	}
	root := filepath.Dir(string(bytes.TrimSpace(out)))
	page, err := generate(root)
	if err != nil {
		return err
	}
	if show {
		_, err = os.Stdout.Write(page)
		return err
	}
	return os.WriteFile(filepath.Join(root, target), page, 0o666)
}

// generate returns the document for the module in directory root.
func generate(root string) ([]byte, error) {
	chapters, err := parse(procedures)
	if err != nil {
		return nil, err
	}
	code, err := load(root, module+"/mpi", module+"/tests")
	if err != nil {
		return nil, err
	}
	return page(classify(chapters, code), code), nil
}
