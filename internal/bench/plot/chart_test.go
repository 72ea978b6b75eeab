package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

// textsOf are the texts of a picture, which must be XML without a coordinate that is no number.
func textsOf(t *testing.T, draw func(io.Writer) error) []string {
	t.Helper()
	var svg bytes.Buffer
	if err := draw(&svg); err != nil {
		t.Fatal(err)
	}
	return textsIn(t, svg.String())
}

var heatMap = Grid{Title: "two ranks", Columns: []string{"8", "1M"}, Rows: []GridRow{
	{"work once", []Cell{{"0.80", -0.5}, {"1.25", 0.5}}}, {"work <twice>", []Cell{{}, {"1.00", 0}}},
}}

func TestDrawGrids(t *testing.T) {
	got := textsOf(t, func(w io.Writer) error { return DrawGrids(w, []Grid{heatMap, {Title: "four"}, heatMap}) })
	wantTexts(t, got, "two ranks", "four", "8", "1M", "work once", "work <twice>", "0.80", "1.25", "1.00")
	textsOf(t, func(w io.Writer) error { return DrawGrids(w, nil) })
}

// What is better is greener, what is worse more orange, and what is neither, or no number, is
// white.
func TestShade(t *testing.T) {
	for _, tt := range []struct {
		good float64
		want color.Color
	}{{1, goodColour}, {7, goodColour}, {-1, badColour}, {-7, badColour}, {0, evenColour}, {math.NaN(), evenColour}} {
		if got := shade(tt.good); got != tt.want {
			t.Errorf("shade(%v) = %v, want %v", tt.good, got, tt.want)
		}
	}
	half := shade(0.5).(color.RGBA)
	if half.R >= evenColour.R || half.R <= goodColour.R {
		t.Errorf("half as good is %v", half)
	}
}

func TestDrawRanges(t *testing.T) {
	r := Ranges{Title: "gains", Worse: "slower", Better: "faster", Series: []string{"one", "two"}, Rows: []RangeRow{
		{"latency", []Point{{X: 0.5, Low: 0.4, High: 0.6}, {X: 2, Low: 1, High: 3}}},
		{"far away", []Point{{X: 1476.3, Low: 0.0001, High: 5000}, {}}},
		{"odd", []Point{{X: math.NaN()}, {X: math.Inf(1), Low: -1, High: math.NaN()}}},
		{"none", nil},
	}}
	got := textsOf(t, func(w io.Writer) error { return DrawRanges(w, r) })
	wantTexts(t, got, "gains", "slower", "faster", "one", "two", "latency", "0.5", "far away", "1.476k", "odd", "none", "10")
	r.Series = r.Series[:1]
	if got := textsOf(t, func(w io.Writer) error { return DrawRanges(w, r) }); slices.Contains(got, "one") {
		t.Errorf("a single series is named: %q", got)
	}
	textsOf(t, func(w io.Writer) error { return DrawRanges(w, Ranges{}) })
}

// 1 is in the middle, and what is beyond the axis at its ends.
func TestAlong(t *testing.T) {
	for ratio, want := range map[float64]float64{1: 0.5, 10: 1, 1000: 1, 0.1: 0, 0.001: 0} {
		if got := float64(along(ratio) / rangeWidth); math.Abs(got-want) > 1e-9 {
			t.Errorf("along(%v) is %v of the width, want %v", ratio, got, want)
		}
	}
	if up, down := along(2)-along(1), along(1)-along(0.5); up <= 0 || math.Abs(float64(up-down)) > 1e-9 {
		t.Error("twice and half are not equally far from 1")
	}
}

func TestChartsReportErrors(t *testing.T) {
	if err := DrawGrids(closed{}, []Grid{heatMap}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("grids: %v", err)
	}
	if err := DrawRanges(closed{}, Ranges{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("ranges: %v", err)
	}
}

// textsIn are the texts of an SVG.
func textsIn(t interface{ Fatal(...any) }, svg string) (found []string) {
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Fatal("a coordinate is no number: ", svg)
	}
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := token.(xml.CharData); ok && len(bytes.TrimSpace(text)) > 0 {
			found = append(found, string(text))
		}
	}
}
