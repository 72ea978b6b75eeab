package main

import (
	"fmt"
	"go/format"
	"strings"
)

// Predefined operations by the kinds that they work on (MPI 5.0, section 6.9.2).
var (
	arithmetic = []string{"Sum", "Prod"}
	ordered    = []string{"Max", "Min"}
	logical    = []string{"Land LAnd", "Lor LOr", "Lxor LXor"}
	window     = []string{"Replace", "NoOp"} // of accumulates alone
	bitwise    = []string{"Band BAnd", "Bor BOr", "Bxor BXor"}
)

// operationKinds are Go types and the operations on them.
var operationKinds = []struct {
	goType string
	lists  [][]string
}{
	{"int8", [][]string{arithmetic, ordered, logical, bitwise}},
	{"int16", [][]string{arithmetic, ordered, logical, bitwise}},
	{"int32", [][]string{arithmetic, ordered, logical, bitwise}},
	{"int64", [][]string{arithmetic, ordered, logical, bitwise}},
	{"uint8", [][]string{arithmetic, ordered, logical, bitwise}},
	{"uint16", [][]string{arithmetic, ordered, logical, bitwise}},
	{"uint32", [][]string{arithmetic, ordered, logical, bitwise}},
	{"uint64", [][]string{arithmetic, ordered, logical, bitwise}},
	{"float32", [][]string{arithmetic, ordered}},
	{"float64", [][]string{arithmetic, ordered}},
	{"complex64", [][]string{arithmetic}},
	{"complex128", [][]string{arithmetic}},
	{"bool", [][]string{logical}},
}

// operationTables returns the predefined operations of package mpi for each kind. Each is named in
// full: package mpi knows its own operations by the names of their functions, which those that a
// generic function instantiates do not have.
func operationTables() (string, error) {
	w := &strings.Builder{}
	fmt.Fprintf(w, "// %s\n\npackage calls\n\nimport (\n\t\"github.com/fitmpi/fitmpi/cabi/internal/abi\"\n\t\"github.com/fitmpi/fitmpi/mpi\"\n)\n", notice)
	w.WriteString("\n// The predefined operations, by kind of element.\nvar (\n")
	for _, k := range operationKinds {
		fmt.Fprintf(w, "%sOps = operations[%s]{", k.goType, k.goType)
		for _, list := range append(k.lists, window) {
			for _, o := range list {
				c, g, ok := strings.Cut(o, " ")
				if !ok {
					g = c
				}
				fmt.Fprintf(w, "\nabi.%s: mpi.%s[%s],", c, g, k.goType)
			}
		}
		w.WriteString("\n}\n")
	}
	w.WriteString(")\n")
	out, err := format.Source([]byte(w.String()))
	return string(out), err
}
