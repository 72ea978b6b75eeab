package mpi_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

// Nothing allocates on the path of a message, once pools have filled.

// allocations runs round on two thread ranks, first to warm up, then counted, and returns the
// allocations of the whole process per round.
func allocations(t *testing.T, rounds int, program func(c *mpi.Comm) (round func() error)) float64 {
	t.Helper()
	return leastAllocations(t, 1, rounds, program)
}

// leastAllocations is allocations of the batch of rounds that has the fewest. On a busy machine
// some rounds take another way than the rest, and more objects, as what they wait for is late.
func leastAllocations(t *testing.T, batches, rounds int, program func(c *mpi.Comm) (round func() error)) float64 {
	t.Helper()
	defer mpi.SetThreadsPause(time.Hour)() // the watch for deadlocks allocates, some dozens of objects a second
	least := uint64(math.MaxUint64)
	err := mpi.RunThreads(2, func(_ context.Context, c *mpi.Comm) error {
		round := program(c)
		some := func() error {
			for range rounds {
				if err := round(); err != nil {
					return err
				}
			}
			return mpi.Barrier(c)
		}
		for batch := range batches + 1 {
			var before, after runtime.MemStats
			if c.Rank() == 0 && batch == 1 {
				runtime.GC() // none within
			}
			if c.Rank() == 0 {
				runtime.ReadMemStats(&before)
			}
			if err := mpi.Barrier(c); err != nil {
				return err
			}
			if err := some(); err != nil {
				return err
			}
			if c.Rank() == 0 && batch > 0 {
				runtime.ReadMemStats(&after)
				least = min(least, after.Mallocs-before.Mallocs)
			}
		}
		return mpi.Barrier(c)
	})
	if err != nil {
		t.Fatal(err)
	}
	return float64(least) / float64(rounds)
}

func eachAllocation(t *testing.T, program func(c *mpi.Comm, n int) (round func() error)) {
	eachAllocationOf(t, []int{1, 128, 8 << 10, 128 << 10}, program)
}

func eachAllocationOf(t *testing.T, elements []int, program func(c *mpi.Comm, n int) (round func() error)) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, policy := range []string{"worker", "assist"} {
		for _, n := range elements {
			t.Run(fmt.Sprintf("%s/%dB", policy, 8*n), func(t *testing.T) {
				t.Setenv("FITMPI_PROGRESS", policy)
				rounds := map[bool]int{true: 1000, false: 300}[n < 1000] // on a busy machine some 150 objects are others'
				perMessage := allocations(t, rounds, func(c *mpi.Comm) func() error { return program(c, n) }) / 2
				t.Logf("%.3f allocations per message", perMessage)
				if perMessage >= 0.5 {
					t.Errorf("%.2f allocations per message, want 0", perMessage)
				}
			})
		}
	}
}

// TestAllocsSendrecv: a Sendrecv of short messages needs no request.
func TestAllocsSendrecv(t *testing.T) {
	eachAllocationOf(t, []int{1, 128}, func(c *mpi.Comm, n int) func() error {
		out, in, other := make([]float64, n), make([]float64, n), 1-c.Rank()
		return func() error {
			_, err := mpi.Sendrecv(c, out, other, 1, in, other, 1)
			return err
		}
	})
}

func TestAllocsSendRecv(t *testing.T) {
	eachAllocation(t, func(c *mpi.Comm, n int) func() error {
		buf, other := make([]float64, n), 1-c.Rank()
		return func() error { // there and back: two messages
			if c.Rank() == 0 {
				if err := mpi.Send(c, buf, other, 1); err != nil {
					return err
				}
			}
			if _, err := mpi.Recv(c, buf, other, 1); err != nil {
				return err
			}
			if c.Rank() == 1 {
				return mpi.Send(c, buf, other, 1)
			}
			return nil
		}
	})
}

func TestAllocsPersistent(t *testing.T) {
	eachAllocation(t, func(c *mpi.Comm, n int) func() error {
		in, out, other := make([]float64, n), make([]float64, n), 1-c.Rank()
		r, s := mpi.RecvInit(c, in, other, 1), mpi.SendInit(c, out, other, 1)
		return func() error { // both ways at once: two messages
			if err := r.Start(); err != nil {
				return err
			}
			if err := s.Start(); err != nil {
				return err
			}
			if _, err := s.Wait(); err != nil {
				return err
			}
			_, err := r.Wait()
			return err
		}
	})
}
