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

// TestWinFirstErrhandler: a window does not inherit: it begins with the error handler that the job
// begins with, whatever its communicator has by then (MPI 4.1, section 9.3).
func TestWinFirstErrhandler(t *testing.T) {
	for _, tc := range []struct {
		value string
		ends  bool // an error ends the job
	}{{"", false}, {"fatal", true}, {"abort", true}, {"return", false}} {
		t.Run(tc.value, func(t *testing.T) {
			t.Setenv("FITMPI_ERRHANDLER", tc.value)
			var got error
			err := mpi.RunThreads(1, func(_ context.Context, c *mpi.Comm) error {
				if c.SetErrhandler(mpi.ErrorsAreFatal); tc.ends {
					c.SetErrhandler(mpi.ErrorsReturn)
				}
				w, err := mpi.WinCreate(c, make([]int64, 4), nil)
				if err != nil {
					return err
				}
				if got = mpi.Put(w, []int64{1}, 7, 0); tc.ends {
					return nil // there is no job any more to free it in
				}
				return w.Free()
			})
			if !errors.Is(got, mpi.ErrRank) || tc.ends != (err != nil) {
				t.Errorf("Put: %v, and the job ended with %v", got, err)
			}
		})
	}
}
