package mpi_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// TestCounters: they are those of the calling rank, whichever communicator is asked, and can be
// read after the job.
func TestCounters(t *testing.T) {
	var kept [2]mpi.Counters
	err := mpi.RunThreads(2, func(_ context.Context, c *mpi.Comm) error {
		kept[c.Rank()] = c.Counters()
		self := c.Self().Counters()
		if self.Rank != c.Rank() {
			return fmt.Errorf("rank %d is %d to its Self", c.Rank(), self.Rank)
		}
		if err := mpi.Barrier(c); err != nil {
			return err
		}
		if n := barriers(self); n != 1 {
			return fmt.Errorf("one barrier is counted %d times", n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for r, of := range kept {
		var sent uint64
		for _, way := range of.Stats().Ways {
			for _, by := range way.Sent {
				sent += by.Messages
			}
		}
		if of.Rank != r || sent == 0 || barriers(of) != 1 {
			t.Errorf("after the job rank %d is %d, with %d messages and %d barriers",
				r, of.Rank, sent, barriers(of))
		}
	}
}

// barriers says how many Barriers are counted.
func barriers(of mpi.Counters) (n uint64) {
	for _, calls := range of.Collectives() {
		if calls.Op == "Barrier" {
			n += calls.Count
		}
	}
	return n
}

// Counters only grow: a program that wants those of a phase subtracts two readings.
func ExampleComm_Counters() {
	err := mpi.RunThreads(1, func(_ context.Context, world *mpi.Comm) error {
		counters := world.Counters()
		before := counters.Stats()
		if err := mpi.Send(world, []int{7}, 0, 0); err != nil {
			return err
		}
		if _, err := mpi.Recv(world, make([]int, 1), 0, 0); err != nil {
			return err
		}
		after := counters.Stats()
		fmt.Println("messages to itself:", after.SelfReceived.Messages-before.SelfReceived.Messages)
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: messages to itself: 1
}

// TestMetricsNotLinked: a program without package metrics, as that of these tests is, says what to
// import if it is to serve its metrics. If it is to push them it says so too, and runs.
func TestMetricsNotLinked(t *testing.T) {
	const mark = "FITMPI_TEST_UNLINKED"
	if os.Getenv(mark) != "" {
		mpi.Main(func(context.Context, *mpi.Comm) error { fmt.Println("runs"); return nil })
		os.Exit(0)
	}
	for _, test := range []struct {
		set, want string
		code      int
	}{
		{"FITMPI_METRICS=127.0.0.1:0", "metrics at 127.0.0.1:0: the program does not import", 1},
		{"FITMPI_PUSH=http://127.0.0.1:1", "FITMPI_PUSH has no effect: the program does not import", 0},
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMetricsNotLinked$")
		cmd.Env = append(os.Environ(), mark+"=1", test.set, "FITMPI_LAUNCHER=none", "GOCOVERDIR="+t.TempDir())
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		cmd.Run()
		said := stderr.String()
		if code := cmd.ProcessState.ExitCode(); code != test.code || !strings.Contains(said, test.want) || !strings.Contains(said, "github.com/fitmpi/fitmpi/metrics") {
			t.Errorf("%s: exit code %d, want %d, and it says\n%s", test.set, code, test.code, said)
		}
		if runs := strings.Contains(stdout.String(), "runs"); runs != (test.code == 0) {
			t.Errorf("%s: the program runs: %v", test.set, runs)
		}
	}
}
