//go:build linux

package main

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/internal/bench"
)

var update = flag.Bool("update", false, "rewrite testdata/BENCHMARKS.golden")

// sampleRecord has a little of everything: repeats, a reached and a missed target, a
// link, a failure, a sweep.
func sampleRecord() *record {
	row := func(test, kase, measure, unit string, size int64, value float64) bench.Row {
		return bench.Row{Test: test, Peer: "fitmpi", Transport: "tcp", Policy: "assist", Ranks: 2, Case: kase, Size: size,
			Measure: measure, Unit: unit, Summary: single(value)}
	}
	link := row("isend-wait", "", "wait-recv", "us", 64*kb, 1.5)
	link.Transport = "tcp-1G"
	return &record{
		Rows: []bench.Row{
			halfRTT("assist", 8, 3.5), halfRTT("openmpi", 8, 4.25), halfRTT("mpich", 8, 3.78), halfRTT("raw-spin", 8, 3.3),
			halfRTT("assist", 8, 3.7), halfRTT("openmpi", 8, 4.5), halfRTT("mpich", 8, 3.8), halfRTT("raw-spin", 8, 3.1),
			halfRTT("assist", mb, 100), halfRTT("openmpi", mb, 95),
			row("match", "unexpected-reverse", "per-message", "ns", 10000, 120), row("match", "unexpected-inorder", "per-message", "ns", 10000, 40),
			row("pingpong", "@64K", "half-rtt", "us", 128*kb, 30), row("alloc", "send-recv", "allocs", "1", 8, 0), link,
			row("logp", "", "G", "ns/byte", mb, 0.125),
		},
		Machine: machine{Cores: 2, CPU: "Some CPU", Kernel: "6.1.0", Go: "go1.26", Congestion: "bbr", FitCongestion: "cubic", OpenMPI: "4.1.4-3", MPICH: "4.0.2-3"},
		Date:    "2026-11-21", Repeats: 2, Bind: "none", Partial: true, Minutes: 27.4,
		Failures: []failure{{"pingpong-tcp", "worker", 1, "took more than 1m0s"}, {"match", "mpich", 1, "a | b"}},
	}
}

// With -update the golden file is written anew: look at the difference.
func TestDocument(t *testing.T) {
	dir := t.TempDir()
	rec := sampleRecord()
	if err := publish(rec, dir, io.Discard); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "BENCHMARKS.md"))
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "BENCHMARKS.golden")
	if *update {
		if err := os.WriteFile(golden, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("the document differs from %s; run with -update and look at the difference. It is:\n%s", golden, got)
	}
}

// Every picture that the document shows is there, and every picture that is there is shown.
func TestDocumentShowsItsPlots(t *testing.T) {
	dir := t.TempDir()
	if err := publish(sampleRecord(), dir, io.Discard); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "BENCHMARKS.md"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "bench", "*.svg"))
	if err != nil || len(files) == 0 {
		t.Fatalf("plots %v, %v", files, err)
	}
	for _, file := range files {
		if !strings.Contains(string(text), "](bench/"+filepath.Base(file)+")") {
			t.Errorf("%s is not in the document", filepath.Base(file))
		}
	}
	if n := strings.Count(string(text), "!["); n != len(files) {
		t.Errorf("the document shows %d plots, there are %d", n, len(files))
	}
}

// What was saved is what was measured, so the document can be written again from it.
func TestRecordSurvivesItsFiles(t *testing.T) {
	dir, rec := t.TempDir(), sampleRecord()
	if err := rec.save(dir); err != nil {
		t.Fatal(err)
	}
	loaded, err := load(filepath.Join(dir, rowsFile))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := newPage(loaded).document(loaded), newPage(rec).document(rec); got != want {
		t.Errorf("the document from the files is another one:\n%s", got)
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
