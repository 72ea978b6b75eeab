package mpi

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
)

// TestPreadyBesideWait: goroutines make partitions ready while another waits, and all hear of it
// when the receiver dies: the race detector looks on.
func TestPreadyBesideWait(t *testing.T) {
	err := Threads{Ranks: 2, FaultTolerant: true}.Run(t.Context(), func(_ context.Context, c *Comm) error {
		c.SetErrhandler(ErrorsReturn)
		if c.Rank() == 1 {
			c.Die()
		}
		const parts = 3
		r := PsendInit(c, make([]int, parts), parts, 1, 0)
		if err := r.Start(); err != nil {
			return err
		}
		var others sync.WaitGroup
		for i := range parts - 1 {
			others.Go(func() {
				for c.job.engine.PeerGone(1) == nil {
					runtime.Gosched()
				}
				if err := r.Pready(i); !errors.Is(err, ErrProcFailed) && !errors.Is(err, ErrRequest) {
					t.Errorf("Pready of partition %d, of a round that has failed: %v", i, err)
				}
			})
		}
		_, err := r.Wait()
		others.Wait()
		if !errors.Is(err, ErrProcFailed) {
			return fmt.Errorf("Wait: %w", err)
		}
		if err := r.Pready(parts - 1); !errors.Is(err, ErrRequest) {
			return fmt.Errorf("Pready after the round: %w", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
