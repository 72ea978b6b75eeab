package mpi_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// TestWinErrhandler: a window's own error handler gets the errors of operations on it, and what it
// returns is what they return (MPI 4.1, section 9.3.2).
func TestWinErrhandler(t *testing.T) {
	own := errors.New("the handler's own")
	err := mpi.RunThreads(1, func(_ context.Context, c *mpi.Comm) error {
		w, err := mpi.WinCreate(c, make([]int64, 4), nil)
		if err != nil {
			return err
		}
		var got *mpi.Error
		var h mpi.WinErrhandler = func(in *mpi.Win, err *mpi.Error) error {
			if got = err; in != w {
				return errors.New("another window")
			}
			return own
		}
		before := w.Errhandler()
		w.SetErrhandler(h)
		if err := mpi.Put(w, []int64{1}, 7, 0); err != own || got == nil || got.Class != mpi.ErrRank {
			return fmt.Errorf("a rank that is not there: %v; the handler got %v", err, got)
		}
		if err := w.Errhandler()(w, got); err != own {
			return fmt.Errorf("the handler that is set says %v", err)
		}
		w.SetErrhandler(before)
		return w.Free()
	})
	if err != nil {
		t.Fatal(err)
	}
}
