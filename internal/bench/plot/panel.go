package plot

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// newPanel makes the axes, curves and legend of f.
func newPanel(f Figure) panel {
	p := plot.New()
	fonts(p)
	p.Title.Text = printable(f.Title)
	p.X.Label.Text, p.Y.Label.Text = printable(f.XLabel), printable(f.YLabel)
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = faint, faint
	p.Add(grid)

	legend := p.Legend
	legend.Top, legend.Left, legend.Padding = true, true, vg.Points(4)
	legend.YPosition = draw.PosCenter
	x, y := newSpan(f.LogX), newSpan(f.LogY)
	for i, c := range f.Curves {
		points := f.drawable(c.Points)
		for _, pt := range points {
			x.add(pt.X)
			y.add(pt.Y, pt.Low, pt.High)
		}
		legend.Add(printable(c.Name), addCurve(p, i, points)...)
	}
	x.frame(&p.X)
	y.frame(&p.Y)
	return panel{p, legend}
}

// addCurve draws curve i into p and returns what stands for it in the legend.
func addCurve(p *plot.Plot, i int, points []Point) []plot.Thumbnailer {
	xys := make(plotter.XYs, len(points))
	for j, pt := range points {
		xys[j] = plotter.XY{X: pt.X, Y: pt.Y}
	}
	l := &plotter.Line{XYs: xys, LineStyle: line(i)}
	s := &plotter.Scatter{XYs: xys, GlyphStyle: glyph(i)}
	if len(points) > 0 {
		p.Add(&bars{points, bar(i)}, l, s)
	}
	return []plot.Thumbnailer{l, s}
}

// bars draws the spread of the points of one curve. Plotter's own error bars are not
// used: they would have to be relative to Y, and lose bits on the way.
type bars struct {
	points []Point
	style  draw.LineStyle
}

const capWidth = vg.Length(5)

// Plot implements plot.Plotter.
func (b *bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, pt := range b.points {
		if pt.Low == pt.High {
			continue
		}
		at, low, high := x(pt.X), y(pt.Low), y(pt.High)
		c.StrokeLine2(b.style, at, low, at, high)
		for _, end := range []vg.Length{low, high} {
			c.StrokeLine2(b.style, at-capWidth/2, end, at+capWidth/2, end)
		}
	}
}

// drawable returns the points that f's axes can show, with bars that they can show:
// from Low to High, upwards, and Low and High equal to Y if there is none.
func (f Figure) drawable(points []Point) []Point {
	var out []Point
	for _, p := range points {
		if !fits(p.X, f.LogX) || !fits(p.Y, f.LogY) {
			continue
		}
		low, high := min(p.Low, p.High), max(p.Low, p.High)
		if low == 0 && high == 0 || !fits(high, f.LogY) || math.IsNaN(low) {
			low, high = p.Y, p.Y
		}
		if !fits(low, f.LogY) {
			low = min(p.Y, high)
		}
		out = append(out, Point{p.X, p.Y, low, high})
	}
	return out
}

// limit bounds what is drawn, so that differences and ratios stay finite numbers.
const limit = 1e100

// fits reports whether an axis can show v.
func fits(v float64, log bool) bool {
	if log {
		return v >= 1/limit && v <= limit
	}
	return v >= -limit && v <= limit
}
