//go:build linux

package main

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/internal/bench"
)

// What the foreign benchmarks write, in their forms: the figures are invented.
func TestParseForeign(t *testing.T) {
	all := byName(contenders())
	for _, tt := range []struct {
		contender, out string
		want           bench.Row // of 65536 bytes
	}{
		{"osu-latency-openmpi", "# OSU MPI Latency Test v5.3\n# Size          Latency (us)\n0                       1.00\n8                       5.25\n65536                  22.50\n",
			bench.Row{Test: "pingpong", Peer: "openmpi", Transport: "tcp", Policy: "osu", Ranks: 2, Size: 65536, Measure: "half-rtt", Unit: "us", Summary: single(22.5)}},
		{"osu-bw-mpich", "# Size      Bandwidth (MB/s)\n8                       1.25\n65536                2500.00\n",
			bench.Row{Test: "bw", Peer: "mpich", Transport: "tcp", Policy: "osu", Ranks: 2, Size: 65536, Measure: "bandwidth", Unit: "MB/s", Summary: single(2500)}},
		{"osu-allreduce-mpich", "# Size       Avg Latency(us)\n8   3.00\n65536                 81.25\n",
			bench.Row{Test: "coll", Case: "allreduce", Peer: "mpich", Transport: "tcp", Policy: "osu", Ranks: 2, Size: 65536, Measure: "time", Unit: "us", Summary: single(81.25)}},
		{"imb-pingpong-openmpi", "#---\n# Benchmarking PingPong \n# #processes = 2\n#---\n       #bytes #repetitions      t[usec]   Mbytes/sec\n            8         1000         1.00         0.00\n        65536          640        21.75      3010.00\n",
			bench.Row{Test: "pingpong", Peer: "openmpi", Transport: "tcp", Policy: "imb", Ranks: 2, Size: 65536, Measure: "half-rtt", Unit: "us", Summary: single(21.75)}},
		{"imb-allreduce-openmpi", "#bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n 8 1000 1 2 3\n 65536 640 30.5 60.25 45.5\n",
			bench.Row{Test: "coll", Case: "allreduce", Peer: "openmpi", Transport: "tcp", Policy: "imb", Ranks: 2, Size: 65536, Measure: "time", Unit: "us", Summary: single(60.25)}},
		{"netpipe-mpich", "0: this host\n       8 0.50   0.00000500\n   65536 20000.000000   0.00002625\n",
			bench.Row{Test: "pingpong", Peer: "mpich", Transport: "tcp", Policy: "netpipe", Ranks: 2, Size: 65536, Measure: "half-rtt", Unit: "us", Summary: single(26.25)}},
	} {
		rows, err := all[tt.contender].output(tt.out)
		if err != nil || len(rows) != 2 || !slices.ContainsFunc(rows, func(r bench.Row) bool { return nearRow(r, tt.want) }) {
			t.Errorf("%s: rows %+v, %v; want %+v", tt.contender, rows, err, tt.want)
		}
	}
}

// nearRow reports whether rows are equal but for rounding.
func nearRow(got, want bench.Row) bool {
	isNear := got.N == want.N
	a, b := got.Summary, want.Summary
	for _, d := range []float64{a.Min - b.Min, a.Sextile1 - b.Sextile1, a.Sextile2 - b.Sextile2, a.Median - b.Median, a.P99 - b.P99, a.Max - b.Max} {
		isNear = isNear && math.Abs(d) < 1e-9
	}
	got.Summary = want.Summary
	return isNear && got == want
}

// Without programs of OSU's and Intel's their experiments are left out, and that is said.
func TestWithoutSuites(t *testing.T) {
	dir := t.TempDir()
	for _, peer := range []string{"openmpi", "mpich"} {
		if err := os.Mkdir(filepath.Join(dir, peer), 0o777); err != nil {
			t.Fatal(err)
		}
		for _, program := range map[string][]string{"openmpi": {"osu_latency", "osu_bw"}, "mpich": {"osu_latency", "IMB-MPI1"}}[peer] {
			if err := os.WriteFile(filepath.Join(dir, peer, program), nil, 0o777); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tt := range []struct {
		suites string
		want   int // of OSU's and Intel's
	}{{"", 0}, {"/no/such", 0}, {dir, 1}} {
		var log strings.Builder
		kept := withoutSuites(checkExperiments(), &options{suites: tt.suites}, &log)
		if len(kept) != 4+tt.want || strings.Count(log.String(), "\n") != 5-tt.want || !strings.Contains(log.String(), "left out check-osu-bw: it needs -suites DIR with osu_bw in ") {
			t.Errorf("-suites %q: %d kept; said\n%s", tt.suites, len(kept), log.String())
		}
	}
}

// Beside what a foreign benchmark found stands how many times ours that is.
func TestCheckRatios(t *testing.T) {
	row := func(contender string, size int64, x float64) bench.Row {
		c := byName(contenders())[contender]
		return bench.Row{Test: "pingpong", Peer: c.peer, Transport: c.transport, Policy: c.policy, Ranks: 2, Case: checkMark, Size: size,
			Measure: "half-rtt", Unit: "us", Summary: single(x)}
	}
	pages, _ := pagesOf(t, &record{Rows: []bench.Row{
		row("openmpi", kb, 10), row("netpipe-openmpi", kb, 12.5), row("osu-latency-openmpi", kb, 9), row("mpich", kb, 20), row("netpipe-mpich", 64*kb, 30),
	}})
	text := pages["benchmarks/machines.md"]
	for _, want := range []string{
		"Half a round trip of Open MPI, us.", "| bytes | ours | NetPIPE | ratio | OSU | ratio | IMB | ratio |",
		"| 1K | 10.0 | 12.5 | 1.25 | 9.00 | 0.90 | – |  |", "| 1K | 20.0 | – |  | – |  | – |  |", "| 64K | – | 30.0 |  | – |  | – |  |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
}
