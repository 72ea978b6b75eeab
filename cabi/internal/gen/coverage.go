package main

import (
	"fmt"
	"strings"

	"github.com/fitmpi/fitmpi/cabi/facts"
)

// state says of a procedure how much of it is there.
func state(facts.Binding) string { return "not there yet" }

// coverage returns COVERAGE.md.
func coverage(t *facts.Table) string {
	w := &strings.Builder{}
	fmt.Fprintf(w, "<!-- %s -->\n\n# Coverage of MPI's interface in C\n\n", notice)
	w.WriteString("Each procedure of the standard ABI, by chapter of MPI 5.0. What is there is there under both\n" +
		"names, `MPI_` and `PMPI_`.\n\n")
	w.WriteString("| chapter | procedures | with twins for large counts |\n|---|---|---|\n")
	all, twins := 0, 0
	for _, c := range t.Chapters {
		n := len(c.Bindings())
		fmt.Fprintf(w, "| %d. %s | %d | %d |\n", c.Number, c.Title, len(c.Procedures), n)
		all, twins = all+len(c.Procedures), twins+n
	}
	fmt.Fprintf(w, "| all | %d | %d |\n", all, twins)
	for _, c := range t.Chapters {
		fmt.Fprintf(w, "\n## %d. %s\n\n| procedure | since | state |\n|---|---|---|\n", c.Number, c.Title)
		for _, b := range c.Bindings() {
			fmt.Fprintf(w, "| `%s` | %s | %s |\n", b.CName(), since(b), state(b))
		}
	}
	return w.String()
}

// since returns the version of MPI that brought a binding, and the one that deprecated it.
func since(b facts.Binding) string {
	s := b.Since
	if b.Twin {
		s = b.Large
	}
	if b.Deprecated != "" {
		s += ", deprecated in " + b.Deprecated
	}
	return s
}
