package plot

import (
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Grid is a heat map: a text for each row and column, on a colour that says how good it is.
type Grid struct {
	Title   string
	Columns []string
	Rows    []GridRow
}

// GridRow is a row of a Grid; a cell that is missing at its end stays empty.
type GridRow struct {
	Name  string
	Cells []Cell
}

// Cell is a text and how good it is: from -1, the worst, in orange, by 0, white, to 1, the best, in
// green. A cell without text is empty.
type Cell struct {
	Text string
	Good float64
}

// Sizes of the parts of a heat map.
const (
	cellWidth  = vg.Length(42)
	cellHeight = vg.Length(20)
	gridGap    = vg.Length(18)
	small      = vg.Length(9)
	medium     = vg.Length(10)
	titleSize  = vg.Length(11)
)

// DrawGrids writes heat maps as one SVG, two beside each other, in the order of reading.
func DrawGrids(w io.Writer, grids []Grid) error {
	var names []string
	columns, rows := 0, 0
	for _, g := range grids {
		columns, rows = max(columns, len(g.Columns)), max(rows, len(g.Rows))
		for _, r := range g.Rows {
			names = append(names, r.Name)
		}
	}
	label := widest(medium, names) + margin
	width, height := label+cellWidth*vg.Length(columns), cellHeight*vg.Length(rows+2)
	across := min(len(grids), 2)
	down := (len(grids) + 1) / 2
	s := newSheet(2*margin+width*vg.Length(max(across, 1))+gridGap*vg.Length(max(across-1, 0)),
		2*margin+height*vg.Length(down)+gridGap*vg.Length(max(down-1, 0)))
	for i, g := range grids {
		s.grid(g, label, margin+(width+gridGap)*vg.Length(i%2), margin+(height+gridGap)*vg.Length(i/2))
	}
	_, err := w.Write(s.bytes())
	return err
}

// grid draws g with its upper left corner at x, y and label of width for the names of rows.
func (s *sheet) grid(g Grid, label, x, y vg.Length) {
	s.write(g.Title, titleSize, draw.XLeft, x, y+cellHeight/2)
	for i, name := range g.Columns {
		s.write(name, medium, draw.XCenter, x+label+cellWidth*(vg.Length(i)+0.5), y+cellHeight*1.5)
	}
	for j, row := range g.Rows {
		top := y + cellHeight*vg.Length(j+2)
		s.write(row.Name, medium, draw.XLeft, x, top+cellHeight/2)
		for i, c := range row.Cells {
			left := x + label + cellWidth*vg.Length(i)
			if c.Text == "" {
				continue
			}
			s.fill(left, top, cellWidth-1, cellHeight-1, shade(c.Good))
			s.write(c.Text, medium, draw.XCenter, left+cellWidth/2, top+cellHeight/2)
		}
	}
}

// Ends of the scale of colours. People with any colour vision can tell them apart.
var (
	goodColour = color.RGBA{0x4d, 0xbf, 0x8f, 0xff}
	badColour  = color.RGBA{0xf0, 0x8a, 0x4b, 0xff}
	evenColour = color.RGBA{0xf2, 0xf2, 0xf2, 0xff}
)

// shade is the colour of what is so good.
func shade(good float64) color.Color {
	end := goodColour
	if good < 0 {
		end = badColour
	}
	if math.IsNaN(good) {
		good = 0
	}
	part := min(math.Abs(good), 1)
	mix := func(from, to uint8) uint8 { return uint8(math.Round(float64(from) + part*(float64(to)-float64(from)))) }
	return color.RGBA{mix(evenColour.R, end.R), mix(evenColour.G, end.G), mix(evenColour.B, end.B), 0xff}
}
