//go:build linux

package main

import (
	"fmt"
	"strings"

	"github.com/fitmpi/fitmpi/internal/bench/plot"
)

// writeSection writes what there is of a section.
func (p *page) writeSection(b *strings.Builder, s section) {
	fmt.Fprintf(b, "\n### %s\n\n%s\n", s.title, s.prose)
	isEmpty := true
	for _, t := range s.tables {
		isEmpty = !p.writeTable(b, t) && isEmpty
	}
	for _, d := range s.plots {
		if _, ok := p.draw(d); ok {
			fmt.Fprintf(b, "\n![%s](bench/%s)\n", d.title, d.file)
			isEmpty = false
		}
	}
	if isEmpty {
		b.WriteString("\nNot measured.\n")
	}
}

// writeTable writes the rows of t that have a figure, and reports whether there is one.
func (p *page) writeTable(b *strings.Builder, t table) bool {
	columns := p.measured(t)
	if len(columns) == 0 {
		return false
	}
	if t.caption != "" {
		fmt.Fprintf(b, "\n%s\n", t.caption)
	}
	b.WriteByte('\n')
	head := []string{t.head}
	for _, c := range columns {
		head = append(head, c.title)
	}
	writeHead(b, head...)
	for _, size := range t.sizes {
		row, isMeasured := []string{sizeName(size)}, false
		switch t.head {
		case "":
			row[0] = ""
		case "bytes":
		default:
			row[0] = fmt.Sprint(size)
		}
		for _, c := range columns {
			cell := cell{c.contender, c.fig.at(size)}
			isMeasured = isMeasured || p.get(cell).isKnown()
			row = append(row, p.text(cell))
		}
		if isMeasured {
			writeRow(b, row...)
		}
	}
	p.footnotes(b)
	return true
}

// measured are the columns of t, unless none has a figure at any of its sizes.
func (p *page) measured(t table) []column {
	for _, c := range t.columns {
		for _, size := range t.sizes {
			if p.get(cell{c.contender, c.fig.at(size)}).isKnown() {
				return t.columns
			}
		}
	}
	return nil
}

// draw makes the figure of d, and reports whether it has a curve.
func (p *page) draw(d drawing) (plot.Figure, bool) {
	fig := plot.Figure{Title: d.title, XLabel: d.xlabel, YLabel: d.ylabel, LogX: true, LogY: !d.linearY}
	for _, c := range d.columns {
		curve := plot.Curve{Name: c.title}
		low, high := best, sextile2
		if c.fig.stat == median { // beyond the second sextile
			low, high = value, median
		}
		for _, size := range p.figures.sizes(c.contender, c.fig) {
			f := c.fig.at(size)
			curve.Points = append(curve.Points, plot.Point{
				X: float64(size), Y: p.figures.of(c.contender, f).median,
				Low: p.figures.of(c.contender, f.take(low)).median, High: p.figures.of(c.contender, f.take(high)).median,
			})
		}
		if len(curve.Points) > 0 {
			fig.Curves = append(fig.Curves, curve)
		}
	}
	return fig, len(fig.Curves) > 0
}
