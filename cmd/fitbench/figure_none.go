//go:build linux && noplot

package main

import "github.com/fitmpi/fitmpi/internal/bench"

// canPlot says that this program cannot draw: the library that draws would be in the
// resident memory of every rank, about 4 MB, and test scale would show it as FitMPI's.
const canPlot = false

// savePlot is never called: options.check refuses -plot.
func savePlot(string, []bench.Row) error { panic("fitbench: bug: drawing without a plotter") }
