package mpi_test

import (
	"context"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// Memory that is attached in pieces which lie side by side is used as one: an operation may reach
// over them, and no further.
func TestAttachSideBySide(t *testing.T) {
	err := mpi.RunThreads(2, func(_ context.Context, c *mpi.Comm) error {
		c.SetErrhandler(mpi.ErrorsReturn)
		w, err := mpi.WinCreateDynamic(c, nil)
		if err != nil {
			return err
		}
		w.SetErrhandler(mpi.ErrorsReturn)
		mem := make([]int32, 30)
		at := []int{0}
		for i := range 3 { // the last first: the order does not matter
			part := mem[20-10*i : 30-10*i]
			if at[0], err = mpi.WinAttach(w, part); err != nil {
				return err
			}
		}
		there := []int{0}
		if _, err := mpi.Sendrecv(c, at, 1-c.Rank(), 0, there, 1-c.Rank(), 0); err != nil {
			return err
		}
		if err := w.LockAll(0); err != nil {
			return err
		}
		values := make([]int32, 30)
		for i := range values {
			values[i] = int32(i + 1)
		}
		got := make([]int32, 30)
		if err := mpi.Put(w, values, 1-c.Rank(), there[0]); err != nil {
			return err
		}
		if err := w.FlushAll(); err != nil {
			return err
		}
		if err := mpi.Get(w, got, 1-c.Rank(), there[0]); err != nil {
			return err
		}
		if err := w.FlushAll(); err != nil {
			return err
		}
		if got[0] != 1 || got[9] != 10 || got[29] != 30 {
			t.Errorf("rank %d: %v", c.Rank(), got)
		}
		if err := mpi.Barrier(c); err != nil {
			return err
		}
		mpi.Put(w, values, 1-c.Rank(), there[0]+4)
		if err := w.FlushAll(); err == nil {
			t.Errorf("rank %d: a put beyond what is attached", c.Rank())
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
