package mpi

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/fitmpi/fitmpi/engine"
)

// TestStrangeRevocationsAreBounded: a rank that revokes without end communicators which no rank has
// is given up, so it cannot fill the memory of another. What others revoke of their own
// communicators does not count against it, nor what this rank makes later.
func TestStrangeRevocationsAreBounded(t *testing.T) {
	judged, duplicated := make(chan struct{}), make(chan struct{})
	err := Threads{Ranks: 3, FaultTolerant: true}.Run(t.Context(), func(_ context.Context, c *Comm) error {
		c.SetErrhandler(ErrorsReturn)
		own, err := c.Dup(nil)
		if c.Rank() == 2 {
			close(duplicated)
		}
		if err != nil {
			return err
		}
		if c.Rank() == 1 {
			<-judged
			<-duplicated // rank 2 may need this one for that
			c.Die()      // else it would be dead to rank 0 alone, as no rank has a launcher's word
		}
		j := c.job
		says := append(binary.AppendUvarint([]byte{saysRevoked}, 1), 1, 1) // rank 1, of rank 1
		if c.Rank() == 0 {
			defer close(judged)
			soon := contextID(1, 500_000)
			j.hear(1, soon, says)
			if late := newComm(j, c.scope, "late", 0, c.group, soon); !late.IsRevoked() || j.faults.strange[1] != 0 {
				t.Errorf("a communicator that was made after it was revoked: revoked %v, %d count as strange", late.IsRevoked(), j.faults.strange[1])
			}
			for i := range maxStrange {
				for range 2 { // the second is no news
					j.hear(1, contextID(1, 1_000_000+i), says)
				}
			}
			j.hear(1, own.family(), says)
			if !own.IsRevoked() {
				t.Error("a communicator that this rank has is not revoked")
			}
			if err := j.engine.PeerGone(1); err != nil {
				t.Errorf("rank 1 is given up after %d: %v", maxStrange, err)
			}
			j.hear(2, contextID(1, 2_000_000), says)
			j.hear(1, contextID(1, 3_000_000), says)
			if j.faults.has(contextID(1, 3_000_000)) {
				t.Error("one too many is kept")
			}
			if n := len(j.faults.revoked); n != maxStrange+3 {
				t.Errorf("%d revocations are kept, want %d", n, maxStrange+3)
			}
			in := make([]int, 1)
			if _, err := Recv(c, in, 1, 5); !errors.Is(err, ErrProcFailed) {
				t.Errorf("a receive from the rank that was given up: %v", err)
			}
			if gone := j.engine.PeerGone(1); gone == nil || !errors.Is(gone.Cause, errTooManyRevoked) {
				t.Errorf("rank 1: %v", gone)
			}
			if gone := j.engine.PeerGone(engine.PeerID(2)); gone != nil {
				t.Errorf("rank 2: %v", gone)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
