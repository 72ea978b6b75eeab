//go:build linux

package main

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/internal/bench"
)

// halfRTT is a row of a ping-pong: times in us.
func halfRTT(name string, size int64, value float64) bench.Row {
	c := byName(contenders())[name]
	return bench.Row{
		Test: "pingpong", Peer: c.peer, Transport: c.transport, Policy: c.policy, Ranks: 2, Size: size, Measure: "half-rtt", Unit: "us",
		Summary: bench.Summary{N: 9, Min: value / 2, Sextile1: value, Sextile2: value * 2, Median: value * 3, P99: value * 4, Max: value * 5},
	}
}

var pingpong = figure{test: "pingpong", measure: "half-rtt"}

func TestFiguresOverRepeats(t *testing.T) {
	f := newFigures([]bench.Row{
		halfRTT("assist", 8, 5), halfRTT("openmpi", 8, 1), halfRTT("assist", 8, 3), halfRTT("assist", 8, 9), halfRTT("assist", 64, 7),
	})
	for _, tt := range []struct {
		who  string
		fig  figure
		want spread
	}{
		{"assist", pingpong.at(8), spread{5, 3, 9, 3, "us"}},
		{"assist", pingpong.at(8).take(median), spread{15, 9, 27, 3, "us"}},
		{"assist", pingpong.at(8).take(tail), spread{20, 12, 36, 3, "us"}},
		{"assist", pingpong.at(64).bandwidth(), spread{64. / 7, 64. / 7, 64. / 7, 1, "MB/s"}},
		{"worker", pingpong.at(8), spread{}},
		{"assist", pingpong.at(8).on(link1G), spread{}},
		{"assist", pingpong.at(8).among(4), spread{}},
	} {
		if got := f.of(tt.who, tt.fig); got != tt.want {
			t.Errorf("%s %+v: %+v, want %+v", tt.who, tt.fig, got, tt.want)
		}
	}
	if got := f.sizes("assist", pingpong); len(got) != 2 || got[0] != 8 || got[1] != 64 {
		t.Errorf("sizes %v, want 8 and 64", got)
	}
}

func TestOver(t *testing.T) {
	for _, tt := range []struct {
		xs   []float64
		want spread
	}{
		{nil, spread{}},
		{[]float64{4}, spread{4, 4, 4, 1, "us"}},
		{[]float64{4, 1}, spread{2.5, 1, 4, 2, "us"}},
		{[]float64{9, 1, 4}, spread{4, 1, 9, 3, "us"}},
	} {
		if got := over(tt.xs, "us"); got != tt.want {
			t.Errorf("over(%v) = %+v, want %+v", tt.xs, got, tt.want)
		}
	}
}

func TestVerdict(t *testing.T) {
	f := newFigures([]bench.Row{
		halfRTT("assist", 8, 4), halfRTT("openmpi", 8, 5), halfRTT("mpich", 8, 3), halfRTT("assist", 64, 6), halfRTT("raw-spin", 8, 2),
	})
	peer, absent := bestPeer, bestOf("openmpi-thread")
	twice := ownAt(func(f figure) figure { return f.at(64) })
	for _, tt := range []struct {
		name    string
		ours    string
		asRate  bool
		targets []target
		want    verdict
	}{
		{"at most, exactly", "assist", false, targets(atMost(4)), reached},
		{"at most", "assist", false, targets(atMost(3.9)), missed},
		{"at least", "assist", false, targets(atLeast(4)), reached},
		{"best peer is the lowest time", "assist", false, targets(timesAtMost(1, peer)), missed},
		{"times the best peer", "assist", false, targets(timesAtMost(1.4, peer)), reached},
		{"best peer is the highest rate", "assist", true, targets(timesAtLeast(1, peer)), missed},
		{"part of the best rate", "assist", true, targets(timesAtLeast(0.75, peer)), reached},
		{"our own figure", "assist", false, targets(timesAtMost(0.6, twice)), missed},
		{"plus", "assist", false, targets(target{factor: 1, ref: peer, plus: 1}), reached},
		{"all targets count", "assist", false, targets(atMost(4), atMost(1)), missed},
		{"we were not measured", "worker", false, targets(atMost(4)), unknown},
		{"the reference was not measured", "assist", false, targets(timesAtMost(1, absent)), unknown},
		{"... but another target is missed", "assist", false, targets(timesAtMost(1, absent), atMost(1)), missed},
	} {
		fig := pingpong.at(8)
		fig.asRate = tt.asRate
		if got := f.verdict(criterion{ours: tt.ours, peers: []string{"openmpi", "mpich"}, targets: tt.targets}, fig); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestRatioIsToTheBestPeerOfTheLine(t *testing.T) {
	f := newFigures([]bench.Row{halfRTT("assist", 8, 4), halfRTT("openmpi", 8, 5), halfRTT("mpich", 8, 2), halfRTT("assist", 64, 4)})
	lines := f.judge(criterion{
		fig: pingpong, sizes: []int64{8, 64}, ours: "assist", peers: []string{"openmpi", "mpich"}, targets: targets(atMost(5)),
	})
	if len(lines) != 2 || lines[0].ratio != 2 || lines[1].ratio != 0 || lines[1].verdict != reached {
		t.Errorf("judged %+v", lines)
	}
}

// What -judge prints: each target with what was measured, and how many are reached.
func TestJudgeRows(t *testing.T) {
	dir := t.TempDir()
	if err := sampleRecord().save(dir); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := judgeRows(&options{from: filepath.Join(dir, rowsFile)}, &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	reverse := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "10,000 unexpected messages, reverse tags") })
	if reverse < 0 || !strings.Contains(lines[reverse], "120") || !strings.HasSuffix(lines[reverse], "missed") {
		t.Errorf("120 ns where 100 are wanted: %s", out.String())
	}
	if last := lines[len(lines)-1]; !strings.Contains(last, " are reached, ") || strings.HasPrefix(last, "0 ") {
		t.Errorf("the count is %q", last)
	}
}

// TestDataFitsTogether: a contender that a criterion, a section or an experiment names must be
// there, and some experiment must give each figure. Otherwise the document would have a hole that
// no reader sees.
func TestDataFitsTogether(t *testing.T) {
	all := byName(contenders())
	if len(all) != len(contenders()) {
		t.Error("two contenders have one name")
	}
	names := map[string]bool{}
	for _, e := range experiments() {
		if names[e.name] {
			t.Errorf("two experiments are called %s", e.name)
		}
		names[e.name] = true
		for _, name := range e.contenders {
			if all[name] == nil {
				t.Errorf("experiment %s: no contender %s", e.name, name)
			}
		}
	}
	wantGiven := func(where, name string, fig figure) {
		t.Helper()
		for _, e := range experiments() {
			for _, c := range e.contenders {
				if c == name && e.gives(fig) {
					return
				}
			}
		}
		if all[name] == nil {
			t.Errorf("%s: no contender %q", where, name)
		} else {
			t.Errorf("%s: no experiment gives %s %s of %s", where, fig.test, fig.kase, name)
		}
	}
	for _, c := range criteria() {
		wantGiven(c.group+", "+c.measure, c.ours, c.fig)
		for _, name := range c.peers {
			if all[name] == nil {
				t.Errorf("%s, %s: no contender %s", c.group, c.measure, name)
			}
		}
	}
	for _, h := range headlines() {
		for _, fig := range h.figs {
			wantGiven(h.title, h.ours, fig)
			if h.peers[0] == "" || all[h.peers[0]] == nil {
				t.Errorf("%s: no contender %s", h.title, h.peers[0])
			}
		}
		if !slices.ContainsFunc(topics(), func(t topic) bool { return t.name == h.page }) {
			t.Errorf("%s: no page %s", h.title, h.page)
		}
	}
	if err := checkPages(); err != nil {
		t.Error(err)
	}
	files := map[string]bool{solvePicture: true, linesPicture: true}
	for _, s := range sections() {
		for _, table := range s.tables {
			for _, c := range table.columns {
				wantGiven(s.title, c.contender, table.lines()[0].at(c.fig))
			}
			if _, peers := table.compared(); table.ours != "" && len(peers) == 0 {
				t.Errorf("%s: a table compares %s with no peer", s.title, table.ours)
			}
		}
		for _, d := range s.plots {
			if files[d.file] {
				t.Errorf("two plots are called %s", d.file)
			}
			files[d.file] = true
		}
	}
}
