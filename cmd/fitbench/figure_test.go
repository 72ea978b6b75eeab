//go:build linux && !noplot

package main

import (
	"testing"

	"github.com/fitmpi/fitmpi/internal/bench"
)

func TestFigures(t *testing.T) {
	row := func(size int64, kase, measure, unit string) bench.Row {
		return bench.Row{Test: "isend-wait", Transport: "tcp", Policy: "assist", Ranks: 2, Case: kase, Size: size,
			Measure: measure, Unit: unit, Summary: bench.Summary{Min: 1, Sextile1: 2, Sextile2: 3}}
	}
	figs := figures([]bench.Row{
		row(8, "", "isend", "us"), row(8, "", "kept", "%"), row(8, "late", "isend", "us"), row(64, "", "isend", "us"),
	})
	if len(figs) != 2 || figs[0].YLabel != "time, us" || figs[1].YLabel != "per cent" {
		t.Fatalf("%+v, want a figure in us and one in per cent", figs)
	}
	if f := figs[0]; !f.LogX || !f.LogY || f.Title != "isend-wait, 2 ranks over tcp" || f.XLabel != "message size, bytes" {
		t.Errorf("figure %+v", f)
	}
	if figs[1].LogY {
		t.Error("per cent on a logarithmic axis")
	}
	curves := figs[0].Curves
	if len(curves) != 2 || curves[0].Name != "assist isend" || curves[1].Name != "assist late isend" {
		t.Fatalf("curves %+v", curves)
	}
	if p := curves[0].Points; len(p) != 2 || p[1].X != 64 || p[1].Y != 2 || p[1].Low != 1 || p[1].High != 3 {
		t.Errorf("points %+v", p)
	}
	if f := figures([]bench.Row{row(0, "", "idle", "ms")}); len(f) != 1 || f[0].LogX {
		t.Errorf("%+v: sizes that are all zero have no logarithm", f)
	}
}
