package main

import (
	"fmt"
	"go/format"
	"slices"
	"strings"

	"github.com/fitmpi/fitmpi/cabi/facts"
)

// procedureList returns the constants and names of package procedure.
func procedureList(t *facts.Table) (string, error) {
	w := &strings.Builder{}
	fmt.Fprintf(w, "// %s\n\npackage procedure\n\n// The procedures, by chapter of MPI 5.0.\nconst (\n", notice)
	n := 0
	for _, c := range t.Chapters {
		fmt.Fprintf(w, "\n// Chapter %d: %s.\n\n", c.Number, lower(c.Title))
		for _, b := range c.Bindings() {
			fmt.Fprintf(w, "%s", goName(b.CName()))
			if n == 0 {
				w.WriteString(" ID = iota")
			}
			fmt.Fprintf(w, " // %s\n", b.CName())
			n++
		}
	}
	fmt.Fprintf(w, ")\n\n// Count is how many there are.\nconst Count = %d\n", n)
	nameList(w, t)
	makesList(w, t)
	out, err := format.Source([]byte(w.String()))
	return string(out), err
}

// nameList writes the names in C, by number.
func nameList(w *strings.Builder, t *facts.Table) {
	w.WriteString("\n// names are the names in C.\nvar names = [Count]string{\n")
	for _, c := range t.Chapters {
		for _, b := range c.Bindings() {
			fmt.Fprintf(w, "%s: %q,\n", goName(b.CName()), b.CName())
		}
	}
	w.WriteString("}\n")
}

// owners are the kinds of arguments whose objects have error handlers.
var owners = map[string]string{"comm": "OnComm", "win": "OnWin", "file": "OnFile", "session": "OnSession"}

// makesList writes which functions make handles, but those of tools.
func makesList(w *strings.Builder, t *facts.Table) {
	w.WriteString("\n// Made are the handles that each procedure makes.\nvar Made = [Count]Makes{\n")
	for _, c := range t.Chapters {
		for _, b := range c.Bindings() {
			out, on, by := 0, 0, ""
			for i, a := range b.Parameters() {
				switch {
				case a.Kind.Class != facts.ClassHandle || a.Length != "" || strings.HasPrefix(a.Kind.Name, "t-"):
				case a.Direction == facts.Out && !slices.Contains(a.Sentinels, "NULL"):
					out |= 1 << i
				case a.Direction == facts.In && by == "":
					on, by = i, owners[a.Kind.Name]
				}
			}
			if out == 0 || strings.HasPrefix(b.CName(), "MPI_T_") {
				continue
			}
			fmt.Fprintf(w, "%s: {Out: %#x", goName(b.CName()), out)
			if by != "" {
				fmt.Fprintf(w, ", By: %s, On: %d", by, on)
			}
			w.WriteString("},\n")
		}
	}
	w.WriteString("}\n")
}

// goName returns the name in Go of a procedure: MPI_File_read_at_c is FileReadAtC.
func goName(c string) string {
	var s strings.Builder
	for part := range strings.SplitSeq(strings.TrimPrefix(c, "MPI_"), "_") {
		s.WriteString(capital(part))
	}
	return s.String()
}

// lower returns s with a small letter at the start.
func lower(s string) string { return strings.ToLower(s[:1]) + s[1:] }
