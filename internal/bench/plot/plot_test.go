package plot

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"pgregory.net/rapid"
)

var example = Figure{
	Title: "pingpong", XLabel: "message size, bytes", YLabel: "time, us", LogX: true, LogY: true,
	Curves: []Curve{
		{"fitmpi assist", []Point{{1, 4.1, 4, 4.2}, {1 << 10, 4.6, 4.5, 4.8}, {1 << 20, 90, 88, 95}}},
		{"openmpi <none> & \"more\"", []Point{{1, 4.2, 0, 0}, {1 << 10, 5, 5.1, 4.9}, {1 << 20, 95, 94, 99}}},
	},
}

// texts draws figures, checks that the result is XML, and returns its texts.
func texts(t interface{ Fatal(...any) }, figures ...Figure) []string {
	var svg bytes.Buffer
	if err := DrawAll(&svg, figures); err != nil {
		t.Fatal(err)
	}
	return textsIn(t, svg.String())
}

func wantTexts(t *testing.T, got []string, want ...string) {
	t.Helper()
	all := "|" + strings.Join(got, "|") + "|"
	for _, w := range want {
		if !strings.Contains(all, "|"+w+"|") {
			t.Errorf("no text %q in %s", w, all)
		}
	}
}

func TestDraw(t *testing.T) {
	wantTexts(t, texts(t, example), "pingpong", "message size, bytes", "time, us",
		"fitmpi assist", "openmpi <none> & \"more\"", "1", "1K", "1M", "10", "100")
}

func TestDrawAll(t *testing.T) {
	second := Figure{Title: "overlap", YLabel: "per cent", Curves: []Curve{{"kept", []Point{{1, 97, 0, 0}, {2, 99, 0, 0}}}}}
	wantTexts(t, texts(t, example, second), "pingpong", "overlap", "fitmpi assist", "kept", "98")
	texts(t)
}

// A picture in a repository changes only when its figures do.
func TestSameFigureSameBytes(t *testing.T) {
	var first bytes.Buffer
	if err := Draw(&first, example); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		var again bytes.Buffer
		if err := Draw(&again, example); err != nil || !bytes.Equal(first.Bytes(), again.Bytes()) {
			t.Fatalf("drawn again it differs, or fails: %v", err)
		}
	}
}

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestDrawReportsErrors(t *testing.T) {
	if err := Draw(closed{}, example); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error %v, want %v", err, io.ErrClosedPipe)
	}
}

func TestWhatCannotBeDrawn(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	one := func(points ...Point) []Curve { return []Curve{{"curve", points}} }
	for name, f := range map[string]Figure{
		"no curve":                   {LogX: true, LogY: true},
		"no point":                   {LogX: true, LogY: true, Curves: one()},
		"zeros, logarithmic":         {LogX: true, LogY: true, Curves: one(Point{0, 0, 0, 0}, Point{0, 1, 1, 1}, Point{1, 0, 0, 1})},
		"negative, logarithmic":      {LogX: true, LogY: true, Curves: one(Point{-1, 1, 1, 1}, Point{1, -1, -1, 1})},
		"negative bar, logarithmic":  {LogX: true, LogY: true, Curves: one(Point{1, 1, -1, 2}, Point{2, 2, -2, -1})},
		"one point, logarithmic":     {LogX: true, LogY: true, Curves: one(Point{8, 5, 5, 5})},
		"one point, linear":          {Curves: one(Point{8, 5, 5, 5})},
		"all zero, linear":           {Curves: one(Point{0, 0, 0, 0}, Point{0, 0, 0, 0})},
		"no numbers":                 {Curves: one(Point{nan, 1, 1, 1}, Point{1, nan, 1, 1}, Point{1, 1, nan, inf})},
		"infinite":                   {LogY: true, Curves: one(Point{inf, 1, 1, 1}, Point{1, -inf, 1, 1}, Point{1, 1, -inf, inf})},
		"very large and very little": {LogX: true, LogY: true, Curves: one(Point{1e-300, 1e300, 0, 0}, Point{1e99, 1e-99, 1e-99, 1e99})},
		"texts of many kinds":        {Title: "a\x00b\nc\ufffe\xff", XLabel: "<&>", Curves: []Curve{{"\x1b[31m", nil}, {"", nil}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := texts(t, f)
			if len(f.Curves) == 1 {
				wantTexts(t, got, "curve")
			}
		})
	}
}

func TestAnythingIsDrawn(t *testing.T) {
	number := rapid.OneOf(rapid.Float64(), rapid.Float64Range(-10, 1e6), rapid.SampledFrom([]float64{0, math.Inf(1), math.NaN(), 1, 1024}))
	point := rapid.Custom(func(t *rapid.T) Point {
		return Point{number.Draw(t, "x"), number.Draw(t, "y"), number.Draw(t, "low"), number.Draw(t, "high")}
	})
	curve := rapid.Custom(func(t *rapid.T) Curve {
		return Curve{rapid.String().Draw(t, "name"), rapid.SliceOfN(point, 0, 5).Draw(t, "points")}
	})
	rapid.Check(t, func(t *rapid.T) {
		texts(t, Figure{
			Title: rapid.String().Draw(t, "title"), LogX: rapid.Bool().Draw(t, "logx"), LogY: rapid.Bool().Draw(t, "logy"),
			Curves: rapid.SliceOfN(curve, 0, 3).Draw(t, "curves"),
		})
	})
}

func TestDrawable(t *testing.T) {
	log := Figure{LogX: true, LogY: true}
	for _, test := range []struct {
		name     string
		in, want Point
	}{
		{"a bar", Point{1, 5, 4, 6}, Point{1, 5, 4, 6}},
		{"a bar from above", Point{1, 5, 6, 4}, Point{1, 5, 4, 6}},
		{"no bar", Point{1, 5, 0, 0}, Point{1, 5, 5, 5}},
		{"a bar from zero starts at the value", Point{1, 5, 0, 6}, Point{1, 5, 5, 6}},
		{"a bar below zero is left out", Point{1, 5, -2, -1}, Point{1, 5, 5, 5}},
	} {
		got := log.drawable([]Point{test.in})
		if len(got) != 1 || got[0] != test.want {
			t.Errorf("%s: %v became %v, want %v", test.name, test.in, got, test.want)
		}
	}
}

func TestTicks(t *testing.T) {
	for _, test := range []struct {
		name   string
		ticks  []plot.Tick
		labels string
	}{
		{"sizes", binaryTicks(0.8, 20<<20), "1 32 1K 32K 1M"},
		{"fewer sizes", binaryTicks(1, 1<<20), "1 4 16 64 256 1K 4K 16K 64K 256K 1M"},
		{"ranks", binaryTicks(1, 8), "1 2 4 8"},
		{"a wide range of times", decimalTicks(3, 20000), "10 100 1k 10k"},
		{"a narrow range of times", decimalTicks(8, 70), "10 20 50"},
		{"very wide", decimalTicks(1e-20, 1e20), "1e-20 1e-15 1e-10 1e-05 1 100k 10G 1e+15 1e+20"},
		{"linear", linearTicks{}.Ticks(0, 100000), "0 50k 100k"},
	} {
		var labels []string
		for _, tick := range test.ticks {
			if tick.Label != "" {
				labels = append(labels, tick.Label)
			}
		}
		if got := strings.Join(labels, " "); got != test.labels {
			t.Errorf("%s: %s, want %s", test.name, got, test.labels)
		}
	}
}
