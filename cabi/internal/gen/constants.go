package main

import (
	"fmt"
	"go/format"
	"strings"

	"github.com/fitmpi/fitmpi/cabi/facts"
)

// constantList returns package abi: the constants of the binary interface in Go.
func constantList(t *facts.Table) (string, error) {
	w := &strings.Builder{}
	fmt.Fprintf(w, "// %s\n\npackage abi\n", notice)
	for _, g := range t.Groups {
		var lines []string
		for _, c := range g.Constants {
			lines = append(lines, fmt.Sprintf("%s = %d // %s\n", constantName(c.Name), c.Value, c.Name))
		}
		if lines != nil {
			fmt.Fprintf(w, "\n// %s.\nconst (\n%s)\n", capital(g.Title), strings.Join(lines, ""))
		}
	}
	out, err := format.Source([]byte(w.String()))
	return string(out), err
}

// constantName returns the name in Go of a constant: MPI_ERR_IN_STATUS is ErrInStatus, and MPI_2INT
// is Two2Int, as no name begins with a digit.
func constantName(c string) string {
	var s strings.Builder
	for part := range strings.SplitSeq(strings.TrimPrefix(c, "MPI_"), "_") {
		s.WriteString(part[:1] + strings.ToLower(part[1:]))
	}
	if n := s.String(); n[0] == '2' {
		return "Pair" + capital(strings.ToLower(n[1:]))
	}
	return s.String()
}
