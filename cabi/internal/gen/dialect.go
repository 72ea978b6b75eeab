package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fitmpi/fitmpi/cabi/facts"
)

// A library with the interface of another is the C half, whose functions have other names there,
// and functions that convert what they are given and call it. Those come from the table of facts
// and from the numbers of the other library.

// handWritten are the functions that are in dialects/*.c: what they are given is more than its type
// says.
var handWritten = strings.Fields(`
	MPI_Pcontrol MPI_Get_version MPI_Grequest_start MPI_Type_get_contents MPI_Type_get_contents_c
	MPI_Comm_get_attr MPI_Attr_get MPI_Win_get_attr MPI_Type_create_struct
`)

// dialectOutputs returns the text of each file that is about other libraries.
func dialectOutputs(t *facts.Table) (map[string]string, error) {
	dialects, err := t.Dialects()
	if err != nil {
		return nil, err
	}
	all := map[string]string{
		"chalf/inner_gen.h":       innerNames(t),
		"dialects/standard_gen.h": standard(t),
	}
	for _, d := range dialects {
		c := &converter{t: t, d: d}
		dir := "dialects/" + d.Name + "/"
		all[dir+"types_gen.h"] = dialectTypes(t, d)
		all[dir+"convert_gen.h"] = c.header()
		all[dir+"codes_gen.c"] = c.codes()
		all[dir+"entries_gen.c"] = c.entries()
		if d.Objects != nil {
			all[dir+"objects_gen.c"] = c.objectFile()
		}
	}
	return all, nil
}

// innerNames returns the header that gives the functions of the C half other names.
func innerNames(t *facts.Table) string {
	w := &strings.Builder{}
	fmt.Fprintf(w, "/* %s */\n\n/* Names of the C half's functions inside a library with another interface. */\n#define FIT_INNER\n", notice)
	for _, c := range t.Chapters {
		for _, b := range c.Bindings() {
			fmt.Fprintf(w, "#define P%s %s\n", b.CName(), innerName(b))
		}
	}
	return w.String()
}

// innerName is the name of a function of the C half: abi_Send.
func innerName(b facts.Binding) string { return "abi_" + strings.TrimPrefix(b.CName(), "MPI_") }

// standard returns the header with the constants and functions of the standard ABI, by names that
// no other interface has.
func standard(t *facts.Table) string {
	w := &strings.Builder{}
	fmt.Fprintf(w, "/* %s */\n\n/* The standard ABI by other names: handles are numbers. */\n", notice)
	for _, g := range t.Groups {
		title(w, "%s.", capital(g.Title))
		w.WriteString("enum {\n")
		for _, c := range g.Constants {
			fmt.Fprintf(w, "    %s = %d,\n", abiName(c.Name), c.Value)
		}
		w.WriteString("};\n")
	}
	title(w, "A status.")
	w.WriteString("struct fit_status {\n    int source, tag, error;\n    int internal[5];\n};\n")
	for _, c := range t.Chapters {
		title(w, "%s (chapter %d).", c.Title, c.Number)
		for _, b := range c.Bindings() {
			fmt.Fprintf(w, "%s %s(%s);\n", innerResult(b), innerName(b), strings.Join(innerParameters(b), ", "))
		}
	}
	return w.String()
}

// abiName is the name of a constant of the standard ABI: ABI_COMM_WORLD.
func abiName(c string) string { return "ABI_" + strings.TrimPrefix(c, "MPI_") }

func innerResult(b facts.Binding) string {
	if b.Result != nil && b.Result.Class == facts.ClassHandle {
		return "uintptr_t"
	}
	return result(b)
}

// innerParameters are the types of a function's parameters where handles are numbers.
func innerParameters(b facts.Binding) []string {
	var list []string
	for _, a := range b.Parameters() {
		switch isValue := a.Length == "" && a.Direction == facts.In && !a.ByRef; {
		case a.Kind.Class == facts.ClassVarargs:
			list = append(list, "...")
		case a.Kind.Class == facts.ClassHandle && isValue:
			list = append(list, "uintptr_t")
		case a.Kind.Class == facts.ClassHandle:
			list = append(list, "uintptr_t *")
		case a.Kind.Class == facts.ClassStatus:
			list = append(list, "struct fit_status *")
		case a.Kind.Class == facts.ClassInteger && isValue:
			list = append(list, a.Kind.CType(b.Twin))
		case a.Direction == facts.In:
			list = append(list, "const void *")
		default:
			list = append(list, "void *")
		}
	}
	if list == nil {
		return []string{"void"}
	}
	return list
}

// dialectTypes returns the header with the types of a dialect, but for the status.
func dialectTypes(t *facts.Table, d *facts.Dialect) string {
	w := &strings.Builder{}
	fmt.Fprintf(w, "/* %s */\n\n", notice)
	for _, i := range t.Integers {
		fmt.Fprintf(w, "typedef %s %s;\n", i.C, i.Name)
	}
	w.WriteString("typedef int MPI_T_cb_safety;\ntypedef int MPI_T_source_order;\n")
	for _, h := range t.Handles {
		if isAddress(d, h) {
			fmt.Fprintf(w, "typedef struct %s *%s;\n", h.Tag, h.Name)
		} else {
			fmt.Fprintf(w, "typedef int %s;\n", h.Name)
		}
	}
	w.WriteString("\n#include \"status.h\"\n")
	callbacks(w, t)
	return w.String()
}

// isAddress reports whether handles of a type are addresses in a dialect.
func isAddress(d *facts.Dialect, h *facts.Handle) bool {
	return d.Objects != nil || h.First == 0 || slices.Contains(d.Addresses, h.Name)
}
