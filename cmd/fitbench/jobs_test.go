//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/internal/bench"
	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/mpi"
)

// measure runs a test on thread ranks as the command line says and returns its rows.
func measure(t *testing.T, ranks int, args ...string) []bench.Row {
	t.Helper()
	rows, err := measureErr(ranks, args...)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func measureErr(ranks int, args ...string) ([]bench.Row, error) {
	opt, err := parseOptions(append(args, "-csv"), io.Discard)
	if err != nil {
		return nil, err
	}
	var csv bytes.Buffer
	err = mpi.RunThreads(ranks, func(ctx context.Context, world *mpi.Comm) error {
		return runTest(ctx, world, opt, &csv)
	})
	if err != nil {
		return nil, err
	}
	return bench.ReadCSV(&csv)
}

// wantRows checks the labels of rows, each "case size measure unit n".
func wantRows(t *testing.T, rows []bench.Row, test string, ranks int, want []string) {
	t.Helper()
	var got []string
	for _, r := range rows {
		if r.Test != test || r.Peer != "fitmpi" || r.Ranks != ranks {
			t.Errorf("row of test %q, peer %q, %d ranks: want %q, fitmpi, %d", r.Test, r.Peer, r.Ranks, test, ranks)
		}
		got = append(got, fmt.Sprintf("%s %d %s %s %d", r.Case, r.Size, r.Measure, r.Unit, r.N))
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// bothSizes runs f with two ranks and with three, of which the third only takes part.
func bothSizes(t *testing.T, f func(t *testing.T, ranks int)) {
	for _, ranks := range []int{2, 3} {
		t.Run(fmt.Sprint(ranks), func(t *testing.T) { f(t, ranks) })
	}
}

// inARow is each row of a collective's time, and the mean of the same collective in a row.
func inARow(times ...string) (all []string) {
	for _, row := range times {
		all = append(all, row, strings.Split(row, " time ")[0]+" in-a-row us 1")
	}
	return all
}

func TestCollReportsEveryCollective(t *testing.T) {
	bothSizes(t, func(t *testing.T, ranks int) {
		rows := measure(t, ranks, "coll", "-iterations", "3", "-warmup", "1", "-sizes", "8,24")
		want := inARow("barrier 0 time us 3")
		for _, c := range []string{
			"bcast", "reduce", "allreduce", "reduce-scatter", "reduce-scatter-block", "scan", "exscan", "gather", "gatherv", "scatter", "scatterv",
			"allgather", "allgatherv", "alltoall", "alltoallv",
		} {
			want = append(want, inARow(c+" 8 time us 3", c+" 24 time us 3")...)
		}
		wantRows(t, rows, "coll", ranks, want)
	})
}

func TestCollOfOneCase(t *testing.T) {
	rows := measure(t, 2, "coll", "-case", "allreduce", "-iterations", "2", "-sizes", "8")
	wantRows(t, rows, "coll", 2, inARow("allreduce 8 time us 2"))
}

// Rows name the algorithm that is forced; v forms that have no choice show none.
func TestCollShowsForcedAlgorithm(t *testing.T) {
	t.Setenv("FITMPI_COLL", "barrier=dissemination,gather=linear,allgather=bruck,reduce-scatter=ring")
	for name, want := range map[string]string{
		"barrier": "barrier by dissemination 0 time us 2", "bcast": "bcast 8 time us 2", "gatherv": "gatherv 8 time us 2",
		"gather": "gather by linear 8 time us 2", "allgatherv": "allgatherv by bruck 8 time us 2",
		"reduce-scatter-block": "reduce-scatter-block by ring 8 time us 2",
	} {
		rows := measure(t, 2, "coll", "-case", name, "-iterations", "2", "-sizes", "8")
		wantRows(t, rows, "coll", 2, inARow(want))
	}
}

// A repetition takes as long as its slowest rank.
func TestSlowestIsTheMaximumOfEachRepetition(t *testing.T) {
	var got []float64
	err := mpi.RunThreads(3, func(_ context.Context, world *mpi.Comm) error {
		e := &env{world: world, rank: world.Rank(), ranks: world.Size()}
		xs := []float64{float64(e.rank), -float64(e.rank), float64(e.rank % 2)}
		worst, err := e.slowest(xs)
		if e.rank == 0 {
			got = worst
		} else if worst != nil {
			t.Errorf("rank %d got %v, want nothing", e.rank, worst)
		}
		return err
	})
	if want := []float64{2, 0, 1}; err != nil || !slices.Equal(got, want) {
		t.Errorf("slowest: %v, %v, want %v", got, err, want)
	}
}

func TestScaleReportsFootprintAndRing(t *testing.T) {
	bothSizes(t, func(t *testing.T, ranks int) {
		rows := measure(t, ranks, "scale", "-iterations", "4", "-warmup", "1")
		wantRows(t, rows, "scale", ranks, []string{" 0 rss bytes 1", " 0 fds 1 1", " 0 init ms 1", "ring 8 per-message us 4", "ring 8 mean-per-message us 1"})
		for _, r := range rows {
			if r.Transport != "threads" {
				t.Errorf("%s over %s: want threads", r.Measure, r.Transport)
			}
			if r.Sextile1 <= 0 {
				t.Errorf("%s is %v: want more than nothing", r.Measure, r.Sextile1)
			}
		}
	})
}

func TestPenaltyReportsEveryCaseForEachSize(t *testing.T) {
	effort.Need(t, effort.Full, "all cases under all policies; the test of one case is quick")
	bothSizes(t, func(t *testing.T, ranks int) {
		for _, policy := range []string{"worker", "assist", "caller"} {
			t.Setenv("FITMPI_PROGRESS", policy)
			t.Setenv("FITMPI_TRANSPORT", map[bool]string{true: "tcp", false: "auto"}[ranks == 2])
			rows := measure(t, ranks, "penalty", "-iterations", "2", "-warmup", "1", "-sizes", "8,1K")
			var want []string
			for _, size := range []string{"8", "1024"} {
				for _, c := range penaltyCases {
					want = append(want, c+" "+size+" half-rtt us 2")
				}
			}
			wantRows(t, rows, "penalty", ranks, want)
		}
	})
}

// The share of each round adds up to what was asked for, whether or not the rounds divide it.
func TestPenaltyMeasuresAsOftenAsAsked(t *testing.T) {
	rows := measure(t, 2, "penalty", "-case", "raw", "-iterations", "47", "-warmup", "0", "-sizes", "8")
	wantRows(t, rows, "penalty", 2, []string{"raw 8 half-rtt us 47"})
}

func TestLogpReportsEveryParameter(t *testing.T) {
	t.Setenv("FITMPI_TRANSPORT", "tcp")
	bothSizes(t, func(t *testing.T, ranks int) {
		rows := measure(t, ranks, "logp", "-iterations", "2", "-warmup", "1", "-sizes", "128K,8")
		wantRows(t, rows, "logp", ranks, []string{
			" 8 os us 2", " 8 or us 2", " 8 L us 2", " 8 one-way us 2", // 128K does not fit into the kernel's buffers
			" 8 osb us 2", " 8 orb us 2", " 131072 osb us 2", " 131072 orb us 2",
			" 8 gs us 2", " 8 gr us 2", " 131072 G ns/byte 2", " 8 model us 1",
		})
	})
}

func TestJobTestsRefuse(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"coll -case nonsense", `no case "nonsense": choose one of barrier, bcast`},
		{"coll -sizes 12", "size 12: give multiples of 8"},
		{"scale -case bcast", "choose one of ring"},
		{"penalty -sizes 1", "size 1: give multiples of 8"},
		{"logp -case raw", "no cases: leave -case out"},
	} {
		if _, err := measureErr(2, strings.Fields(c.args)...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", c.args, err, c.want)
		}
	}
}
