package plot

import (
	"bytes"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// sheet is an empty white picture, for what is not curves in axes. On it y counts from the top.
type sheet struct {
	draw.Canvas
	svg           *vgsvg.Canvas
	width, height vg.Length
}

func newSheet(width, height vg.Length) *sheet {
	svg := vgsvg.New(width, height)
	s := &sheet{draw.New(svg), svg, width, height}
	s.fill(0, 0, width, height, white)
	return s
}

// bytes is the picture as SVG.
func (s *sheet) bytes() []byte { return finish(s.svg) }

// finish is what a canvas holds as SVG, with the fonts that a viewer may have.
func finish(svg *vgsvg.Canvas) []byte {
	var b bytes.Buffer
	svg.WriteTo(&b) // a bytes.Buffer takes everything
	return bytes.ReplaceAll(b.Bytes(), []byte(drawnFont), []byte(namedFonts))
}

// at is the point of the canvas that is x from the left and y from the top.
func (s *sheet) at(x, y vg.Length) vg.Point { return vg.Point{X: x, Y: s.height - y} }

// fill fills a rectangle whose upper left corner is at x, y.
func (s *sheet) fill(x, y, width, height vg.Length, c color.Color) {
	s.FillPolygon(c, []vg.Point{s.at(x, y), s.at(x+width, y), s.at(x+width, y+height), s.at(x, y+height)})
}

// rule draws a straight line.
func (s *sheet) rule(style draw.LineStyle, x0, y0, x1, y1 vg.Length) {
	a, b := s.at(x0, y0), s.at(x1, y1)
	s.StrokeLine2(style, a.X, a.Y, b.X, b.Y)
}

// write writes a text whose middle line is at y, aligned to x.
func (s *sheet) write(txt string, size vg.Length, align text.XAlignment, x, y vg.Length) {
	style := lettering(size)
	style.XAlign, style.YAlign = align, draw.YCenter
	s.FillText(style, s.at(x, y), printable(txt))
}

// lettering is text of the given size as it is everywhere here.
func lettering(size vg.Length) text.Style {
	return text.Style{Font: font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size), Color: ink, Handler: plot.DefaultTextHandler}
}

// widest is the width of the widest of some texts, and some more: a viewer may have a wider font.
func widest(size vg.Length, texts []string) (width vg.Length) {
	const wider = 1.15
	style := lettering(size)
	for _, txt := range texts {
		width = max(width, style.Width(printable(txt)))
	}
	return width * wider
}
