//go:build linux && !noplot

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/fitmpi/fitmpi/internal/bench"
	"github.com/fitmpi/fitmpi/internal/bench/plot"
)

// canPlot says that this program can draw.
const canPlot = true

// savePlot draws rows to file, one picture per unit below each other.
func savePlot(file string, rows []bench.Row) error {
	var svg bytes.Buffer
	if err := plot.DrawAll(&svg, figures(rows)); err != nil {
		return fmt.Errorf("-plot: %w", err)
	}
	if err := os.WriteFile(file, svg.Bytes(), 0o666); err != nil {
		return fmt.Errorf("-plot: %w", err)
	}
	return nil
}

// figures makes a figure of the rows of each unit, in the order of their first row.
func figures(rows []bench.Row) []plot.Figure {
	var figs []plot.Figure
	index := map[string]int{} // unit -> figure
	for _, r := range rows {
		i, ok := index[r.Unit]
		if !ok {
			i = len(figs)
			index[r.Unit] = i
			figs = append(figs, newFigure(r))
		}
		addRow(&figs[i], r)
	}
	for i := range figs {
		figs[i].LogX = hasPositive(figs[i].Curves)
	}
	return figs
}

// newFigure is a figure without curves for rows with the unit and test of r.
func newFigure(r bench.Row) plot.Figure {
	f := plot.Figure{
		Title:  fmt.Sprintf("%s, %d ranks over %s", r.Test, r.Ranks, r.Transport),
		XLabel: "message size, bytes",
		YLabel: unitNames[r.Unit],
		LogY:   r.Unit != "%" && r.Unit != "1",
	}
	f.YLabel = cmp.Or(f.YLabel, r.Unit)
	switch {
	case r.Test == "match":
		f.XLabel = "depth of the queue, messages"
	case r.Test == "histogram" && r.Unit == "%":
		f.XLabel = "half round trip, ns: where a bin begins"
	}
	return f
}

// unitNames say on an axis what a unit means.
var unitNames = map[string]string{
	"us": "time, us", "ms": "time, ms", "ns": "time, ns", "MB/s": "bandwidth, MB/s (10^6 bytes a second)",
	"1/s": "messages a second", "%": "per cent", "1": "number",
}

// addRow adds a point to the curve of r's policy, case and measure.
func addRow(f *plot.Figure, r bench.Row) {
	name := strings.Join(strings.Fields(r.Policy+" "+r.Case+" "+r.Measure), " ")
	point := plot.Point{X: float64(r.Size), Y: r.Sextile1, Low: r.Min, High: r.Sextile2}
	for i := range f.Curves {
		if f.Curves[i].Name == name {
			f.Curves[i].Points = append(f.Curves[i].Points, point)
			return
		}
	}
	f.Curves = append(f.Curves, plot.Curve{Name: name, Points: []plot.Point{point}})
}

// hasPositive reports whether a logarithmic x axis would show anything.
func hasPositive(curves []plot.Curve) bool {
	for _, c := range curves {
		for _, p := range c.Points {
			if p.X > 0 {
				return true
			}
		}
	}
	return false
}
