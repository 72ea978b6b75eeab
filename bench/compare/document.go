//go:build linux

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/fitmpi/fitmpi/internal/bench/plot"
)

// publish writes the pages and their plots to dir: of the first record all figures, of the others
// the gains beside them.
func publish(records []*record, dir string, stdout io.Writer) error {
	if err := checkPages(); err != nil {
		return err
	}
	for _, sub := range []string{"bench", "benchmarks"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o777); err != nil {
			return err
		}
	}
	p := newPage(records...)
	if err := p.drawAll(filepath.Join(dir, "bench")); err != nil {
		return err
	}
	for _, t := range topics() {
		if err := replace(filepath.Join(dir, "benchmarks", t.name+".md"), []byte(p.document(t))); err != nil {
			return err
		}
	}
	file := filepath.Join(dir, "BENCHMARKS.md")
	if err := replace(file, []byte(p.front())); err != nil {
		return err
	}
	_, err := fmt.Fprintf(stdout, "%s: written, and the pages in %s\n", file, filepath.Join(dir, "benchmarks"))
	return err
}

// drawAll writes the plots that have something to show.
func (p *page) drawAll(dir string) error {
	for _, d := range drawings() {
		if fig, ok := p.draw(d); ok {
			if err := picture(dir, d.file, func(w io.Writer) error { return plot.Draw(w, fig) }); err != nil {
				return err
			}
		}
	}
	if maps := p.heatMaps(); len(maps) > 0 {
		if err := picture(dir, solvePicture, func(w io.Writer) error { return plot.DrawGrids(w, maps) }); err != nil {
			return err
		}
	}
	if lines := p.lines(); len(lines) > 0 {
		return picture(dir, linesPicture, func(w io.Writer) error { return plot.DrawRanges(w, p.gainsPicture(lines)) })
	}
	return nil
}

// picture writes one plot.
func picture(dir, file string, draw func(io.Writer) error) error {
	var svg bytes.Buffer
	if err := draw(&svg); err != nil {
		return fmt.Errorf("plot %s: %w", file, err)
	}
	return replace(filepath.Join(dir, file), svg.Bytes())
}

const method = `
## Method

The same steps in Go ([cmd/fitbench](../../cmd/fitbench)) and in C ([bench/peers](../../bench/peers)), line by line after [bench/METHOD.md](../../bench/METHOD.md).
Everything runs interleaved: for each repeat, for each experiment, each contender in turn.
A run's value is the first sextile of its repetitions (for ` + "`Isend` and `Wait`" + ` beside computation, for overlap and time to solution, the median), never a mean.
A table shows the median over the repeats and in parentheses their range; bars in plots go from the minimum to the second sextile, of medians from the first sextile.
A gain compares medians over the repeats; its range is that of the repeats, compared one by one, as they ran beside each other.
FitMPI is its default policy, ` + "`assist`" + `, where no other is named: the worker moves messages, and callers that wait help it.
All runs are over TCP where nothing else is said. "shm" means processes of one host that share memory (Open MPI's vader, MPICH as it is by itself), "threads" ranks of one process.
`

// writeMachines writes what every machine is, and how was measured.
func (p *page) writeMachines(b *strings.Builder) {
	b.WriteString("\n## Machines\n\n")
	head := []string{"what"}
	for _, m := range p.machines {
		head = append(head, m.record.title())
	}
	writeHead(b, head...)
	for _, fact := range facts {
		line := []string{fact.name}
		for _, m := range p.machines {
			line = append(line, cmp.Or(fact.of(m.record), "unknown"))
		}
		writeRow(b, line...)
	}
	if len(p.machines) > 1 {
		fmt.Fprintf(b, "\nTables have the figures of %s, and the gains of all.\n", p.machines[0].record.title())
	}
	b.WriteString(method)
}

// facts are what a reader must know of a machine and of a session on it.
var facts = []struct {
	name string
	of   func(*record) string
}{
	{"cores", func(r *record) string { return fmt.Sprint(r.Machine.Cores) }},
	{"processor", func(r *record) string { return r.Machine.CPU }},
	{"kernel", func(r *record) string { return "Linux " + r.Machine.Kernel }},
	{"Go", func(r *record) string { return r.Machine.Go }},
	{"TCP congestion control of the system, under which Open MPI, MPICH, NetPIPE and raw sockets run, unless named", func(r *record) string { return r.Machine.Congestion }},
	{"TCP congestion control that FitMPI asks for", func(r *record) string { return r.Machine.FitCongestion }},
	{"Open MPI", func(r *record) string { return r.Machine.OpenMPI }},
	{"MPICH", func(r *record) string { return r.Machine.MPICH }},
	{"NetPIPE", func(r *record) string { return r.Machine.NetPIPE }},
	{"date", func(r *record) string { return r.Date }},
	{"repeats, at most", func(r *record) string { return fmt.Sprint(r.Repeats) }},
	{"binding of ranks", func(r *record) string { return r.Bind }},
	{"duration", func(r *record) string { return fmt.Sprintf("%.0f minutes", r.Minutes) }},
}

func (p *page) writeFailures(b *strings.Builder) {
	isFirst := true
	for _, m := range p.machines {
		for _, f := range m.record.Failures {
			if isFirst {
				b.WriteString("\n## Runs that failed\n\n")
				writeHead(b, "machine", "experiment", "contender", "repeat", "last words")
				isFirst = false
			}
			writeRow(b, m.record.title(), f.Experiment, f.Contender, fmt.Sprint(f.Repeat), strings.ReplaceAll(f.Reason, "|", "\\|"))
		}
	}
}
