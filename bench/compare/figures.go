//go:build linux

package main

import (
	"cmp"
	"math"
	"slices"

	"github.com/fitmpi/fitmpi/internal/bench"
)

// stat is a statistic of the measurements of one run.
type stat int

const (
	value    stat = iota // first sextile: the value, unless the design says otherwise
	median               // middle
	tail                 // 99th percentile
	best                 // minimum, or maximum of what is better higher
	sextile2             // second sextile
)

func (s stat) of(x bench.Summary) float64 {
	switch s {
	case value:
		return x.Sextile1
	case median:
		return x.Median
	case tail:
		return x.P99
	case best:
		return x.Min
	case sextile2:
		return x.Sextile2
	}
	panic("compare: bug: no such stat")
}

// figure names what one contender is asked for: a row of METHOD.md without the contender.
type figure struct {
	test    string
	kase    string
	measure string
	size    int64
	ranks   int     // 0: 2
	network network // where it was measured
	stat    stat
	asRate  bool // a time in us of size bytes, to be shown as bandwidth in MB/s
}

// at is f at another size; with and of are f with another case or measure.
func (f figure) at(size int64) figure     { f.size = size; return f }
func (f figure) with(kase string) figure  { f.kase = kase; return f }
func (f figure) of(measure string) figure { f.measure = measure; return f }
func (f figure) on(n network) figure      { f.network = n; return f }
func (f figure) take(s stat) figure       { f.stat = s; return f }
func (f figure) among(ranks int) figure   { f.ranks = ranks; return f }
func (f figure) bandwidth() figure        { f.asRate = true; return f }

// spread is what the repeats of a figure gave.
type spread struct {
	median, low, high float64
	n                 int // repeats; 0: not measured
	unit              string
}

// isKnown reports whether the figure was measured at all.
func (s spread) isKnown() bool { return s.n > 0 }

// condition is everything of a row that is not measured; rows with the same one are
// repeats. The unit goes with the measure.
type condition struct {
	test, peer, transport, policy, kase, measure string
	ranks                                        int
	size                                         int64
}

func conditionOf(r bench.Row) condition {
	return condition{
		test: r.Test, peer: r.Peer, transport: r.Transport, policy: r.Policy, kase: r.Case, measure: r.Measure,
		ranks: r.Ranks, size: r.Size,
	}
}

// figures finds what was measured.
type figures struct {
	rows       map[condition][]bench.Row // repeats, in order
	contenders map[string]*contender
}

func newFigures(rows []bench.Row) *figures {
	f := &figures{rows: map[condition][]bench.Row{}, contenders: byName(contenders())}
	for _, r := range rows {
		c := conditionOf(r)
		f.rows[c] = append(f.rows[c], r)
	}
	f.addSaved()
	return f
}

// of is the figure of the contender with this name: the median over repeats, and their range.
func (f *figures) of(name string, fig figure) spread { return over(f.values(name, fig)) }

// values are what the repeats gave, in order, and their unit.
func (f *figures) values(name string, fig figure) (xs []float64, unit string) {
	for _, r := range f.rows[fig.condition(f.contenders[name])] {
		x := fig.stat.of(r.Summary)
		unit = r.Unit
		if fig.asRate {
			x, unit = float64(fig.size)/x, "MB/s" // bytes per microsecond are MB/s
		}
		xs = append(xs, x)
	}
	return xs, unit
}

// sizes are the sizes at which a contender has the figure, rising.
func (f *figures) sizes(name string, fig figure) []int64 {
	var sizes []int64
	want := fig.condition(f.contenders[name])
	for have := range f.rows {
		size := have.size
		have.size = want.size
		if have == want {
			sizes = append(sizes, size)
		}
	}
	slices.Sort(sizes)
	return sizes
}

// condition is that of the rows in which c has the figure.
func (f figure) condition(c *contender) condition {
	return condition{
		test: f.test, peer: c.peer, transport: c.transport + f.network.suffix(), policy: c.policy,
		kase: f.kase, measure: f.measure, ranks: cmp.Or(f.ranks, 2), size: f.size,
	}
}

// over is the spread of the values of several repeats. The median of an even number
// is the mean of the middle two: one of two repeats is not the truth.
func over(xs []float64, unit string) spread {
	if len(xs) == 0 {
		return spread{}
	}
	s := slices.Sorted(slices.Values(xs))
	m := s[len(s)/2]
	if len(s)%2 == 0 {
		m = (m + s[len(s)/2-1]) / 2
	}
	return spread{median: m, low: s[0], high: s[len(s)-1], n: len(s), unit: unit}
}

// best is the best figure of the contenders with these names: the highest of what is
// better higher.
func (f *figures) best(names []string, fig figure) (best float64, ok bool) {
	name, ok := f.bestName(names, fig)
	if !ok {
		return 0, false
	}
	return f.of(name, fig).median, true
}

// bestName is which of the contenders has the best figure.
func (f *figures) bestName(names []string, fig figure) (best string, ok bool) {
	var most spread
	for _, name := range names {
		s := f.of(name, fig)
		if !s.isKnown() {
			continue
		}
		isBetter := s.median < most.median
		if bench.HigherIsBetter(s.unit) {
			isBetter = s.median > most.median
		}
		if !ok || isBetter {
			best, most, ok = name, s, true
		}
	}
	return best, ok
}

// isWide reports whether the repeats differ by more than a fifth of their median.
func (s spread) isWide() bool { return s.high-s.low > 0.2*math.Abs(s.median) }
