//go:build linux

package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/fitmpi/fitmpi/internal/bench/plot"
)

// Pictures of the first page.
const (
	solvePicture = "solve.svg"
	linesPicture = "gains.svg"
	solveCaption = "Time to solution beside the best peer"
)

// front is BENCHMARKS.md: how FitMPI compares, on one screen.
func (p *page) front() string {
	var b strings.Builder
	p.writeTop(&b, "Benchmarks")
	b.WriteString("FitMPI beside Open MPI and MPICH, as Debian packages them. " + p.measuredOn() + "\n")
	lines := p.lines()
	if len(lines) > 0 {
		b.WriteString("\n## In one screen\n\n" + tally(lines) + "\n")
	}
	if len(p.heatMaps()) > 0 {
		b.WriteString("\n" + solveProse + "\n\n![" + solveCaption + "](bench/" + solvePicture + ")\n")
	}
	if len(lines) > 0 {
		p.writeLines(&b, lines)
		fmt.Fprintf(&b, "\n%s\n\n![Gains over the best peer](bench/%s)\n", frontLegend, linesPicture)
	}
	if len(p.machines) > 1 {
		p.writeAgreement(&b, lines)
	}
	b.WriteString("\n## All tables\n\n")
	for _, t := range topics() {
		fmt.Fprintf(&b, "- [%s](benchmarks/%s.md): %s\n", t.title, t.name, t.short)
	}
	b.WriteString(reproduction)
	return b.String()
}

const frontLegend = "A gain is how many times better FitMPI is than the best peer: 2 is half the time, or twice the rate; a mean is the geometric one. " +
	"In parentheses is its range over the repeats. 🟢 faster and 🔴 slower in all repeats and by 5 % at least; ⚪ no difference that they can tell. " +
	"`≈` marks figures whose repeats differ by more than 20 %. FitMPI is its default policy, and the best peer is the best of Open MPI, " +
	"Open MPI with its progress thread, and MPICH, in each figure anew."

const solveProse = "**Time to solution**: what an iteration takes that computes and exchanges messages, beside the best peer: by bytes of a message, and by how long the work takes beside moving it. " +
	"Green and above 1 FitMPI is faster, orange and below 1 it is slower; pale is no difference that the repeats can tell."

const reproduction = `
## How to reproduce

As root on Debian, with Go:

` + "```" + `
go run ./bench/compare
` + "```" + `

It installs the peers, builds, measures for at most 40 minutes on two cores, and writes these pages, their plots and
[all rows](bench/rows.csv). ` + "`-list`" + ` shows what it does, ` + "`-only`" + ` chooses experiments,
` + "`-from docs/bench/rows.csv`" + ` writes the pages again without measuring, and ` + "`-add NAME`" + ` measures a further
machine and shows it beside the others. [bench/METHOD.md](../bench/METHOD.md) says what each test does.
`

// measuredOn says where and when.
func (p *page) measuredOn() string {
	m := p.machines[0].record
	s := fmt.Sprintf("Measured on %s on %s, Linux %s ([more](benchmarks/%s.md)).", m.Date, m.title(), m.Machine.Kernel, machinesPage)
	if more := len(p.machines) - 1; more > 0 {
		s += fmt.Sprintf(" Gains of %d further %s stand beside.", more, choose(more == 1, "machine", "machines"))
	}
	return s
}

// tally counts lines by their side.
func tally(lines []line) string {
	var n [faster + 1]int
	for _, l := range lines {
		n[l.gains[0].side()]++
	}
	return fmt.Sprintf("FitMPI is slower than the best peer in %d of these lines, which stand first, and faster in %d; in %d there is no difference that the repeats can tell.",
		n[slower], n[faster], n[even])
}

// writeLines writes the table of the first page.
func (p *page) writeLines(b *strings.Builder, lines []line) {
	b.WriteByte('\n')
	head := append([]string{"what"}, p.gainTitles()...)
	if len(p.machines) > 1 {
		head = append(head, "machines")
	}
	writeHead(b, append(head, "FitMPI, best peer")...)
	for _, l := range lines {
		row := []string{fmt.Sprintf("[%s](benchmarks/%s.md)", l.headline.title, l.headline.page)}
		for _, g := range l.gains {
			row = append(row, g.String())
		}
		if len(p.machines) > 1 {
			row = append(row, agreement(l.gains))
		}
		writeRow(b, append(row, l.beside)...)
	}
}

// agreement says what a gain is over machines: on the same side on all where it was measured, or
// not; and how many times the largest is the smallest.
func agreement(gains []gain) string {
	known := slices.DeleteFunc(slices.Clone(gains), func(g gain) bool { return !g.isKnown() })
	if len(known) < 2 {
		return ""
	}
	low, high := math.Inf(1), 0.0
	for _, g := range known {
		low, high = min(low, g.value), max(high, g.value)
	}
	return fmt.Sprintf("%s, %s x apart", choose(isStable(known), known[0].side().String()+" on all", "differ"), number(high/low))
}

// isStable reports whether gains are on the same side on all machines.
func isStable(gains []gain) bool {
	return !slices.ContainsFunc(gains, func(g gain) bool { return g.side() != gains[0].side() })
}

// writeAgreement says what is stable over machines.
func (p *page) writeAgreement(b *strings.Builder, lines []line) {
	var stable, other []string
	for _, l := range lines {
		known := slices.DeleteFunc(slices.Clone(l.gains), func(g gain) bool { return !g.isKnown() })
		switch {
		case len(known) < 2:
		case isStable(known):
			stable = append(stable, l.headline.title+" ("+known[0].side().String()+")")
		default:
			other = append(other, l.headline.title)
		}
	}
	fmt.Fprintf(b, "\n## What is stable over machines\n\nOn the same side on all machines: %s.\n\nNot: %s. What these lines say is of one machine only: measure yours.\n",
		listed(stable), listed(other))
}

func listed(items []string) string {
	if len(items) == 0 {
		return "none"
	}
	return strings.Join(items, "; ")
}

// heatMaps are the gains in time to solution, a map for each setting that was measured.
func (p *page) heatMaps() []plot.Grid {
	var grids []plot.Grid
	for _, s := range solveSettings() {
		g := plot.Grid{Title: s.title}
		var sizes []int64 // that were measured
		for _, size := range s.sizes {
			if slices.ContainsFunc(works, func(w [2]string) bool { return p.solveGain(s, w[0], size).isKnown() }) {
				sizes = append(sizes, size)
				g.Columns = append(g.Columns, sizeName(size))
			}
		}
		if len(sizes) == 0 {
			continue
		}
		for _, w := range works {
			r := plot.GridRow{Name: "work " + w[1]}
			for _, size := range sizes {
				r.Cells = append(r.Cells, heat(p.solveGain(s, w[0], size)))
			}
			g.Rows = append(g.Rows, r)
		}
		grids = append(grids, g)
	}
	return grids
}

func (p *page) solveGain(s solveSetting, kase string, size int64) gain {
	return p.figures.gain(s.ours, peersOf(s.ours), s.fig.with(kase).at(size))
}

// heat is the cell of a gain: at 1.5 and beyond its colour is full. Where the repeats tell no
// difference it is pale.
func heat(g gain) plot.Cell {
	switch g.side() {
	case unknownSide:
		return plot.Cell{}
	case even:
		return plot.Cell{Text: number2(g.value)}
	}
	return plot.Cell{Text: number2(g.value), Good: math.Log(g.value) / math.Log(1.5)}
}

// number2 writes a gain with two digits behind the point, or fewer if it is large.
func number2(x float64) string {
	if x < 10 {
		return fmt.Sprintf("%.2f", x)
	}
	return number(x)
}

// gainsPicture draws the gains of the first page.
func (p *page) gainsPicture(lines []line) plot.Ranges {
	r := plot.Ranges{Title: "Gains over the best peer", Worse: "FitMPI slower", Better: "FitMPI faster"}
	for _, m := range p.machines {
		r.Series = append(r.Series, m.record.title())
	}
	for _, l := range lines {
		row := plot.RangeRow{Name: strings.ReplaceAll(l.headline.title, "`", "")}
		for _, g := range l.gains {
			row.Points = append(row.Points, plot.Point{X: g.value, Low: g.low, High: g.high})
		}
		r.Rows = append(r.Rows, row)
	}
	return r
}
