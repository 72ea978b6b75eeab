package main

import (
	"slices"
	"strings"

	"github.com/fitmpi/fitmpi/cabi/facts"
)

// result returns the type that b returns.
func result(b facts.Binding) string {
	if b.Result == nil {
		return "void"
	}
	return b.Result.CType(b.Twin)
}

// parameters returns the declarations of b's parameters.
func parameters(b facts.Binding) []string {
	var list []string
	for _, a := range b.Parameters() {
		list = append(list, parameter(a, b.Twin))
	}
	if list == nil {
		return []string{"void"}
	}
	return list
}

// parameter returns the declaration of a parameter.
func parameter(a *facts.Argument, twin bool) string {
	switch a.Kind.Class {
	case facts.ClassVarargs:
		return a.Kind.C
	case facts.ClassWord:
		return "void *" + a.Name
	case facts.ClassFunction:
		return functionType(a, twin) + " *" + a.Name
	case facts.ClassBuffer, facts.ClassString:
		return constant(a) + a.Kind.C + " *" + a.Name
	case facts.ClassStrings:
		return spaced(a.Kind.C) + address(a) + a.Name + dimensions(a)
	case facts.ClassStatus:
		if a.Length == "" {
			return constant(a) + a.Kind.C + " *" + a.Name
		}
	}
	if a.Length == "" {
		return a.Kind.CType(twin) + " " + address(a) + a.Name
	}
	if slices.Contains(a.Sentinels, "MPI_UNWEIGHTED") {
		// As a pointer: compilers warn of an array that is no memory.
		return constant(a) + a.Kind.CType(twin) + " *" + a.Name
	}
	return constant(a) + a.Kind.CType(twin) + " " + a.Name + dimensions(a)
}

// functionType returns the type of an argument that is a function.
func functionType(a *facts.Argument, twin bool) string {
	if twin && a.Function.Large != "" {
		return a.Function.Name + "_c"
	}
	return a.Function.Name
}

// constant returns the qualifier of memory that is only read.
func constant(a *facts.Argument) string {
	if a.Direction == facts.In && !a.Plain {
		return "const "
	}
	return ""
}

// address returns the star of a value that is passed by its address.
func address(a *facts.Argument) string {
	if a.Length == "" && (a.Direction != facts.In || a.ByRef) {
		return "*"
	}
	return ""
}

// dimensions returns the brackets of an array: the first pair is empty, as the table's length is no
// expression of C, and factors that are numbers make more.
func dimensions(a *facts.Argument) string {
	if a.Length == "" {
		return ""
	}
	var s strings.Builder
	s.WriteString("[]")
	for f := range strings.SplitSeq(a.Length, "*") {
		if strings.Trim(f, "0123456789") == "" {
			s.WriteString("[" + f + "]")
		}
	}
	return s.String()
}

// spaced writes a pointer type of the table, such as char**, as C code does: char **.
func spaced(c string) string {
	n := len(strings.TrimRight(c, "*"))
	if n == len(c) {
		return c + " "
	}
	return c[:n] + " " + c[n:]
}
