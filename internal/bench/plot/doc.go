// Package plot draws what benchmarks measured: curves with bars of spread, as SVG.
//
//	plot.Draw(file, plot.Figure{
//		Title: "pingpong", XLabel: "bytes", YLabel: "us", LogX: true, LogY: true,
//		Curves: []plot.Curve{{Name: "fitmpi assist", Points: points}},
//	})
//
// The same figure gives the same bytes, so a picture in a repository changes only when
// its figures do. What cannot be drawn (a zero on a logarithmic axis, an infinity) is
// left out and never an error: a benchmark that ran for minutes gets its picture.
//
// DrawGrids draws heat maps, DrawRanges ratios with their ranges, one below the other.
//
// All functions are safe for concurrent use.
package plot
