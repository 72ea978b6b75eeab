//go:build linux

package main

import (
	"github.com/fitmpi/fitmpi/internal/bench"
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

// best is the best figure of the contenders with these names: the highest of what is
// better higher.
func (f *figures) best(names []string, fig figure) (best float64, ok bool) {
	for _, name := range names {
		s := f.of(name, fig)
		if !s.isKnown() {
			continue
		}
		isBetter := s.median < best
		if bench.HigherIsBetter(s.unit) {
			isBetter = s.median > best
		}
		if !ok || isBetter {
			best, ok = s.median, true
		}
	}
	return best, ok
}
