//go:build linux

package main

import "github.com/fitmpi/fitmpi/internal/bench"

// Measures that test overlap and applications do not write, but that follow from what they write.
const (
	savedTime  = "saved"       // us, of applications ms
	savedShare = "saved-share" // % of the exchange alone, of applications of the blocking way
)

// addSaved adds to the figures of test overlap what overlap saves in each run: an exchange alone
// takes p, computing p too on an undisturbed core, so both one after the other take 2p, and what
// both together take less than that is saved. It is below 0 where they take more. Here a
// computation that is slowed down counts as what it is, time lost; the percentage that OSU defines
// does not see it.
func (f *figures) addSaved() {
	for c, pure := range f.rows {
		if c.test != "overlap" || c.measure != "pure" {
			continue
		}
		both := c
		both.measure = "total"
		total := f.rows[both]
		if len(total) != len(pure) {
			continue // rows that do not fit together
		}
		for i, p := range pure {
			us := 2*p.Median - total[i].Median
			f.derive(p, savedTime, "us", us)
			if p.Median > 0 {
				f.derive(p, savedShare, "%", 100*us/p.Median)
			}
		}
	}
}

// derive adds a figure of the same run as a row.
func (f *figures) derive(of bench.Row, measure, unit string, x float64) {
	of.Measure, of.Unit, of.Summary = measure, unit, single(x)
	c := conditionOf(of)
	f.rows[c] = append(f.rows[c], of)
}
