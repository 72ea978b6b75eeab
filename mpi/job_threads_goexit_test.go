package mpi_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// A rank whose function ends its goroutine, as t.Fatal of a test does, has failed. The others are
// released wherever they wait, with an error that says which rank has failed and why, and
// RunThreads says it too.
func TestRunThreadsGoexit(t *testing.T) {
	var mu sync.Mutex
	var told []error
	err := mpi.RunThreads(4, func(_ context.Context, c *mpi.Comm) error {
		var err error
		switch c.Rank() {
		case 0:
			_, err = mpi.Recv(c, make([]int, 1), 2, 0)
		case 1:
			err = mpi.Barrier(c)
		case 2:
			defer mpi.Send(c, []int{1}, mpi.ProcNull, 0) // what is deferred can use MPI still
			runtime.Goexit()
		case 3:
			return nil // which waits in Finalize
		}
		mu.Lock()
		defer mu.Unlock()
		told = append(told, err)
		return err
	})
	const want = "rank 2: its function ended its goroutine instead of returning"
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("the job ended with %v, want %q", err, want)
	}
	if len(told) != 2 {
		t.Fatalf("%d ranks were released, want 2", len(told))
	}
	for _, err := range told {
		wantText(t, err, mpi.ErrOther, "the job is ending: "+want)
	}
}

// A panic, an error and Abort release the others with their cause as well.
func TestRunThreadsCause(t *testing.T) {
	for name, fail := range map[string]func(c *mpi.Comm) error{
		"rank 0 panicked: boom":                               func(*mpi.Comm) error { panic("boom") },
		"rank 0: the matrix is singular":                      func(*mpi.Comm) error { return errMine },
		"rank 0 aborted the job with exit code 7: had enough": func(c *mpi.Comm) error { c.Abort(7, "had enough"); return nil },
	} {
		var told error
		err := mpi.RunThreads(2, func(_ context.Context, c *mpi.Comm) error {
			if c.Rank() == 0 {
				return fail(c)
			}
			told = mpi.Barrier(c)
			return told
		})
		wantText(t, err, nil, name)
		wantText(t, told, mpi.ErrOther, "the job is ending: "+name)
		if told != nil && strings.Contains(told.Error(), "goroutine") {
			t.Errorf("the other rank is told a stack: %v", told)
		}
	}
}

// In a job that goes on without its dead a rank that ends its goroutine is one of them.
func TestGoexitFaultTolerant(t *testing.T) {
	err := mpi.Threads{Ranks: 3, FaultTolerant: true}.Run(t.Context(), func(_ context.Context, c *mpi.Comm) error {
		c.SetErrhandler(mpi.ErrorsReturn)
		if c.Rank() == 1 {
			runtime.Goexit()
		}
		if _, err := mpi.Recv(c, make([]int, 1), 1, 0); !errors.Is(err, mpi.ErrProcFailed) {
			return err
		}
		rest, err := c.Shrink()
		if err != nil {
			return err
		}
		return mpi.Barrier(rest)
	})
	wantText(t, err, nil, "rank 1: its function ended its goroutine")
	if err != nil && strings.Contains(err.Error(), "rank 0") {
		t.Errorf("the survivors did not go on: %v", err)
	}
}
