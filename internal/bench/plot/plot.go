package plot

import (
	"io"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Figure is one picture: curves in one pair of axes, and a legend beside them.
type Figure struct {
	Title, XLabel, YLabel string
	LogX, LogY            bool // logarithmic axes; points that are not positive there are left out
	Curves                []Curve
}

// Curve is a line through points in the order of the slice.
type Curve struct {
	Name   string
	Points []Point
}

// Point is one value of a curve. Low and High are the ends of its bar of spread, in
// either order; if both are zero there is no bar.
type Point struct{ X, Y, Low, High float64 }

// Draw writes f as SVG.
func Draw(w io.Writer, f Figure) error { return DrawAll(w, []Figure{f}) }

// DrawAll writes figures as one SVG, the first at the top: for measurements of one
// program run in different units.
func DrawAll(w io.Writer, figures []Figure) error {
	_, err := w.Write(render(figures))
	return err
}

// Sizes of a picture. The axes have a fixed width, and the legend what it needs.
const (
	axesWidth    = 6 * vg.Inch
	figureHeight = 4 * vg.Inch
	margin       = vg.Length(10)
	legendGap    = vg.Length(14)
)

func render(figures []Figure) []byte {
	l := newLayout(figures)
	svg := vgsvg.New(l.width, l.height)
	l.draw(draw.New(svg))
	return finish(svg)
}

// layout says where the panels of a picture are: below each other, with their legends
// in one column.
type layout struct {
	panels                     []panel
	width, height, legendWidth vg.Length
}

func newLayout(figures []Figure) layout {
	l := layout{width: axesWidth + 2*margin, height: figureHeight*vg.Length(max(len(figures), 1)) + 2*margin}
	for _, f := range figures {
		p := newPanel(f)
		l.panels = append(l.panels, p)
		l.legendWidth = max(l.legendWidth, p.legendWidth())
	}
	if l.legendWidth > 0 {
		l.width += legendGap + l.legendWidth
	}
	return l
}

func (l layout) draw(page draw.Canvas) {
	page.SetColor(white)
	page.Fill(page.Rectangle.Path())
	for i, p := range l.panels {
		top := margin + figureHeight*vg.Length(i)
		p.draw(draw.Crop(page, margin, -margin, l.height-top-figureHeight, -top))
	}
}

// Texts are measured in the font that gonum carries with it. A viewer of the picture may have
// another font, so the SVG also names those of the same width.
const (
	drawnFont  = "font-family:Liberation Sans;"
	namedFonts = "font-family:'Liberation Sans',Arimo,Arial,Helvetica,sans-serif;"
)

// panel is a figure ready to be drawn.
type panel struct {
	axes   *plot.Plot
	legend plot.Legend
}

func (p panel) legendWidth() vg.Length {
	return p.legend.Rectangle(draw.Canvas{}).Size().X
}

// draw draws the axes at the left of c and the legend at the right of them.
func (p panel) draw(c draw.Canvas) {
	axes := c
	axes.Max.X = c.Min.X + axesWidth
	p.axes.Draw(draw.Crop(axes, 0, 0, margin, 0))
	p.legend.Draw(draw.Crop(c, axesWidth+legendGap, 0, 0, -p.titleHeight()))
}

func (p panel) titleHeight() vg.Length {
	if p.axes.Title.Text == "" {
		return 0
	}
	return p.axes.Title.TextStyle.Rectangle(p.axes.Title.Text).Size().Y + p.axes.Title.Padding
}

// printable leaves of a text what XML can hold, on one line.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			return ' '
		case r < ' ' || r == 0xfffe || r == 0xffff:
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}
