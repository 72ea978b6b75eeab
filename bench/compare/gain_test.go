//go:build linux

package main

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/internal/bench"
)

// repeated are ping-pongs of 8 bytes by a contender, one for each time.
func repeated(name string, us ...float64) []bench.Row {
	var rows []bench.Row
	for _, x := range us {
		rows = append(rows, halfRTT(name, 8, x))
	}
	return rows
}

// A gain is above 1 where ours is better, be it a time or a rate, and its range is that of repeats
// that ran beside each other.
func TestGain(t *testing.T) {
	f := newFigures(slices.Concat(repeated("assist", 2, 4, 3), repeated("openmpi", 4, 6, 9), repeated("mpich", 8, 8, 8), repeated("worker", 2)))
	peers := []string{"openmpi", "mpich", "openmpi-thread"}
	for _, tt := range []struct {
		name, ours string
		fig        figure
		want       gain
	}{
		{"a time", "assist", pingpong.at(8), gain{2, 1.5, 3, []float64{2, 1.5, 3}, "openmpi"}},
		{"a rate", "assist", pingpong.at(8).bandwidth(), gain{2, 1.5, 3, []float64{2, 1.5, 3}, "openmpi"}},
		{"fewer repeats of ours", "worker", pingpong.at(8), gain{3, 2, 3, []float64{2}, "openmpi"}},
		{"ours was not measured", "caller", pingpong.at(8), gain{}},
		{"no peer was measured", "assist", pingpong.at(64), gain{}},
	} {
		got := f.gain(tt.ours, peers, tt.fig)
		if got.peer != tt.want.peer || !slices.EqualFunc(got.each, tt.want.each, near) || !near(got.value, tt.want.value) ||
			!near(got.low, tt.want.low) || !near(got.high, tt.want.high) {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// Nothing is so many times better than nothing.
func TestGainOfNothing(t *testing.T) {
	f := newFigures(slices.Concat(repeated("assist", 0, 0), repeated("openmpi", 4, 6)))
	if g := f.gain("assist", []string{"openmpi"}, pingpong.at(8)); g.isKnown() {
		t.Errorf("a time of 0 is %v better", g.value)
	}
}

// Twice as fast and half as fast is as fast.
func TestMeanOfGains(t *testing.T) {
	g := mean([]gain{{value: 2, each: []float64{2, 8}}, {}, {value: 0.5, each: []float64{0.5, 0.5, 7}}})
	if !near(g.value, 1) || !slices.EqualFunc(g.each, []float64{1, 2}, near) || !near(g.low, 1) || !near(g.high, 2) {
		t.Errorf("%+v", g)
	}
	if g := mean(nil); g.isKnown() {
		t.Errorf("the mean of none is %+v", g)
	}
}

func TestSide(t *testing.T) {
	for _, tt := range []struct {
		values []float64 // the gain, then the repeats
		want   side
	}{
		{[]float64{1.3, 1.2, 1.4}, faster}, {[]float64{1.3, 0.9, 1.4}, even}, {[]float64{1.04, 1.03, 1.05}, even},
		{[]float64{0.8, 0.7, 0.9}, slower}, {[]float64{0.8, 0.7, 1.1}, even}, {[]float64{1.15, 1.15}, even}, {[]float64{1.3, 1.3}, faster},
		{[]float64{0.7, 0.7}, slower}, {[]float64{0}, unknownSide},
	} {
		g := gain{value: tt.values[0], each: tt.values[1:]}.ranged()
		if got := g.side(); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.values, got, tt.want)
		}
	}
}

// Repeats that differ by more than a fifth of their median are marked.
func TestWideFiguresAreMarked(t *testing.T) {
	for _, tt := range []struct {
		xs   []float64
		want string
	}{{[]float64{10, 11, 12}, "11.0 (10.0–12.0)"}, {[]float64{10, 11, 12.3}, "≈11.0 (10.0–12.3)"}, {[]float64{10}, "10.0"}, {[]float64{-3, -1}, "≈-2.00 (-3.00 to -1.00)"}} {
		if got := over(tt.xs, "us").String(); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.xs, got, tt.want)
		}
	}
}

// Both together took 500 us where the exchange alone takes 400, and so does the computing: 300 are
// saved, three quarters of the exchange, whatever slowed the computing down.
func TestSaved(t *testing.T) {
	f := newFigures(sampleRecord().Rows)
	fig := figure{test: "overlap", kase: "exchange", size: mb, stat: median}
	if us, share := f.of("assist", fig.of(savedTime)), f.of("assist", fig.of(savedShare)); us.median != 300 || us.unit != "us" || share.median != 75 || share.unit != "%" {
		t.Errorf("saved %+v, %+v", us, share)
	}
}

// Lines in which we are slower stand first, and among them that of the largest loss.
func TestLossesStandFirst(t *testing.T) {
	rec := sampleRecord()
	rec.Rows = append(rec.Rows, slices.Concat(repeated("assist-shm", 3, 3), repeated("openmpi-shm", 1, 1))...)
	p := newPage(rec)
	lines := p.lines()
	var got []string
	for _, l := range lines {
		got = append(got, l.gains[0].side().String()+" "+l.headline.title)
	}
	want := []string{
		"slower Latency: 8 bytes, shared memory", "slower Collectives: two ranks over TCP", "even Bandwidth: ping-pong of 1 MiB, TCP",
		"faster Latency: 8 bytes, TCP", "faster Time to solution: two ranks over TCP",
	}
	if !slices.Equal(got, want) {
		t.Errorf("lines %q, want %q", got, want)
	}
	if i := slices.IndexFunc(lines, func(l line) bool { return len(l.headline.figs) > 1 && l.headline.page == "solve" }); i < 0 ||
		!strings.HasPrefix(lines[i].beside, "mean of 2: 0 slower, 1 even, 1 faster") {
		t.Errorf("time to solution is not told as a mean: %+v", lines)
	}
}

// Time to solution is compared with libraries, not with our own policy, which stands beside.
func TestTimeToSolution(t *testing.T) {
	rec := sampleRecord()
	rec.Rows = nil
	for name, us := range map[string]float64{"assist": 1200, "caller": 1000, "openmpi": 2000, "mpich": 1600, "raw-thread-block": 900} {
		c := byName(contenders())[name]
		rec.Rows = append(rec.Rows, bench.Row{Test: "solve", Peer: c.peer, Transport: c.transport, Policy: c.policy, Ranks: 2, Case: "work-1", Size: mb,
			Measure: "iteration", Unit: "us", Summary: single(us)})
	}
	p := newPage(rec)
	var b strings.Builder
	p.writeSection(&b, solveSections()[0])
	for _, want := range []string{
		"| work, bytes | FitMPI | FitMPI worker | FitMPI caller | Open MPI | Open MPI (thread) | MPICH | raw, thread polling | raw, thread blocking | gain |",
		"| once, 1M | 1200 | – | 1000 | 2000 | – | 1600 | – | 900 | 🟢 1.33 |",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no line %q in\n%s", want, b.String())
		}
	}
	maps := p.heatMaps()
	if len(maps) != 1 || len(maps[0].Rows) != 3 || maps[0].Rows[0].Cells[0].Text != "1.33" || maps[0].Rows[0].Cells[0].Good <= 0 {
		t.Errorf("heat maps %+v", maps)
	}
}
