//go:build linux

package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// verdict says whether a target was reached.
type verdict int

const (
	unknown verdict = iota // we, or what we are compared with, was not measured
	missed
	reached
)

func (v verdict) String() string {
	switch v {
	case unknown:
		return "not measured"
	case missed:
		return "missed"
	case reached:
		return "reached"
	}
	panic("compare: bug: no such verdict")
}

// judged is a criterion at one size, with all that was measured for it.
type judged struct {
	criterion criterion
	fig       figure
	ratio     float64 // of ours to the best peer; 0: one of them is unknown
	verdict   verdict
}

// judgeRows says of each target whether the rows of a file reach it.
func judgeRows(opt *options, stdout io.Writer) error {
	rec, err := load(opt.from)
	if err != nil {
		return err
	}
	f := newFigures(rec.Rows)
	var n [reached + 1]int
	t := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "of\tmeasure\tsize\tours\tunit\tratio to best peer\ttarget\t")
	for _, c := range criteria() {
		for _, j := range f.judge(c) {
			n[j.verdict]++
			ours := f.of(c.ours, j.fig)
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%v\n", c.group, c.measure, choose(j.fig.size == 0, "", sizeName(j.fig.size)),
				choose(ours.isKnown(), ours.String(), "–"), ours.unit, choose(j.ratio == 0, "", number(j.ratio)), c.reach, j.verdict)
		}
	}
	fmt.Fprintf(t, "\n%d are reached, %d missed, %d not measured\n", n[reached], n[missed], n[unknown])
	return t.Flush()
}

// judge judges a criterion at each of its sizes.
func (f *figures) judge(c criterion) []judged {
	sizes := c.sizes
	if sizes == nil {
		sizes = []int64{c.fig.size}
	}
	var lines []judged
	for _, size := range sizes {
		lines = append(lines, f.judgeAt(c, c.fig.at(size)))
	}
	return lines
}

func (f *figures) judgeAt(c criterion, fig figure) judged {
	j := judged{criterion: c, fig: fig, verdict: f.verdict(c, fig)}
	ours := f.of(c.ours, fig)
	if peer, ok := f.best(c.peers, fig); ok && ours.isKnown() && peer != 0 {
		j.ratio = ours.median / peer
	}
	return j
}

// verdict is reached if all targets are.
func (f *figures) verdict(c criterion, fig figure) verdict {
	s := f.of(c.ours, fig)
	if !s.isKnown() {
		return unknown
	}
	v := reached
	for _, t := range c.targets {
		limit, ok := t.limit(f, c, fig)
		switch {
		case !ok && v == reached:
			v = unknown
		case ok && !t.isReached(s.median, limit):
			v = missed
		}
	}
	return v
}

// limit is the bound that t sets.
func (t target) limit(f *figures, c criterion, fig figure) (float64, bool) {
	if t.ref == nil {
		return t.plus, true
	}
	ref, ok := t.ref(f, c, fig)
	return t.factor*ref + t.plus, ok
}

func (t target) isReached(x, limit float64) bool {
	if t.atLeast {
		return x >= limit
	}
	return x <= limit
}
