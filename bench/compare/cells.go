//go:build linux

package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// cell is one entry of a table: a figure of a contender.
type cell struct {
	contender string
	fig       figure
}

// page renders what was measured on one machine, and how other machines compare. It collects the
// reasons of failures for footnotes.
type page struct {
	machines []measuredMachine // the page's own first
	figures  *figures          // of the page's own machine
	failures []failure
	notes    []string // reasons under the table that is being written
}

// measuredMachine is a machine and what was measured on it.
type measuredMachine struct {
	record  *record
	figures *figures
}

// newPage is a page of the first record, with the gains of the others.
func newPage(records ...*record) *page {
	p := &page{failures: records[0].Failures}
	for _, r := range records {
		p.machines = append(p.machines, measuredMachine{r, newFigures(r.Rows)})
	}
	p.figures = p.machines[0].figures
	return p
}

// get is the figure of a cell.
func (p *page) get(c cell) spread { return p.figures.of(c.contender, c.fig) }

// text is what a table shows for c: the median over repeats with their range, that the
// contender failed, a dash if it was not measured, nothing if it was not asked.
func (p *page) text(c cell) string {
	s := p.get(c)
	if s.isKnown() {
		return s.String()
	}
	asked := false
	for _, e := range experiments() {
		if !e.gives(c.fig) || !slices.Contains(e.contenders, c.contender) {
			continue
		}
		asked = true
		if i := slices.IndexFunc(p.failures, func(f failure) bool {
			return f.Experiment == e.name && f.Contender == c.contender
		}); i >= 0 {
			return "failed (" + strconv.Itoa(p.note(p.failures[i].Reason)) + ")"
		}
	}
	return choose(asked, "–", "")
}

// note is the number of the footnote with this reason.
func (p *page) note(reason string) int {
	if i := slices.Index(p.notes, reason); i >= 0 {
		return i + 1
	}
	p.notes = append(p.notes, reason)
	return len(p.notes)
}

// footnotes are the reasons of failures in the table above.
func (p *page) footnotes(b *strings.Builder) {
	for i, reason := range p.notes {
		fmt.Fprintf(b, "\n(%d) %s\n", i+1, "`"+strings.ReplaceAll(reason, "`", "'")+"`")
	}
	p.notes = nil
}

// String is the median, with the range of the repeats if there were several, and a mark if that is
// wide.
func (s spread) String() string {
	if s.n < 2 {
		return number(s.median)
	}
	dash := choose(s.low < 0, " to ", "–") // beside a minus sign no other line
	return choose(s.isWide(), "≈", "") + number(s.median) + " (" + number(s.low) + dash + number(s.high) + ")"
}

// number writes three significant digits, or all of a whole number below a million.
func number(x float64) string {
	size := math.Abs(x)
	switch {
	case size >= 1e6:
		return strconv.FormatFloat(x/1e6, 'f', choose(size >= 1e7, 1, 2), 64) + " M"
	case size >= 100 || x == 0:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case size >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	case size >= 1:
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
	return strconv.FormatFloat(x, 'f', 3, 64)
}

// sizeName writes bytes as people do: 64K, 1M.
func sizeName(n int64) string {
	switch {
	case n >= mb && n%mb == 0:
		return strconv.FormatInt(n/mb, 10) + "M"
	case n >= kb && n%kb == 0:
		return strconv.FormatInt(n/kb, 10) + "K"
	}
	return strconv.FormatInt(n, 10)
}

// writeRow writes a row of a table; writeHead the first, and the line under it.
func writeRow(b *strings.Builder, cells ...string) {
	fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
}

func writeHead(b *strings.Builder, cells ...string) {
	writeRow(b, cells...)
	writeRow(b, slices.Repeat([]string{"---"}, len(cells))...)
}
