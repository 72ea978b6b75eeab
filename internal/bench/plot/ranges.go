package plot

import (
	"io"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Ranges is a picture of ratios, one below the other, each with its range, on a logarithmic axis
// with 1 in the middle: worse on the left, better on the right.
type Ranges struct {
	Title         string
	Worse, Better string   // what the left and the right half mean
	Series        []string // names of what each row has a point of; a single one needs none
	Rows          []RangeRow
}

// RangeRow is a row of Ranges. Points has one point for each series: X is the ratio, from Low to
// High its range; with X 0 there is none.
type RangeRow struct {
	Name   string
	Points []Point
}

// Sizes of the parts of Ranges.
const (
	rowHeight  = vg.Length(17)
	rangeWidth = vg.Length(330)
	farthest   = 10.0 // the axis goes from a tenth to ten; what is beyond stands at its end
)

// DrawRanges writes r as SVG.
func DrawRanges(w io.Writer, r Ranges) error {
	names := make([]string, len(r.Rows))
	for i, row := range r.Rows {
		names[i] = row.Name
	}
	label := max(widest(medium, names), widest(medium, r.Series)) + 2*margin
	head, foot := 2*rowHeight, rowHeight
	if len(r.Series) > 1 {
		head += rowHeight * vg.Length(len(r.Series))
	}
	const figures = vg.Length(48) // beside the axis
	s := newSheet(label+rangeWidth+figures+margin, 2*margin+head+foot+rowHeight*vg.Length(len(r.Rows)))
	top := margin + head
	s.write(r.Title, titleSize, draw.XLeft, margin, margin+rowHeight/2)
	s.series(r, label)
	s.scale(r, label, top, rowHeight*vg.Length(len(r.Rows)))
	for i, row := range r.Rows {
		y := top + rowHeight*(vg.Length(i)+0.5)
		s.write(row.Name, medium, draw.XLeft, margin, y)
		s.row(row, label, y)
	}
	_, err := w.Write(s.bytes())
	return err
}

// series writes which mark is which series.
func (s *sheet) series(r Ranges, label vg.Length) {
	if len(r.Series) < 2 {
		return
	}
	for i, name := range r.Series {
		y := margin + rowHeight*(vg.Length(i)+1.5)
		s.DrawGlyph(glyph(i), s.at(label+margin, y))
		s.write(name, medium, draw.XLeft, label+2*margin, y)
	}
}

// scale draws the axis, its two halves and what they mean.
func (s *sheet) scale(r Ranges, left, top, height vg.Length) {
	middle := left + rangeWidth/2
	s.fill(left, top, rangeWidth/2, height, shade(-0.25))
	s.fill(middle, top, rangeWidth/2, height, shade(0.25))
	s.write(r.Worse, medium, draw.XCenter, left+rangeWidth/4, top-rowHeight/2)
	s.write(r.Better, medium, draw.XCenter, left+rangeWidth*3/4, top-rowHeight/2)
	for _, tick := range []float64{0.1, 0.2, 0.5, 1, 2, 5, 10} {
		x := left + along(tick)
		s.rule(draw.LineStyle{Color: white, Width: vg.Points(0.8)}, x, top, x, top+height)
		s.write(number(tick), small, draw.XCenter, x, top+height+rowHeight/2)
	}
	s.rule(draw.LineStyle{Color: ink, Width: vg.Points(1)}, middle, top, middle, top+height)
}

// row draws the points of a row whose middle is at y, and writes the first of them beside it.
func (s *sheet) row(row RangeRow, left, y vg.Length) {
	for i, p := range row.Points {
		if !fits(p.X, true) {
			continue
		}
		at := y + 3*(vg.Length(i)-vg.Length(len(row.Points)-1)/2) // series lie a little below each other
		if fits(p.Low, true) && fits(p.High, true) {
			s.rule(bar(i), left+along(p.Low), at, left+along(p.High), at)
		}
		s.DrawGlyph(glyph(i), s.at(left+along(p.X), at))
	}
	if len(row.Points) > 0 && fits(row.Points[0].X, true) {
		s.write(rounded(row.Points[0].X), medium, draw.XLeft, left+rangeWidth+margin/2, y)
	}
}

// along is how far from the left end of the axis a ratio stands.
func along(ratio float64) vg.Length {
	ratio = min(max(ratio, 1/farthest), farthest)
	return rangeWidth * vg.Length((math.Log(ratio)/math.Log(farthest)+1)/2)
}

// rounded writes a ratio with as many digits as a reader can use.
func rounded(x float64) string {
	if x >= 100 {
		return number(math.Round(x))
	}
	digits := 2 - int(math.Floor(math.Log10(x)))
	scale := math.Pow(10, float64(digits))
	return number(math.Round(x*scale) / scale)
}
