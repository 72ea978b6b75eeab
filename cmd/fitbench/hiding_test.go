//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/bench"
	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// runRows is the whole program on thread ranks, with what it does before the job starts.
func runRows(t *testing.T, policy string, args ...string) ([]bench.Row, error) {
	t.Helper()
	t.Setenv("FITMPI_PROGRESS", "") // run sets both; the next test finds them as they were
	t.Setenv("FITMPI_TRANSPORT", "")
	var csv bytes.Buffer
	if err := run(append(args, "-csv", "-policy", policy), &csv, io.Discard); err != nil {
		return nil, err
	}
	return bench.ReadCSV(&csv)
}

// wantRun checks the labels of the rows that the program writes under every policy.
func wantRun(t *testing.T, ranks int, want []string, args ...string) {
	t.Helper()
	for _, policy := range []string{"worker", "assist", "caller"} {
		t.Run(policy, func(t *testing.T) {
			rows, err := runRows(t, policy, append(args, "-ranks", fmt.Sprint(ranks))...)
			if err != nil {
				t.Fatal(err)
			}
			wantRows(t, rows, args[0], ranks, want)
			for _, r := range rows {
				if r.Policy != policy {
					t.Errorf("row of policy %q, want %q", r.Policy, policy)
				}
			}
		})
	}
}

func TestSendReportsEveryCase(t *testing.T) {
	want := []string{
		"late-receiver 10 send us 2", "late-sender 10 recv us 2", "arrived 10 recv us 2",
		"sender-computes 10 recv us 2", "undisturbed 10 recv us 2",
	}
	for _, row := range want {
		want = append(want, strings.Replace(row, " 10 ", " 131072 ", 1))
	}
	bothSizes(t, func(t *testing.T, ranks int) {
		wantRun(t, ranks, want, "send", "-iterations", "2", "-warmup", "1", "-late", "2ms", "-sizes", "10,128K")
	})
}

func TestSendOfOneCase(t *testing.T) {
	wantRun(t, 2, []string{"arrived 8 recv us 10"}, "send", "-case", "arrived", "-late", "0s", "-sizes", "8")
}

func TestIsendWaitReportsBothRanks(t *testing.T) {
	var want []string
	for _, size := range []int{10, 128 << 10} {
		for _, m := range []string{"isend us", "wait-send us", "kept-send %", "irecv us", "wait-recv us", "kept-recv %"} {
			want = append(want, fmt.Sprintf(" %d %s 2", size, m))
		}
	}
	bothSizes(t, func(t *testing.T, ranks int) {
		wantRun(t, ranks, want, "isend-wait", "-iterations", "2", "-warmup", "0", "-sizes", "10,128K")
	})
}

func TestPartitionedReportsBothWays(t *testing.T) {
	var want []string
	for _, size := range []int{0, 24, 128 << 10} {
		want = append(want, fmt.Sprintf("partitions %d time us 2", size), fmt.Sprintf("one-send %d time us 2", size), fmt.Sprintf(" %d ratio 1 2", size))
	}
	bothSizes(t, func(t *testing.T, ranks int) {
		wantRun(t, ranks, want, "partitioned", "-iterations", "2", "-warmup", "1", "-sizes", "0,24,128K", "-partitions", "8", "-goroutines", "3")
	})
	_, err := runRows(t, "assist", "partitioned", "-sizes", "10", "-partitions", "4")
	if want := "size 10 is not 4 partitions"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q in it", err, want)
	}
}

// Both ways compute, and for so long that a message of 8 bytes does not matter beside it. The bound
// is far below what was asked for: the pace of computing is measured beside other tests.
func TestPartitionedComputesAsLongAsToldTo(t *testing.T) {
	rows, err := runRows(t, "assist", "partitioned", "-iterations", "2", "-warmup", "0", "-sizes", "8", "-partitions", "8", "-goroutines", "2", "-compute", "16ms")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows[:2] {
		if r.Min < 2e3 { // microseconds
			t.Errorf("%s took %v us: each goroutine computes 16 ms", r.Case, r.Min)
		}
	}
}

func TestOverlapReportsEveryCollective(t *testing.T) {
	effort.Need(t, effort.Full, "all collectives under all policies; the test of one case is quick")
	var want []string
	add := func(name string, sizes ...int) {
		for _, size := range sizes {
			for _, m := range []string{"pure us", "total us", "overlap %"} {
				want = append(want, fmt.Sprintf("%s %d %s 2", name, size, m))
			}
		}
	}
	add("exchange", 24, 96<<10)
	add("ibarrier", 0)
	for _, name := range []string{
		"ibcast", "ireduce", "iallreduce", "iscan", "iexscan", "igather", "igatherv", "iscatter", "iscatterv",
		"iallgather", "iallgatherv", "ialltoall", "ialltoallv",
	} {
		add(name, 24, 96<<10)
	}
	bothSizes(t, func(t *testing.T, ranks int) {
		wantRun(t, ranks, want, "overlap", "-iterations", "2", "-warmup", "0", "-sizes", "24,96K")
	})
}

func TestOverlapOfOneCase(t *testing.T) {
	want := []string{"iallreduce 8 pure us 30", "iallreduce 8 total us 30", "iallreduce 8 overlap % 30"}
	wantRun(t, 2, want, "overlap", "-case", "iallreduce", "-sizes", "8")
}

func TestOverlapIsAPercentage(t *testing.T) {
	rows, err := runRows(t, "assist", "overlap", "-case", "exchange", "-iterations", "5", "-sizes", "1K")
	if err != nil {
		t.Fatal(err)
	}
	r := rows[len(rows)-1]
	if r.Measure != "overlap" || r.Max < 0 || r.Min > 100 || r.Max > r.Min {
		t.Errorf("%s from %v to %v, want overlap between 0 and 100, the best first", r.Measure, r.Max, r.Min)
	}
}

// oneBuffer is the transport for tests that receive a whole window into one buffer, as
// METHOD says and the peers do: between threads two may copy into it at once, which
// the race detector does not like.
const oneBuffer = "tcp"

func TestSlowdownReportsEveryCase(t *testing.T) {
	effort.Need(t, effort.Full, "it computes for seconds; the test of one case is quicker")
	wantRun(t, 2, []string{
		"compute 0 alone ms 2", "compute 0 idle ms 2", "compute 1048576 moving ms 2",
		"memory 0 alone ms 2", "memory 0 idle ms 2", "memory 1048576 moving ms 2",
		" 0 idle-cpu % 1",
	}, "slowdown", "-iterations", "2", "-warmup", "1", "-transport", oneBuffer)
}

func TestSlowdownOfOneCase(t *testing.T) {
	wantRun(t, 3, []string{"compute 0 alone ms 2", "compute 0 idle ms 2", "compute 1048576 moving ms 2"},
		"slowdown", "-case", "compute", "-iterations", "2", "-warmup", "0", "-transport", oneBuffer)
}

func TestWakeupReportsPercentiles(t *testing.T) {
	effort.Need(t, effort.Full, "it computes all the time")
	bothSizes(t, func(t *testing.T, ranks int) {
		wantRun(t, ranks, []string{" 8 p50 us 2", " 8 p90 us 2", " 8 p99 us 2"}, "wakeup", "-iterations", "2", "-warmup", "0")
	})
}

func TestHidingRefusesUnknownCases(t *testing.T) {
	for _, c := range hidingTests() {
		_, err := runRows(t, "assist", c.name, "-case", "nonsense")
		if err == nil || !strings.Contains(err.Error(), "case") {
			t.Errorf("%s -case nonsense: %v, want an error about the case", c.name, err)
		}
	}
}

// TestChainIsProportional: the steps are done, none is left out, and a chain goes on
// where it was.
func TestChainIsProportional(t *testing.T) {
	var whole, parts chain
	whole.run(1000)
	for range 10 {
		parts.run(100)
	}
	if whole.x == 0 || whole.x != parts.x {
		t.Errorf("1000 steps lead to %v, ten times 100 to %v", whole.x, parts.x)
	}
	if pace() <= 0 || pace() > 100 {
		t.Errorf("%v steps in a nanosecond", pace())
	}
	if spent := whole.spend(time.Millisecond); spent <= 0 {
		t.Errorf("a millisecond's work took %v", spent)
	}
}

func TestWalkReadsEveryLine(t *testing.T) {
	w := newWalk()
	w.run()
	lines := uint64(len(w.words)) / lineWords
	if want := lineWords * (lines * (lines - 1) / 2); w.sum != want {
		t.Errorf("sum of the first words of all lines is %d, want %d", w.sum, want)
	}
}

// TestMachineTime runs side by side with now, which is the same clock from another start.
func TestMachineTime(t *testing.T) {
	var apart []int64
	for range 10 {
		m, err := machineTime()
		if err != nil {
			t.Fatal(err)
		}
		apart = append(apart, m-now())
	}
	if d := slices.Max(apart) - slices.Min(apart); d > int64(time.Minute) {
		t.Errorf("the clocks are %v apart from one moment to the next", time.Duration(d))
	}
}
