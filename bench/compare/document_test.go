//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/internal/bench"
)

var update = flag.Bool("update", false, "rewrite testdata/BENCHMARKS.golden")

// sampleRecord has a little of everything: repeats, some that differ much, a gain and a loss, time
// to solution, overlap, a link, a failure, a sweep.
func sampleRecord() *record {
	row := func(test, kase, measure, unit string, size int64, value float64) bench.Row {
		return bench.Row{Test: test, Peer: "fitmpi", Transport: "tcp", Policy: "assist", Ranks: 2, Case: kase, Size: size,
			Measure: measure, Unit: unit, Summary: single(value)}
	}
	link := row("isend-wait", "", "wait-recv", "us", 64*kb, 1.5)
	link.Transport = "tcp-1G"
	peer := func(r bench.Row) bench.Row { r.Peer, r.Policy = "openmpi", "none"; return r }
	return &record{
		Rows: []bench.Row{
			halfRTT("assist", 8, 3.5), halfRTT("openmpi", 8, 4.25), halfRTT("mpich", 8, 3.78), halfRTT("raw-spin", 8, 3.3),
			halfRTT("assist", 8, 3.7), halfRTT("openmpi", 8, 4.5), halfRTT("mpich", 8, 3.8), halfRTT("raw-spin", 8, 3.1),
			halfRTT("assist", mb, 100), halfRTT("openmpi", mb, 95),
			row("match", "unexpected-reverse", "per-message", "ns", 10000, 120), row("match", "unexpected-inorder", "per-message", "ns", 10000, 40),
			row("pingpong", "@64K", "half-rtt", "us", 128*kb, 30), row("alloc", "send-recv", "allocs", "1", 8, 0), link,
			row("logp", "", "G", "ns/byte", mb, 0.125),
			row("solve", "work-1", "iteration", "us", mb, 1200), peer(row("solve", "work-1", "iteration", "us", mb, 2000)),
			row("solve", "work-9", "iteration", "us", mb, 9100), peer(row("solve", "work-9", "iteration", "us", mb, 9000)),
			row("overlap", "exchange", "pure", "us", mb, 400), row("overlap", "exchange", "total", "us", mb, 500),
			row("coll", "barrier", "time", "us", 0, 20), row("coll", "barrier", "time", "us", 0, 30),
			peer(row("coll", "barrier", "time", "us", 0, 10)), peer(row("coll", "barrier", "time", "us", 0, 16)),
		},
		Machine: machine{Cores: 2, CPU: "Some CPU", Kernel: "6.1.0", Go: "go1.26", Congestion: "bbr", FitCongestion: "cubic", OpenMPI: "4.1.4-3", MPICH: "4.0.2-3"},
		Date:    "2026-11-21", Repeats: 2, Bind: "none", Partial: true, Minutes: 27.4,
		Failures: []failure{{"pingpong-tcp", "worker", 1, "took more than 1m0s"}, {"match", "mpich", 1, "a | b"}},
	}
}

// pagesOf writes the pages of records to a directory and returns them by file, and where that is.
func pagesOf(t *testing.T, records ...*record) (pages map[string]string, dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := publish(records, dir, io.Discard); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "benchmarks", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages = map[string]string{}
	for _, file := range append(files, filepath.Join(dir, "BENCHMARKS.md")) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			t.Fatal(err)
		}
		pages[name] = string(text)
	}
	return pages, dir
}

// together is all pages in one text.
func together(pages map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		fmt.Fprintf(&b, "-- %s --\n%s", name, pages[name])
	}
	return b.String()
}

// With -update the golden file is written anew: look at the difference.
func TestDocument(t *testing.T) {
	pages, _ := pagesOf(t, sampleRecord())
	got, golden := together(pages), filepath.Join("testdata", "BENCHMARKS.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the pages differ from %s; run with -update and look at the difference. They are:\n%s", golden, got)
	}
}

var (
	pictureLink = regexp.MustCompile(`!\[[^\]]*\]\(([^)]*\.svg)\)`)
	pageLink    = regexp.MustCompile(`\]\(((?:benchmarks/|\.\./BENCHMARKS|[a-z]+\.)[^)]*)\)`)
)

// Every picture that a page shows is there, and every picture that is there is shown; and pages
// that a page leads to are there.
func TestPagesShowTheirPlots(t *testing.T) {
	pages, dir := pagesOf(t, sampleRecord())
	shown := map[string]bool{}
	for name, text := range pages {
		at := filepath.Dir(filepath.Join(dir, name))
		for _, m := range pictureLink.FindAllStringSubmatch(text, -1) {
			shown[filepath.Join(at, m[1])] = true
		}
		for _, m := range pageLink.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(at, m[1])); err != nil {
				t.Errorf("%s leads to %s: %v", name, m[1], err)
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "bench", "*.svg"))
	if err != nil || len(files) < 5 {
		t.Fatalf("plots %v, %v", files, err)
	}
	for _, file := range files {
		if !shown[file] {
			t.Errorf("%s is on no page", filepath.Base(file))
		}
		delete(shown, file)
	}
	for file := range shown {
		t.Errorf("%s is shown and not there", file)
	}
}

// Targets are for work on the project; no page speaks of them.
func TestPagesHaveNoTargets(t *testing.T) {
	pages, _ := pagesOf(t, sampleRecord())
	for name, text := range pages {
		for _, word := range []string{"missed", "reached", "| reach", "target"} {
			if strings.Contains(text, word) {
				t.Errorf("%s says %q", name, word)
			}
		}
	}
}

// What was saved is what was measured, so the pages can be written again from it.
func TestRecordSurvivesItsFiles(t *testing.T) {
	dir, rec := t.TempDir(), sampleRecord()
	if err := rec.save(dir); err != nil {
		t.Fatal(err)
	}
	loaded, err := load(filepath.Join(dir, rowsFile))
	if err != nil {
		t.Fatal(err)
	}
	got, _ := pagesOf(t, loaded)
	want, _ := pagesOf(t, rec)
	if !maps.Equal(got, want) {
		t.Errorf("the pages from the files are others:\n%s", together(got))
	}
}

// A further machine stands beside the first: its gains, not its figures, and whether it agrees.
func TestFurtherMachine(t *testing.T) {
	dir, first, second := t.TempDir(), sampleRecord(), sampleRecord()
	second.Rows = nil
	for _, us := range []float64{2, 2.1} {
		second.Rows = append(second.Rows, halfRTT("assist", 8, us), halfRTT("openmpi", 8, 3*us), halfRTT("assist", mb, 40*us), halfRTT("openmpi", mb, 60*us))
	}
	out := filepath.Join(dir, "elsewhere")
	if err := errors.Join(first.save(filepath.Join(dir, "bench")), second.save(out)); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it takes its own place
		if err := again(&options{from: filepath.Join(out, rowsFile), add: "xeon-8", dir: dir}, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ file, want string }{
		{"BENCHMARKS.md", "Gains of 1 further machine stand beside."},
		{"BENCHMARKS.md", "| what | gain, Some CPU, 2 cores | gain, xeon-8 | machines | FitMPI, best peer |"},
		{"BENCHMARKS.md", "| [Latency: 8 bytes, TCP](benchmarks/pairs.md) | 🟢 1.05 (1.03–1.08) | 🟢 3.00 (3.00–3.00) | faster on all, 2.85 x apart | 3.60 us, MPICH 3.79 us |"},
		{"BENCHMARKS.md", "On the same side on all machines: Latency: 8 bytes, TCP (faster).\n\nNot: Bandwidth: ping-pong of 1 MiB, TCP."},
		{"benchmarks/pairs.md", "| gain, Some CPU, 2 cores | gain, xeon-8 |"},
		{"benchmarks/machines.md", "| what | Some CPU, 2 cores | xeon-8 |"},
	} {
		text, err := os.ReadFile(filepath.Join(dir, tt.file))
		if err != nil || !strings.Contains(string(text), tt.want) {
			t.Errorf("%s has no %q: %v\n%s", tt.file, tt.want, err, text)
		}
	}
	records, err := loadAll(filepath.Join(dir, "bench", rowsFile))
	if err != nil || len(records) != 2 || records[0].title() != "Some CPU, 2 cores" || records[1].title() != "xeon-8" || len(records[1].Rows) != 8 {
		t.Errorf("%d records, %v", len(records), err)
	}
	if err := again(&options{from: filepath.Join(out, rowsFile), add: "xeon-8", dir: t.TempDir()}, io.Discard); err == nil || !strings.Contains(err.Error(), "without -add first") {
		t.Errorf("a further machine without a first one: %v", err)
	}
}

// A machine agrees if it is on the same side of the best peer.
func TestAgreement(t *testing.T) {
	of := func(values ...float64) gain { return gain{value: values[0], each: values}.ranged() }
	for _, tt := range []struct {
		gains []gain
		want  string
	}{
		{[]gain{of(2, 2), of(1.5, 1.5)}, "faster on all, 1.33 x apart"},
		{[]gain{of(0.5, 0.5), {}, of(0.8, 0.8)}, "slower on all, 1.60 x apart"},
		{[]gain{of(2, 2), of(2, 0.9)}, "differ, 1.00 x apart"},
		{[]gain{of(2, 2), {}}, ""},
	} {
		if got := agreement(tt.gains); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.gains, got, tt.want)
		}
	}
}

func TestNumber(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 0.1234: "0.123", 3.777: "3.78", 12.34: "12.3", 247123: "247123", 5.9e6: "5.90 M", 26.7e6: "26.7 M", -2.5: "-2.50",
	} {
		if got := number(x); got != want {
			t.Errorf("number(%v) = %s, want %s", x, got, want)
		}
	}
}

func TestMachine(t *testing.T) {
	for _, tt := range []struct{ available, wished, want string }{
		{"reno bbr cubic", "", "cubic"}, {"reno bbr", "", "bbr"}, {"reno bbr cubic", "system", "bbr"}, {"reno bbr cubic", "reno", "reno"},
	} {
		if got := fitCongestion("bbr", tt.available, tt.wished); got != tt.want {
			t.Errorf("of %s, wishing %q: %s, want %s", tt.available, tt.wished, got, tt.want)
		}
	}
	if got := cpuModel("processor : 0\nmodel name\t: Some CPU @ 2 GHz\nmodel name\t: other\n"); got != "Some CPU @ 2 GHz" {
		t.Errorf("model %q", got)
	}
	if got := kernelVersion("6.1.0-13-amd64\n"); got != "6.1.0" {
		t.Errorf("kernel %q", got)
	}
}
