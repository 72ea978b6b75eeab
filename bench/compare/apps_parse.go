//go:build linux

package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fitmpi/fitmpi/internal/bench"
)

// timing is a line of an application: how long it computed once, and what came out. See
// examples/internal/timing.
type timing struct {
	program, way    string
	ranks           int
	size            int64
	seconds, waited float64
	answer          uint64
	value           float64
}

// parseTiming reads a line. ok is false if it is none.
func parseTiming(line string) (t timing, ok bool, err error) {
	f := strings.Fields(line)
	if len(f) < 2 || f[0] != "time" {
		return t, false, nil
	}
	t.program = f[1]
	seen := 0
	for _, field := range f[2:] {
		name, text, _ := strings.Cut(field, "=")
		if err := t.set(name, text); err != nil {
			return t, true, fmt.Errorf("line %q: %w", line, err)
		}
		seen++
	}
	if seen != 7 {
		return t, true, fmt.Errorf("line %q has %d fields, not 7", line, seen)
	}
	return t, true, nil
}

// set sets a field of a line.
func (t *timing) set(name, text string) (err error) {
	switch name {
	case "ranks":
		t.ranks, err = strconv.Atoi(text)
	case "size":
		t.size, err = strconv.ParseInt(text, 10, 64)
	case "way":
		t.way = text
	case "seconds":
		t.seconds, err = strconv.ParseFloat(text, 64)
	case "waited":
		t.waited, err = strconv.ParseFloat(text, 64)
	case "answer":
		t.answer, err = strconv.ParseUint(text, 16, 64)
	case "value":
		t.value, err = strconv.ParseFloat(text, 64)
	default:
		err = fmt.Errorf("no field %q is known", name)
	}
	return err
}

// parseTimings reads all lines.
func parseTimings(out string) ([]timing, error) {
	var list []timing
	for line := range strings.Lines(out) {
		t, ok, err := parseTiming(strings.TrimSpace(line))
		if err != nil {
			return nil, err
		}
		if ok {
			list = append(list, t)
		}
	}
	return list, nil
}

// group is the times of one size and one way, in order.
type group struct {
	size  int64
	way   string
	times []timing
}

// groupsOf divides times by size and way, in the order in which these come first.
func groupsOf(list []timing) []*group {
	var groups []*group
	for _, t := range list {
		i := slices.IndexFunc(groups, func(g *group) bool { return g.size == t.size && g.way == t.way })
		if i < 0 {
			i, groups = len(groups), append(groups, &group{size: t.size, way: t.way})
		}
		groups[i].times = append(groups[i].times, t)
	}
	return groups
}

// parseTimes makes rows of the lines of an application: for each size and way its time and how much
// of it it waited, and what overlap saved where there are both ways.
func (c *contender) parseTimes(out string) ([]bench.Row, error) {
	list, err := parseTimings(out)
	if err != nil {
		return nil, err
	}
	var rows []bench.Row
	groups := groupsOf(list)
	for _, g := range groups {
		rows = append(rows,
			c.timeRow(g, "time", "ms", func(_ int, t timing) float64 { return t.seconds * 1e3 }),
			c.timeRow(g, "waited", "ms", func(_ int, t timing) float64 { return t.waited * 1e3 }))
		i := slices.IndexFunc(groups, func(other *group) bool {
			return g.way == "overlap" && other.way == "blocking" && other.size == g.size && len(other.times) == len(g.times)
		})
		if i >= 0 {
			blocking := groups[i].times
			rows = append(rows,
				c.timeRow(g, savedTime, "ms", func(n int, t timing) float64 { return (blocking[n].seconds - t.seconds) * 1e3 }),
				c.timeRow(g, savedShare, "%", func(n int, t timing) float64 { return 100 * (1 - t.seconds/blocking[n].seconds) }))
		}
	}
	return rows, nil
}

// timeRow is a row of what of says of each time of a group. Of what is saved, more is better.
func (c *contender) timeRow(g *group, measure, unit string, of func(n int, t timing) float64) bench.Row {
	xs := make([]float64, len(g.times))
	for n, t := range g.times {
		xs[n] = of(n, t)
	}
	return bench.Row{
		Test: g.times[0].program, Peer: c.peer, Transport: c.transport, Policy: c.policy, Ranks: g.times[0].ranks, Case: g.way,
		Size: g.size, Measure: measure, Unit: unit, Summary: bench.Summarise(xs, measure == savedTime || bench.HigherIsBetter(unit)),
	}
}

// answers are what applications have found out. One that answers something else than the others has
// not done what they did, and its times mean nothing.
type answers struct {
	first map[string]found // by the problem
}

// found is the first answer to a problem, and whose it was.
type found struct {
	timing
	contender string
}

// closeEnough is how far values may be from each other, as part of them: sums of a few hundred
// thousand terms that are added up in another order, or of roots of another library, differ by
// 1e-12.
const closeEnough = 1e-9

// check compares what a run wrote with what others answered. All answers to a problem must be
// equal: of all contenders, on any number of ranks, with overlap or without.
func (a *answers) check(r run, out string) error {
	if a == nil || !r.contender.answers {
		return nil
	}
	list, err := parseTimings(out)
	if err != nil {
		return err
	}
	for _, t := range list {
		if t.program != r.experiment.test || t.ranks != r.experiment.ranksOf() {
			return fmt.Errorf("ran %s on %d ranks, but %s on %d was asked for", t.program, t.ranks, r.experiment.test, r.experiment.ranksOf())
		}
		if err := a.add(r.problem(t), found{t, r.contender.name}); err != nil {
			return err
		}
	}
	return nil
}

// problem names what t is an answer to.
func (r run) problem(t timing) string {
	args, _, _ := strings.Cut(r.experiment.args, " -time")
	return fmt.Sprint(t.program, " ", t.size, " of ", args)
}

func (a *answers) add(problem string, f found) error {
	if a.first == nil {
		a.first = map[string]found{}
	}
	want, ok := a.first[problem]
	if !ok {
		a.first[problem] = f
		return nil
	}
	isClose := math.Abs(f.value-want.value) <= closeEnough*math.Abs(want.value) // false of NaN
	if f.answer == want.answer && isClose {
		return nil
	}
	return fmt.Errorf("%s answers %016x, %.17g, but %s answered %016x, %.17g: they have not computed the same",
		f.contender, f.answer, f.value, want.contender, want.answer, want.value)
}
