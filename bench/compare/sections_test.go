//go:build linux

package main

import (
	"slices"
	"testing"

	"github.com/fitmpi/fitmpi/internal/bench"
)

// Nothing is measured that no page shows: of each experiment each contender has a cell.
func TestEveryExperimentIsShown(t *testing.T) {
	var cells []cell
	for _, s := range sections() {
		for _, tab := range s.tables {
			for _, r := range tab.lines() {
				for _, c := range tab.columns {
					cells = append(cells, cell{c.contender, r.at(c.fig)})
				}
			}
		}
		for _, d := range s.plots {
			for _, c := range d.columns {
				cells = append(cells, cell{c.contender, c.fig})
			}
		}
	}
	for _, e := range experiments() {
		for _, name := range e.contenders {
			if !slices.ContainsFunc(cells, func(c cell) bool { return c.contender == name && e.gives(c.fig) }) {
				t.Errorf("%s of %s is on no page", e.name, name)
			}
		}
	}
}

// A column may be a ratio to the best of others, of times and of rates, where both are there.
func TestColumnOfRatios(t *testing.T) {
	p := newPage(&record{Rows: []bench.Row{
		halfRTT("assist", 8, 3), halfRTT("raw-spin", 8, 2), halfRTT("raw-block", 8, 4), halfRTT("assist", 64, 3),
	}})
	of := func(fig figure) column {
		return column{contender: "assist", fig: fig, per: []string{"raw-spin", "raw-block"}}
	}
	for _, tt := range []struct {
		fig  figure
		size int64
		want string
	}{
		{halfRoundTrip, 8, "1.50"}, {halfRoundTrip.bandwidth(), 8, "0.67"}, {halfRoundTrip, 64, ""}, {halfRoundTrip, 512, ""},
	} {
		if got := p.columnText(of(tt.fig), row{"", func(f figure) figure { return f.at(tt.size) }}); got != tt.want {
			t.Errorf("%+v at %d: %q, want %q", tt.fig, tt.size, got, tt.want)
		}
	}
}
