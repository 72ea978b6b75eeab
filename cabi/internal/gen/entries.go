package main

import (
	"fmt"
	"strings"

	"github.com/fitmpi/fitmpi/cabi/facts"
	"github.com/fitmpi/fitmpi/cabi/internal/halves"
)

// entries returns the C functions that only gather their arguments and enter Go.
func entries(t *facts.Table) string {
	w := &strings.Builder{}
	fmt.Fprintf(w, "/* %s */\n#include \"fitmpi.h\"\n", notice)
	id := 0
	for _, c := range t.Chapters {
		fmt.Fprintf(w, "\n/* %s (chapter %d). */\n", c.Title, c.Number)
		for _, b := range c.Bindings() {
			if !halves.InC(b.CName()) {
				entry(w, id, b)
			}
			id++
		}
	}
	fmt.Fprintf(w, "\nconst unsigned char fit_when[] = {")
	n := 0
	for _, c := range t.Chapters {
		for _, b := range c.Bindings() {
			if n%32 == 0 {
				w.WriteString("\n    ")
			}
			fmt.Fprintf(w, "%d,", when(b))
			n++
		}
	}
	w.WriteString("\n};\n\nconst char *const fit_names[] = {\n")
	for _, c := range t.Chapters {
		for _, b := range c.Bindings() {
			fmt.Fprintf(w, "    %q,\n", b.CName())
		}
	}
	w.WriteString("};\n")
	return w.String()
}

// numbers returns the header with the numbers of the functions that are written in C by hand.
func numbers(t *facts.Table) string {
	w := &strings.Builder{}
	fmt.Fprintf(w, "/* %s */\n\n/* Numbers of functions that are in C and enter Go too. */\nenum {\n", notice)
	id := 0
	for _, c := range t.Chapters {
		for _, b := range c.Bindings() {
			if halves.InC(b.CName()) {
				fmt.Fprintf(w, "    FIT_ID_%s = %d,\n", strings.ToUpper(strings.TrimPrefix(b.CName(), "MPI_")), id)
			}
			id++
		}
	}
	w.WriteString("};\n")
	return w.String()
}

// when says when a function may be called, as fitmpi.h has it.
func when(b facts.Binding) int {
	switch {
	case b.Starts:
		return 2
	case b.Anytime:
		return 1
	}
	return 0
}

// entry writes one function, and its name without the P, which a tool may replace.
func entry(w *strings.Builder, id int, b facts.Binding) {
	declared := &strings.Builder{}
	declaration(declared, result(b)+" P"+b.CName(), b)
	head := strings.TrimSuffix(declared.String(), ";\n")
	var words []string
	for _, a := range b.Parameters() {
		words = append(words, word(a))
	}
	if words == nil {
		words = []string{"0"}
	}
	fmt.Fprintf(w, "\n%s\n{\n    int64_t a[] = {%s};\n    return fit_call(%d, a);\n}\n", head, strings.Join(words, ", "), id)
	fmt.Fprintf(w, "FIT_ALIAS(%s);\n", b.CName())
}

// word is an argument as a word of 64 bits: a number keeps its sign, all else is an address.
func word(a *facts.Argument) string {
	isValue := a.Length == "" && a.Direction == facts.In && !a.ByRef
	if isValue && (a.Kind.Class == facts.ClassInteger || a.Kind.Class == facts.ClassReal) {
		return a.Name
	}
	return "(intptr_t)" + a.Name
}
