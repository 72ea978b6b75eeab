package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// cells are those of a row of a table, without blanks.
func cells(line string) []string {
	row := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
	for i := range row {
		row[i] = strings.TrimSpace(row[i])
	}
	return row
}

// tableAfter is the first table behind a line of a document.
func tableAfter(doc, line string) (rows [][]string) {
	_, rest, _ := strings.Cut(doc, "\n"+line)
	for l := range strings.Lines(rest) {
		switch isRow := strings.HasPrefix(l, "|"); {
		case isRow:
			rows = append(rows, cells(l))
		case len(rows) > 0:
			return rows
		}
	}
	return rows
}

// The README's figures are those of the page of benchmarks, which a new measurement changes.
func TestFiguresOfReadme(t *testing.T) {
	read := func(path string) string {
		b, err := os.ReadFile(filepath.Join("..", "..", "..", path))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	page := read("docs/BENCHMARKS.md")
	table := tableAfter(read("README.md"), "## How fast\n")
	if len(table) < 10 {
		t.Fatalf("the README's table of figures has %d lines", len(table))
	}
	const first = 4 // column with a figure, behind section, measure, size and unit
	head := table[0]
	for _, row := range table[2:] {
		there := tableAfter(page, "### "+row[0]+"\n")
		at := slices.IndexFunc(there, func(r []string) bool { return slices.Equal(r[:3], row[1:first]) })
		if at < 0 {
			t.Errorf("the page does not have %q", row[:first])
			continue
		}
		for i, contender := range head[first:] {
			column := slices.IndexFunc(there[0], func(h string) bool { return strings.TrimSuffix(h, " (shm)") == contender })
			want := ""
			if column >= 0 {
				want, _, _ = strings.Cut(there[at][column], " (")
			}
			if got := row[first+i]; got != want {
				t.Errorf("%q of %s is %q, the page says %q", row[:first], contender, got, want)
			}
		}
	}
}
