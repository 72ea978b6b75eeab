//go:build linux && !fitmpi_portable

package mpi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/engine"
)

// TestFinalizeWithoutAPair: two ranks lose their connection to each other for good, and no other
// pair loses its own. All return nil. The job ends all the same, and says what was lost, whether
// the last meeting of all goes by that pair or not.
func TestFinalizeWithoutAPair(t *testing.T) {
	for _, policy := range []string{"worker", "assist", "caller"} {
		for _, job := range []struct{ ranks, a, b int }{{2, 0, 1}, {4, 0, 1}, {4, 1, 3}, {8, 0, 3}} {
			t.Run(fmt.Sprint(policy, job), func(t *testing.T) {
				t.Setenv("FITMPI_PROGRESS", policy)
				t.Setenv("FITMPI_TRANSPORT", "tcp")
				err := RunThreads(job.ranks, func(_ context.Context, c *Comm) error {
					c.SetErrhandler(ErrorsReturn)
					if err := Barrier(c); err != nil {
						return err
					}
					switch c.Rank() {
					case job.a:
						return lose(c, job.b, true)
					case job.b:
						return lose(c, job.a, false)
					}
					return nil
				})
				if !errors.Is(err, ErrProcFailed) || !strings.Contains(err.Error(), "Finalize") || !strings.Contains(err.Error(), " failed: ") {
					t.Errorf("the job ended with %v", err)
				}
			})
		}
	}
}

// lose exchanges a message with another rank, and then loses it, which cuts says the caller is to
// do. It returns nil if that is seen.
func lose(c *Comm, other int, cuts bool) error {
	if _, err := Sendrecv(c, []int{1}, other, 0, make([]int, 1), other, 0); err != nil {
		return err
	}
	if cuts {
		if _, err := Recv(c, make([]int, 1), other, 1); err != nil { // so that the other has all of ours
			return err
		}
		c.job.engine.FailPeer(engine.PeerID(other), errors.New("cut for good"))
	} else if err := Send(c, []int{1}, other, 1); err != nil {
		return err
	}
	if _, err := Recv(c, make([]int, 1), other, 2); !errors.Is(err, ErrProcFailed) {
		return fmt.Errorf("a receive from one that is lost: %w", err)
	}
	return nil
}
