//go:build linux

package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/fitmpi/fitmpi/internal/bench"
)

// gain is how many times better ours is than the best peer: 2 is half the time, or twice the rate.
type gain struct {
	value     float64   // of the medians over the repeats; 0: one of both was not measured, or is 0
	low, high float64   // over the repeats, and value is among them
	each      []float64 // of each repeat, as long as both have one
	peer      string    // name of the best peer; of a mean of several gains empty
}

func (g gain) isKnown() bool { return g.value > 0 }

// gain compares ours with the best of the peers that have the figure. Repeats are compared one by
// one, the first with the first: they ran beside each other, in the same minute.
func (f *figures) gain(ours string, peers []string, fig figure) gain {
	xs, unit := f.values(ours, fig)
	peer, ok := f.bestName(peers, fig)
	if len(xs) == 0 || !ok {
		return gain{}
	}
	ys, _ := f.values(peer, fig)
	g := gain{value: better(over(xs, unit).median, over(ys, unit).median, unit), peer: peer}
	if !g.isKnown() {
		return gain{}
	}
	for i := range min(len(xs), len(ys)) {
		if one := better(xs[i], ys[i], unit); one > 0 {
			g.each = append(g.each, one)
		}
	}
	return g.ranged()
}

// ranged is g with its range, from its value and those of its repeats.
func (g gain) ranged() gain {
	all := append([]float64{g.value}, g.each...)
	g.low, g.high = slices.Min(all), slices.Max(all)
	return g
}

// better is how many times better x is than y, 0 if that is no number above 0.
func better(x, y float64, unit string) float64 {
	if x <= 0 || y <= 0 {
		return 0
	}
	if bench.HigherIsBetter(unit) {
		return x / y
	}
	return y / x
}

// mean is the geometric mean of the gains that are known: twice as fast in one and half as fast in
// another is 1.
func mean(gains []gain) gain {
	var values []float64
	repeats := math.MaxInt
	var known []gain
	for _, g := range gains {
		if g.isKnown() {
			known = append(known, g)
			values = append(values, g.value)
			repeats = min(repeats, len(g.each))
		}
	}
	if len(known) == 0 {
		return gain{}
	}
	if len(known) == 1 {
		return known[0]
	}
	m := gain{value: geometric(values)}
	for i := range repeats {
		var ofRepeat []float64
		for _, g := range known {
			ofRepeat = append(ofRepeat, g.each[i])
		}
		m.each = append(m.each, geometric(ofRepeat))
	}
	return m.ranged()
}

func geometric(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += math.Log(x)
	}
	return math.Exp(sum / float64(len(xs)))
}

// side is what a gain says.
type side int

const (
	unknownSide side = iota
	slower           // than the best peer, in every repeat
	even             // no difference that the measurement can tell
	faster           // than the best peer, in every repeat
)

// Differences below these are none: of what was measured once, nothing is known of its spread.
const (
	leastGain     = 1.05
	leastGainOnce = 1.2
)

// side is on which side of 1 the gain and all its repeats are.
func (g gain) side() side {
	least := leastGain
	if len(g.each) < 2 {
		least = leastGainOnce
	}
	switch {
	case !g.isKnown():
		return unknownSide
	case g.value >= least && g.low > 1:
		return faster
	case g.value <= 1/least && g.high < 1:
		return slower
	}
	return even
}

func (s side) String() string {
	switch s {
	case unknownSide:
		return "not measured"
	case slower:
		return "slower"
	case even:
		return "even"
	case faster:
		return "faster"
	}
	panic("compare: bug: no such side")
}

// mark is how a table shows the side.
func (s side) mark() string {
	return [...]string{unknownSide: "", slower: "🔴", even: "⚪", faster: "🟢"}[s]
}

// String is the gain with its range, and a mark of its side; empty if it is unknown.
func (g gain) String() string {
	if !g.isKnown() {
		return ""
	}
	if len(g.each) < 2 {
		return g.side().mark() + " " + number(g.value)
	}
	return fmt.Sprintf("%s %s (%s–%s)", g.side().mark(), number(g.value), number(g.low), number(g.high))
}
