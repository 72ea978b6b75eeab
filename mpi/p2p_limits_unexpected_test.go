package mpi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// TestUnexpectedLimit: a rank to which more messages are announced than it may keep gives the
// sender up, in words that say why and what to do, instead of taking all memory.
func TestUnexpectedLimit(t *testing.T) {
	for _, transport := range transportsHere() {
		t.Run(transport, func(t *testing.T) {
			t.Setenv("FITMPI_TRANSPORT", transport)
			t.Setenv("FITMPI_UNEXPECTED", "1M")
			t.Setenv("FITMPI_WINDOW", "1M")
			t.Setenv("FITMPI_ERRHANDLER", "return")
			var seen error
			err := RunThreads(2, func(_ context.Context, world *Comm) error {
				if world.Rank() == 1 {
					rs := make([]*Request, 6000) // the credit is good for some 2,000, the limit for some 1,600
					for i := range rs {
						rs[i] = Isend(world, []byte{1, 2, 3}, 0, 1)
					}
					_, err := WaitAll(rs...)
					return fmt.Errorf("the sender: %w", err)
				}
				var b [3]byte
				_, seen = Recv(world, b[:], 1, 2) // which never comes
				return seen
			})
			if err == nil || !errors.Is(seen, ErrProcFailed) || !strings.Contains(seen.Error(), "FITMPI_UNEXPECTED") || !strings.Contains(seen.Error(), "no receive has asked for") {
				t.Errorf("the receiver says: %v", seen)
			}
		})
	}
}

// TestParkedSends: blocking sends beyond what a receiver keeps wait for it, so that a flood does
// not reach the limit.
func TestParkedSends(t *testing.T) {
	t.Setenv("FITMPI_UNEXPECTED", "1M")
	t.Setenv("FITMPI_WINDOW", "1M")
	const n = 10_000
	err := RunThreads(2, func(_ context.Context, world *Comm) error {
		var v [1]int64
		for i := range n {
			if world.Rank() == 1 {
				if err := Send(world, []int64{int64(i)}, 0, 1); err != nil {
					return err
				}
				continue
			}
			for i == 0 && world.job.engine.Stats().EventQueue < 2000 { // until credit is used up
			}
			if _, err := Recv(world, v[:], 1, 1); err != nil || v[0] != int64(i) {
				return fmt.Errorf("message %d is %d: %w", i, v[0], err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestDeepAtFirst: ten thousand short messages can be sent, by blocking sends, to a rank with which
// nothing was exchanged before, and which receives none until its own are sent.
func TestDeepAtFirst(t *testing.T) {
	effort.Need(t, effort.Usual, "it sends messages by the thousand")
	const n, ranks = 10_000, 8
	for _, policy := range []string{"assist", "worker", "caller"} {
		for _, transport := range transportsHere() {
			t.Run(policy+"/"+transport, func(t *testing.T) {
				t.Setenv("FITMPI_PROGRESS", policy)
				t.Setenv("FITMPI_TRANSPORT", transport)
				err := RunThreads(ranks, func(_ context.Context, world *Comm) error {
					right, left := (world.Rank()+1)%ranks, (world.Rank()+ranks-1)%ranks
					for i := range n {
						if err := Send(world, []int64{int64(i)}, right, 1); err != nil {
							return err
						}
					}
					var v [1]int64
					for i := range n {
						if _, err := Recv(world, v[:], left, 1); err != nil || v[0] != int64(i) {
							return fmt.Errorf("message %d is %d: %w", i, v[0], err)
						}
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
}
