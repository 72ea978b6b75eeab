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

// plain is a cell without its link.
func plain(cell string) string {
	text, _, isLink := strings.Cut(strings.TrimPrefix(cell, "["), "](")
	if !isLink {
		return cell
	}
	return text
}

// The README's figures are those of the first page of benchmarks, which a new measurement changes:
// all of its lines, those where we are slower too.
func TestFiguresOfReadme(t *testing.T) {
	read := func(path string) string {
		b, err := os.ReadFile(filepath.Join("..", "..", "..", path))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	table, there := tableAfter(read("README.md"), "## How fast\n"), tableAfter(read("docs/BENCHMARKS.md"), "## In one screen\n")
	if len(table) < 10 || len(there) != len(table) {
		t.Fatalf("the README's table of figures has %d lines, that of the page %d", len(table), len(there))
	}
	for i, head := range table[0] {
		column := slices.IndexFunc(there[0], func(h string) bool { return h == head || strings.HasPrefix(h, head+",") }) // "gain, a machine"
		if column < 0 {
			t.Errorf("the page has no column %q", head)
			continue
		}
		for j := 2; j < len(table); j++ {
			if want := plain(there[j][column]); table[j][i] != want {
				t.Errorf("line %d, %s: %q, the page says %q", j-1, head, table[j][i], want)
			}
		}
	}
}
