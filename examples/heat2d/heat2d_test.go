package main

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/examples/internal/timing"
	"github.com/fitmpi/fitmpi/examples/internal/timing/timingtest"
	"github.com/fitmpi/fitmpi/mpi"
)

// heat runs the program on n ranks and returns what it printed.
func heat(t *testing.T, n int, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer // only rank 0 writes
	err := mpi.RunThreads(n, func(ctx context.Context, world *mpi.Comm) error {
		if world.Rank() == 0 {
			return run(ctx, world, args, &out)
		}
		return run(ctx, world, args, nil)
	})
	return out.String(), err
}

func wantOutput(t *testing.T, out string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(out, p) {
			t.Errorf("output lacks %q:\n%s", p, out)
		}
	}
}

// Results agree with serial code to the last bit for any number of ranks, also more ranks than
// rows.
func TestEqualsSerial(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 5} {
		for _, size := range []string{"1", "3", "4", "57"} {
			t.Run(fmt.Sprintf("ranks=%d/size=%s", n, size), func(t *testing.T) {
				out, err := heat(t, n, "-size", size, "-steps", "41", "-check", "-out", "")
				if err != nil {
					t.Fatal(err)
				}
				wantOutput(t, out, "every bit is that of serial code", "kept its heat")
			})
		}
	}
}

// The checksum, which -check compares with serial code above, does not depend on the number of
// ranks.
func TestChecksum(t *testing.T) {
	p := serial(letters(40), 100)
	for n := 1; n <= 5; n++ {
		out, err := heat(t, n, "-size", "40", "-steps", "100", "-out", "")
		if err != nil {
			t.Fatal(err)
		}
		wantOutput(t, out, fmt.Sprintf("checksum %08x", p.checksum()))
	}
}

// A cosine that fits between insulated edges is an eigenvector of the scheme: each step scales it
// by a known factor.
func TestKnownSolution(t *testing.T) {
	const n, steps, mode = 32, 50, 3
	p := plate{width: n, height: n, t: make([]float64, n*n)}
	wave := func(x int) float64 { return math.Cos(math.Pi * mode * (float64(x) + 0.5) / n) }
	for i := range p.t {
		p.t[i] = wave(i % n)
	}
	factor := math.Pow(1-2*conductivity*(1-math.Cos(math.Pi*mode/n)), steps)
	err := mpi.RunThreads(3, func(ctx context.Context, world *mpi.Comm) error {
		mine := p
		if world.Rank() != 0 {
			mine.t = nil
		}
		o := options{steps: steps, every: 7}
		after, _, err := simulate(ctx, world, o, mine, newProgress(&bytes.Buffer{}, o))
		for i, got := range after.t {
			if want := factor * wave(i%n); world.Rank() == 0 && math.Abs(got-want) > 1e-12 {
				return fmt.Errorf("cell %d is %v, want %v", i, got, want)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestPictures(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.png"), filepath.Join(dir, "out.png")
	writeTestPNG(t, in)
	text, err := heat(t, 2, "-in", in, "-out", out, "-steps", "0")
	if err != nil {
		t.Fatal(err)
	}
	wantOutput(t, text, "9 x 5 cells", "wrote "+out)
	f, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := img.Bounds(), image.Rect(0, 0, 9, 5); got != want {
		t.Errorf("picture is %v, want %v", got, want)
	}
	if got, want := img.At(0, 0), (color.RGBA{0, 0, 4, 255}); got != want {
		t.Errorf("black became %v, want %v", got, want)
	}
	if got, want := img.At(8, 4), (color.RGBA{255, 255, 255, 255}); got != want {
		t.Errorf("white became %v, want %v", got, want)
	}
}

// writeTestPNG writes a picture, 9 x 5, from black to white.
func writeTestPNG(t *testing.T, name string) {
	t.Helper()
	img := image.NewGray16(image.Rect(0, 0, 9, 5))
	for i := range 45 {
		img.SetGray16(i%9, i/9, color.Gray16{uint16(0xffff * i / 44)})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestWrongUse(t *testing.T) {
	notPNG := filepath.Join(t.TempDir(), "not.png")
	if err := os.WriteFile(notPNG, []byte("text"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ args, want string }{
		{"-size 0x", "-h shows the options"},
		{"-size -1", "choose 1 to"},
		{"-steps -1", "choose 0 or more"},
		{"-every -1", "choose 1 or more"},
		{"-time -1", "-time -1: choose 1 or more"},
		{"-size 3 -in a.png", "give -in or -size"},
		{"heat.png", "unexpected argument"},
		{"-in /no/such.png", "no such file"},
		{"-in " + notPNG, "reads PNG pictures only"},
		{"-size 2 -steps 1 -out /no/such/heat.png", "no such file"},
	} {
		if _, err := heat(t, 2, strings.Fields(tt.args)...); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("heat2d %s: error %v, want one with %q", tt.args, err, tt.want)
		}
	}
}

func TestHelp(t *testing.T) {
	out, err := heat(t, 2, "-h")
	if err != nil || out != usage {
		t.Errorf("-h prints %q, %v", out, err)
	}
}

// With -time a line is printed for each time and way, with the same answer on any number of ranks.
func TestTimes(t *testing.T) {
	timingtest.Check(t, "heat2d", 40, 4, timing.Both, func(ranks int) (string, error) {
		return heat(t, ranks, "-size", "40", "-steps", "30", "-time", "2")
	})
}
