//go:build linux

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fitmpi/fitmpi/internal/bench/plot"
)

// writeSection writes what there is of a section.
func (p *page) writeSection(b *strings.Builder, s section) {
	fmt.Fprintf(b, "\n## %s\n", s.title)
	if s.prose != "" {
		fmt.Fprintf(b, "\n%s\n", s.prose)
	}
	isEmpty := true
	for _, t := range s.tables {
		isEmpty = !p.writeTable(b, t) && isEmpty
	}
	for _, d := range s.plots {
		if _, ok := p.draw(d); ok {
			fmt.Fprintf(b, "\n![%s](../bench/%s)\n", d.title, d.file)
			isEmpty = false
		}
	}
	if isEmpty {
		b.WriteString("\nNot measured.\n")
	}
}

// writeTable writes the rows of t that have a figure, and reports whether there is one.
func (p *page) writeTable(b *strings.Builder, t table) bool {
	rows := p.measured(t)
	if len(rows) == 0 {
		return false
	}
	if t.caption != "" {
		fmt.Fprintf(b, "\n%s\n", t.caption)
	}
	b.WriteByte('\n')
	head := []string{t.head}
	for _, c := range t.columns {
		head = append(head, c.title)
	}
	gains := p.gains(t, rows)
	if gains != nil {
		head = append(head, p.gainTitles()...)
	}
	writeHead(b, head...)
	for i, r := range rows {
		line := []string{r.label}
		for _, c := range t.columns {
			line = append(line, p.columnText(c, r))
		}
		if gains != nil {
			line = append(line, gains[i]...)
		}
		writeRow(b, line...)
	}
	p.footnotes(b)
	return true
}

// columnText is what a table shows for a column in a row.
func (p *page) columnText(c column, r row) string {
	at := cell{c.contender, r.at(c.fig)}
	if c.per == nil {
		return p.text(at)
	}
	x := p.get(at)
	other, ok := p.figures.best(c.per, at.fig)
	if !ok || other == 0 || !x.isKnown() {
		return ""
	}
	return number2(x.median / other)
}

// lines are the rows of t: its own, or one for each size.
func (t table) lines() []row {
	if t.rows != nil {
		return t.rows
	}
	var rows []row
	for _, size := range t.sizes {
		label := fmt.Sprint(size)
		switch t.head {
		case "":
			label = ""
		case "bytes":
			label = sizeName(size)
		}
		rows = append(rows, row{label, func(f figure) figure { return f.at(size) }})
	}
	return rows
}

// measured are the rows of t in which a column has a figure.
func (p *page) measured(t table) []row {
	return slices.DeleteFunc(slices.Clone(t.lines()), func(r row) bool {
		return !slices.ContainsFunc(t.columns, func(c column) bool { return p.get(cell{c.contender, r.at(c.fig)}).isKnown() })
	})
}

// compared is the column of t that its gains are of, and the peers that have the same figure.
func (t table) compared() (ours column, peers []string) {
	i := slices.IndexFunc(t.columns, func(c column) bool { return c.contender == t.ours })
	if t.ours == "" || i < 0 {
		return column{}, nil
	}
	ours = t.columns[i]
	all := byName(contenders())
	for _, c := range t.columns {
		if c.fig == ours.fig && all[c.contender].isPeer() {
			peers = append(peers, c.contender)
		}
	}
	return ours, peers
}

// gains are the texts of the gains of t in rows, by machine; nil if there is none at all.
func (p *page) gains(t table, rows []row) [][]string {
	ours, peers := t.compared()
	if len(peers) == 0 {
		return nil
	}
	isKnown := false
	texts := make([][]string, len(rows))
	for i, r := range rows {
		for _, m := range p.machines {
			g := m.figures.gain(ours.contender, peers, r.at(ours.fig))
			isKnown = isKnown || g.isKnown()
			texts[i] = append(texts[i], g.String())
		}
	}
	if !isKnown {
		return nil
	}
	return texts
}

// gainTitles are the heads of columns of gains: of one machine, or of each.
func (p *page) gainTitles() []string {
	if len(p.machines) == 1 {
		return []string{"gain"}
	}
	var titles []string
	for _, m := range p.machines {
		titles = append(titles, "gain, "+m.record.title())
	}
	return titles
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
		for _, s := range p.spots(d, c) {
			of := func(f figure) float64 { return p.figures.of(s.contender, f).median }
			curve.Points = append(curve.Points, plot.Point{X: s.x, Y: of(s.fig), Low: of(s.fig.take(low)), High: of(s.fig.take(high))})
		}
		if len(curve.Points) > 0 {
			fig.Curves = append(fig.Curves, curve)
		}
	}
	return fig, len(fig.Curves) > 0
}

// spot is where a point of a curve stands, and what is drawn there.
type spot struct {
	x float64
	cell
}

// spots are those of column c of d that were measured. Where one rank is alone it does not matter
// what is between ranks.
func (p *page) spots(d drawing, c column) []spot {
	var list []spot
	if d.ranks == nil {
		for _, size := range p.figures.sizes(c.contender, c.fig) {
			list = append(list, spot{float64(size), cell{c.contender, c.fig.at(size)}})
		}
		return list
	}
	for _, n := range d.ranks {
		at := cell{choose(n == 1, strings.TrimSuffix(c.contender, "-shm"), c.contender), c.fig.among(n)}
		if p.get(at).isKnown() {
			list = append(list, spot{float64(n - d.idle), at})
		}
	}
	return list
}
