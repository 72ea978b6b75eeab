//go:build linux

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fitmpi/fitmpi/internal/bench/plot"
)

// publish writes the document and its plots to dir, and the verdicts to stdout.
func publish(rec *record, dir string, stdout io.Writer) error {
	if err := os.MkdirAll(filepath.Join(dir, "bench"), 0o777); err != nil {
		return err
	}
	p := newPage(rec)
	for _, d := range drawings() {
		fig, ok := p.draw(d)
		if !ok {
			continue
		}
		var svg bytes.Buffer
		if err := plot.Draw(&svg, fig); err != nil {
			return fmt.Errorf("plot %s: %w", d.file, err)
		}
		if err := replace(filepath.Join(dir, "bench", d.file), svg.Bytes()); err != nil {
			return err
		}
	}
	file := filepath.Join(dir, "BENCHMARKS.md")
	if err := replace(file, []byte(p.document(rec))); err != nil {
		return err
	}
	_, err := fmt.Fprintf(stdout, "%s\n%s: written\n", p.verdicts(), file)
	return err
}

// document is BENCHMARKS.md.
func (p *page) document(rec *record) string {
	var b strings.Builder
	b.WriteString("<!-- Written by bench/compare. Edit that, not this. -->\n\n# Benchmarks\n\n")
	if rec.Note != "" {
		fmt.Fprintf(&b, "**%s**\n\n", rec.Note)
	}
	if rec.Partial {
		b.WriteString("**These figures are of a part of the experiments, or of too few repetitions: they show that everything runs, no more.**\n\n")
	}
	b.WriteString(introduction)
	writeMachine(&b, rec)
	b.WriteString(method)
	fmt.Fprintf(&b, "\n## Targets\n\nOf the lines below, %s\n", targetsProse+p.verdicts()+".")
	for _, group := range p.groups() {
		p.writeGroup(&b, group)
	}
	b.WriteString("\n## What the papers measured\n")
	for _, s := range sections() {
		p.writeSection(&b, s)
	}
	writeFailures(&b, rec)
	return b.String()
}

const introduction = `FitMPI beside Open MPI and MPICH, as Debian packages them, and beside raw sockets, in one session on one machine.

## How to reproduce

As root on Debian, with Go:

` + "```" + `
go run ./bench/compare
` + "```" + `

It installs the peers, builds, measures for about 45 minutes on two cores, and writes this page, its plots and
[all rows](bench/rows.csv). ` + "`-list`" + ` shows what it does, ` + "`-only`" + ` chooses experiments, and
` + "`-from docs/bench/rows.csv`" + ` writes this page again without measuring.
`

const method = `
## Method

The same steps in Go ([cmd/fitbench](../cmd/fitbench)) and in C ([bench/peers](../bench/peers)), line by line after [bench/METHOD.md](../bench/METHOD.md).
Everything runs interleaved: for each repeat, for each experiment, each contender in turn.
A run's value is the first sextile of its repetitions (for ` + "`Isend` and `Wait`" + ` beside computation, and for overlap, the median), never a mean.
A table shows the median over the repeats and in parentheses their range; bars in plots go from the minimum to the second sextile, of medians from the first sextile.
FitMPI is its default policy, ` + "`assist`" + `, where no other is named: the worker moves messages, and callers that wait help it.
Time to solution is what an iteration takes, all in all, that computes and exchanges: ` + "`" + `Irecv` + "`" + `, ` + "`" + `Isend` + "`" + `, a fixed piece of work, ` + "`" + `WaitAll` + "`" + `, without anything between.
All runs are over TCP where nothing else is said. "shm" means processes of one host that share memory (Open MPI's vader, MPICH as it is by itself), "threads" ranks of one process.
`

const targetsProse = "with a target each (the ratio is ours to the best of the peers that count for the line), "

func writeMachine(b *strings.Builder, rec *record) {
	m := rec.Machine
	b.WriteString("\n## Machine\n\n")
	writeHead(b, "what", "value")
	for _, line := range [][2]string{
		{"cores", fmt.Sprint(m.Cores)}, {"processor", m.CPU}, {"kernel", "Linux " + m.Kernel}, {"Go", m.Go},
		{"TCP congestion control of the system, under which Open MPI, MPICH, NetPIPE and raw sockets run, unless named", m.Congestion},
		{"TCP congestion control that FitMPI asks for", m.FitCongestion}, {"Open MPI", m.OpenMPI}, {"MPICH", m.MPICH}, {"NetPIPE", m.NetPIPE},
		{"date", rec.Date}, {"repeats, at most", fmt.Sprint(rec.Repeats)}, {"binding of ranks", rec.Bind},
		{"duration", fmt.Sprintf("%.0f minutes", rec.Minutes)},
	} {
		writeRow(b, line[0], cmp.Or(line[1], "unknown"))
	}
}

// groups are the headings of criteria, in their order.
func (p *page) groups() []string {
	var names []string
	for _, c := range criteria() {
		if !slices.Contains(names, c.group) {
			names = append(names, c.group)
		}
	}
	return names
}

// writeGroup writes the table of one group of criteria.
func (p *page) writeGroup(b *strings.Builder, group string) {
	var mine []criterion
	for _, c := range criteria() {
		if c.group == group {
			mine = append(mine, c)
		}
	}
	columns := columnsOf(mine, shownBeside[group])
	head := []string{"measure", "size", "unit"}
	for _, c := range columns {
		head = append(head, c.title)
	}
	fmt.Fprintf(b, "\n### %s\n\n", group)
	writeHead(b, append(head, "ratio", "reach", "")...)
	for _, c := range mine {
		for _, j := range p.figures.judge(c) {
			p.writeJudged(b, j, columns)
		}
	}
	p.footnotes(b)
}

// columnsOf are the contenders of criteria, and some more, in their usual order.
func columnsOf(list []criterion, more []string) []*contender {
	var columns []*contender
	for _, c := range contenders() {
		isCompared := func(k criterion) bool { return k.ours == c.name || slices.Contains(k.peers, c.name) }
		if slices.ContainsFunc(list, isCompared) || slices.Contains(more, c.name) {
			columns = append(columns, c)
		}
	}
	return columns
}

func (p *page) writeJudged(b *strings.Builder, j judged, columns []*contender) {
	unit := ""
	var texts []string
	for _, c := range columns {
		cell := cell{c.name, j.fig}
		unit = cmp.Or(unit, p.get(cell).unit)
		texts = append(texts, p.text(cell))
	}
	size := choose(j.fig.size == 0, "", sizeName(j.fig.size))
	if j.fig.test == "match" {
		size = ""
	}
	ratio := ""
	if j.ratio != 0 {
		ratio = number(j.ratio)
	}
	row := append([]string{j.criterion.measure, size, unit}, texts...)
	writeRow(b, append(row, ratio, j.criterion.reach, choose(j.verdict == missed, "**missed**", j.verdict.String()))...)
}

// verdicts counts the lines of all criteria by verdict.
func (p *page) verdicts() string {
	var n [reached + 1]int
	for _, c := range criteria() {
		for _, j := range p.figures.judge(c) {
			n[j.verdict]++
		}
	}
	return fmt.Sprintf("%d are reached, %d missed, %d not measured", n[reached], n[missed], n[unknown])
}

func writeFailures(b *strings.Builder, rec *record) {
	if len(rec.Failures) == 0 {
		return
	}
	b.WriteString("\n## Runs that failed\n\n")
	writeHead(b, "experiment", "contender", "repeat", "last words")
	for _, f := range rec.Failures {
		writeRow(b, f.Experiment, f.Contender, fmt.Sprint(f.Repeat), strings.ReplaceAll(f.Reason, "|", "\\|"))
	}
}
