package main

import (
	"fmt"
	"strings"

	"github.com/fitmpi/fitmpi/cabi/facts"
)

// columns is the width of the header's lines, where that can be kept.
const columns = 100

// header returns mpi.h. Types come before the constants and functions of those types.
func header(t *facts.Table) string {
	w := &strings.Builder{}
	fmt.Fprintf(w, "/* %s */\n", notice)
	w.WriteString("/* FitMPI: the C interface of MPI 5.0 with the standard ABI (section 20.3). */\n")
	w.WriteString("#ifndef FITMPI_MPI_H\n#define FITMPI_MPI_H\n\n#include <stdint.h>\n\n")
	w.WriteString("#ifdef __cplusplus\nextern \"C\" {\n#endif\n")
	types(w, t)
	for _, g := range t.Groups {
		if isEnumeration(g) {
			constants(w, g)
		}
	}
	callbacks(w, t)
	for _, g := range t.Groups {
		if !isEnumeration(g) {
			constants(w, g)
		}
	}
	for _, prefix := range []string{"", "P"} {
		for _, c := range t.Chapters {
			chapter(w, c, prefix)
		}
	}
	w.WriteString("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n")
	return w.String()
}

// title writes the comment above a part.
func title(w *strings.Builder, format string, args ...any) {
	fmt.Fprintf(w, "\n/* %s */\n", fmt.Sprintf(format, args...))
}

// capital returns s with a capital at the start.
func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// types writes integers, structs and handles.
func types(w *strings.Builder, t *facts.Table) {
	title(w, "Integers.")
	for _, i := range t.Integers {
		fmt.Fprintf(w, "typedef %s %s;\n", i.C, i.Name)
	}
	for _, s := range t.Structs {
		title(w, "%s. Fields named internal belong to the library.", s.Name)
		fmt.Fprintf(w, "typedef struct %s {\n", s.Name)
		for _, f := range s.Fields {
			fmt.Fprintf(w, "    %s %s", f.C, f.Name)
			if f.Length > 0 {
				fmt.Fprintf(w, "[%d]", f.Length)
			}
			w.WriteString(";\n")
		}
		fmt.Fprintf(w, "} %s;\n", s.Name)
	}
	title(w, "Handles.")
	for _, h := range t.Handles {
		fmt.Fprintf(w, "typedef struct %s *%s;\n", h.Tag, h.Name)
	}
}

// isEnumeration reports whether a group defines a type, which callbacks may have.
func isEnumeration(g *facts.Group) bool { return g.Form == facts.FormEnum && g.C != "int" }

// callbacks writes the types of functions.
func callbacks(w *strings.Builder, t *facts.Table) {
	title(w, "Functions of the program that the library calls.")
	for _, f := range t.Callbacks {
		for _, b := range f.Bindings() {
			declaration(w, "typedef "+result(b)+" ("+b.CName()+")", b)
		}
	}
	for _, a := range t.Aliases {
		fmt.Fprintf(w, "typedef %s %s;\n", a.Of, a.Name)
	}
}

// constants writes a group of constants.
func constants(w *strings.Builder, g *facts.Group) {
	title(w, "%s.", capital(g.Title))
	width := 0
	for _, c := range g.Constants {
		width = max(width, len(c.Name))
	}
	if g.Form == facts.FormEnum {
		enumeration(w, g, width)
		return
	}
	for _, c := range g.Constants {
		fmt.Fprintf(w, "#define %-*s %s\n", width, c.Name, macro(g, c))
	}
}

// enumeration writes a group of enumerators.
func enumeration(w *strings.Builder, g *facts.Group, width int) {
	if isEnumeration(g) {
		fmt.Fprintf(w, "typedef enum %s {\n", g.C)
	} else {
		w.WriteString("enum {\n")
	}
	for i, c := range g.Constants {
		comma := ","
		if i == len(g.Constants)-1 {
			comma = ""
		}
		fmt.Fprintf(w, "    %-*s = %s%s\n", width, c.Name, c.Text, comma)
	}
	if isEnumeration(g) {
		fmt.Fprintf(w, "} %s;\n", g.C)
	} else {
		w.WriteString("};\n")
	}
}

// macro returns what a constant stands for.
func macro(g *facts.Group, c *facts.Constant) string {
	switch {
	case c.Same != "":
		return c.Same
	case g.Form == facts.FormMacro:
		return c.Text
	}
	return fmt.Sprintf("((%s)%s)", strings.TrimSpace(spaced(g.C)), c.Text)
}

// chapter writes the functions of a chapter, under their own names or those with a P before them.
func chapter(w *strings.Builder, c *facts.Chapter, prefix string) {
	twins := ""
	if prefix != "" {
		twins = ", for profiling"
	}
	title(w, "%s%s (chapter %d).", c.Title, twins, c.Number)
	for _, b := range c.Bindings() {
		declaration(w, result(b)+" "+prefix+b.CName(), b)
	}
}

// declaration writes a declaration of a function, in as many lines as it needs.
func declaration(w *strings.Builder, start string, b facts.Binding) {
	line := start + "("
	for i, p := range parameters(b) {
		if i > 0 {
			line += ","
			if len(line)+len(p)+3 > columns {
				w.WriteString(line + "\n")
				line = "       "
			}
			line += " "
		}
		line += p
	}
	w.WriteString(line + ");\n")
}
