package mpi_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// badSend is an operation that fails at once, with a rank that does not exist.
func badSend(c *mpi.Comm) error { return mpi.Send(c, []int{1}, 99, 0) }

// TestInitialErrhandler: MPI 4.1, section 9.3: the error handler of world and self at the start can
// be chosen; where ranks are functions errors are returned unless it is.
func TestInitialErrhandler(t *testing.T) {
	for _, test := range []struct {
		value string
		ends  bool   // an error ends the job
		says  string // in what ends it
	}{
		{"", false, ""},
		{"fatal", true, "need 0 to 1"},
		{"mpi_errors_are_fatal", true, "need 0 to 1"},
		{"abort", true, "aborting all ranks"},
		{"mpi_errors_abort", true, "aborting all ranks"},
		{"return", false, ""},
		{"mpi_errors_return", false, ""},
	} {
		t.Run(test.value, func(t *testing.T) {
			t.Setenv("FITMPI_ERRHANDLER", test.value)
			err := mpi.RunThreads(2, func(_ context.Context, world *mpi.Comm) error {
				if world.Rank() == 0 {
					badSend(world) // its error is not looked at: the handler has ended the job, or has not
				}
				return nil
			})
			if test.ends != (err != nil) || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("the job ended with %v", err)
			}
			var self error
			err = mpi.RunThreads(1, func(_ context.Context, world *mpi.Comm) error {
				self = badSend(world.Self())
				return nil
			})
			if !errors.Is(self, mpi.ErrRank) || test.ends != (err != nil) {
				t.Errorf("self: %v, and the job ended with %v", self, err)
			}
		})
	}
	t.Setenv("FITMPI_ERRHANDLER", "ignore")
	err := mpi.RunThreads(1, func(context.Context, *mpi.Comm) error { return nil })
	if err == nil || !strings.Contains(err.Error(), `FITMPI_ERRHANDLER=ignore: error handler "ignore": choose fatal, abort or return`) {
		t.Errorf("a handler that does not exist: %v", err)
	}
}

// TestErrorsAbort: it ends the job, and says whose abort was meant.
func TestErrorsAbort(t *testing.T) {
	for _, test := range []struct {
		n    int
		comm func(world *mpi.Comm) (*mpi.Comm, error)
		says string
	}{
		{2, func(w *mpi.Comm) (*mpi.Comm, error) { return w, nil }, "aborting all ranks"},
		{3, func(w *mpi.Comm) (*mpi.Comm, error) { return w.Self(), nil }, "aborting world rank 2, and with them the job"},
		{3, func(w *mpi.Comm) (*mpi.Comm, error) { return w.Split(min(w.Rank(), 1), 0) }, "aborting world ranks 1, 2, and with them the job"},
		{11, func(w *mpi.Comm) (*mpi.Comm, error) { return w.Split(min(w.Rank(), 1), 0) }, "aborting world ranks 1, 2, 3, 4, 5, 6, 7, 8 and 2 more, and with them the job"},
	} {
		err := mpi.RunThreads(test.n, func(_ context.Context, world *mpi.Comm) error {
			c, err := test.comm(world)
			if err != nil {
				return err
			}
			c.SetErrhandler(mpi.ErrorsAbort)
			if world.Rank() == test.n-1 {
				badSend(c)
			}
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), "destination 99") {
			t.Errorf("the job ended with %v, want it to say %q", err, test.says)
		}
	}
}
