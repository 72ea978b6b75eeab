//go:build linux && !fitmpi_portable

package mpi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// threadsOfProcess is the number of threads that the process has now.
func threadsOfProcess(t testing.TB) (n int) {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "\nThreads:")
	if _, err := fmt.Sscan(rest, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestManyBlockedReceivers: a goroutine that waits for a message holds no thread, however many
// there are. (The Go runtime ends a program that needs more than 10,000 threads.)
func TestManyBlockedReceivers(t *testing.T) {
	effort.Need(t, effort.Usual, "tens of thousands of goroutines wait")
	for policy, n := range map[string]int{"worker": 20_000, "assist": 12_000, "caller": 20_000} {
		t.Run(policy, func(t *testing.T) {
			t.Setenv("FITMPI_PROGRESS", policy)
			blockMany(t, n)
		})
	}
}

func blockMany(t *testing.T, n int) {
	before := threadsOfProcess(t)
	err := RunThreads(2, func(_ context.Context, world *Comm) error {
		if world.Rank() == 1 {
			return answerMany(world, n)
		}
		var wg sync.WaitGroup
		errs := make([]error, n)
		for i := range n {
			wg.Go(func() { errs[i] = recvNumber(world, i) })
		}
		for world.job.engine.Stats().Posted < n {
			time.Sleep(time.Millisecond) // the sender waits for them, not for a time
		}
		if err := Send(world, []int64{0}, 1, n); err != nil {
			return err
		}
		wg.Wait()
		return errors.Join(errs...)
	})
	if err != nil {
		t.Fatal(err)
	}
	if after := threadsOfProcess(t); after > before+50 { // threads never go away again
		t.Errorf("%d receivers that waited took %d threads", n, after-before)
	}
}

// recvNumber receives i with tag i.
func recvNumber(world *Comm, i int) error {
	var v [1]int64
	if _, err := Recv(world, v[:], 1, i); err != nil {
		return err
	}
	if v[0] != int64(i) {
		return fmt.Errorf("receive %d got %d", i, v[0])
	}
	return nil
}

// answerMany sends what blockMany's receivers wait for, once they all do.

func answerMany(world *Comm, n int) error {
	var v [1]int64
	if _, err := Recv(world, v[:], 0, n); err != nil {
		return err
	}
	for i := range n {
		if err := Send(world, []int64{int64(i)}, 0, i); err != nil {
			return err
		}
	}
	return nil
}
