package plot

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

var (
	white = color.White
	ink   = color.Gray{Y: 0x33}
	faint = color.Gray{Y: 0xe2}
)

// palette is the one of Okabe and Ito, which people with any colour vision can tell
// apart, without its yellow, which white swallows.
var palette = []color.RGBA{
	{0x00, 0x72, 0xb2, 0xff}, // blue
	{0xd5, 0x5e, 0x00, 0xff}, // vermilion
	{0x00, 0x9e, 0x73, 0xff}, // green
	{0xcc, 0x79, 0xa7, 0xff}, // purple
	{0xe6, 0x9f, 0x00, 0xff}, // orange
	{0x56, 0xb4, 0xe9, 0xff}, // sky
	{0x00, 0x00, 0x00, 0xff}, // black
}

var shapes = []draw.GlyphDrawer{
	draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.RingGlyph{}, draw.CrossGlyph{},
}

var dashes = [][]vg.Length{nil, {6, 3}, {1.5, 2.5}}

// line and glyph are how curve i looks. The numbers of colours, shapes and dashes have
// no common factor, so a hundred curves differ.
func line(i int) draw.LineStyle {
	return draw.LineStyle{
		Color: palette[i%len(palette)], Width: vg.Points(1.5), Dashes: dashes[i/len(palette)%len(dashes)],
	}
}

func glyph(i int) draw.GlyphStyle {
	return draw.GlyphStyle{Color: palette[i%len(palette)], Radius: vg.Points(2.6), Shape: shapes[i%len(shapes)]}
}

// bar is how the spread of curve i looks: thin, so that the curves stand out.
func bar(i int) draw.LineStyle {
	return draw.LineStyle{Color: palette[i%len(palette)], Width: vg.Points(0.8)}
}

// fonts sets every text of p to a sans-serif of the right size.
func fonts(p *plot.Plot) {
	set := func(s *text.Style, size vg.Length) {
		like := lettering(size)
		s.Font, s.Color = like.Font, like.Color
	}
	set(&p.Title.TextStyle, 13)
	set(&p.Legend.TextStyle, 10)
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		set(&axis.Label.TextStyle, 11)
		set(&axis.Tick.Label, 10)
		axis.LineStyle.Color = ink
		axis.Tick.LineStyle.Color = ink
		axis.Label.Padding = vg.Points(4)
		axis.Padding = 0
	}
	p.Title.Padding = vg.Points(8)
}
