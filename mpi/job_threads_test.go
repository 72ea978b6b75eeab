package mpi_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

// wantText checks that an error is of a class and says certain things.
func wantText(t *testing.T, err error, class error, parts ...string) {
	t.Helper()
	if err == nil || class != nil && !errors.Is(err, class) {
		t.Errorf("error is %v, want one of class %v", err, class)
		return
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q does not say %q", err, p)
		}
	}
}

func second[V any](_ V, err error) error { return err }

var errMine = errors.New("the matrix is singular")

// A rank that fails ends the job for all; RunThreads returns what it said.
func TestRunThreadsError(t *testing.T) {
	var ended atomic.Int32
	err := mpi.RunThreads(3, func(ctx context.Context, c *mpi.Comm) error {
		if c.Rank() == 1 {
			return errMine
		}
		_, err := mpi.Recv(c, make([]int, 1), 1, 0)
		if err != nil && ctx.Err() != nil {
			ended.Add(1)
		}
		return err
	})
	wantText(t, err, errMine, "rank 1: the matrix is singular")
	if ended.Load() != 2 {
		t.Errorf("%d of the other ranks were ended, want 2", ended.Load())
	}
}

func TestRunThreadsPanic(t *testing.T) {
	err := mpi.RunThreads(2, func(_ context.Context, c *mpi.Comm) error {
		if c.Rank() == 0 {
			panic("boom")
		}
		return mpi.Barrier(c)
	})
	wantText(t, err, nil, "rank 0 panicked: boom", "threads_test.go")
}

func TestRunThreadsAbort(t *testing.T) {
	err := mpi.RunThreads(2, func(_ context.Context, c *mpi.Comm) error {
		if c.Rank() == 0 {
			c.Abort(7, "enough")
		}
		return mpi.Barrier(c)
	})
	wantText(t, err, nil, "enough", "exit code 7")
}

// Where ErrorsAreFatal is chosen an error ends the job, with the error's own text.
func TestRunThreadsFatal(t *testing.T) {
	err := mpi.RunThreads(2, func(_ context.Context, c *mpi.Comm) error {
		c.SetErrhandler(mpi.ErrorsAreFatal)
		if c.Rank() == 0 {
			mpi.Send(c, []int{1}, 5, 0) // unchecked: the job ends all the same
		}
		return second(mpi.Recv(c, make([]int, 1), mpi.AnySource, 0))
	})
	wantText(t, err, nil, "Send on rank 0", "destination 5: need 0 to 1, or ProcNull")
}

// MPI 4.1, section 9.3: MPI_ERRORS_RETURN "has no effect other than returning the error code to the
// user".
func TestRunThreadsErrorsReturn(t *testing.T) {
	err := mpi.RunThreads(2, func(_ context.Context, c *mpi.Comm) error {
		c.SetErrhandler(mpi.ErrorsReturn)
		if err := mpi.Send(c, []int{1}, 5, 0); !errors.Is(err, mpi.ErrRank) {
			return fmt.Errorf("Send to rank 5: %w", err)
		}
		return mpi.Barrier(c)
	})
	if err != nil {
		t.Error(err)
	}
}

func TestRunThreadsArguments(t *testing.T) {
	wantText(t, mpi.RunThreads(0, nil), mpi.ErrArg, "0 ranks: need at least 1")
	t.Setenv("FITMPI_PROGRESS", "turbo")
	err := mpi.RunThreads(2, func(context.Context, *mpi.Comm) error { return nil })
	wantText(t, err, nil, "FITMPI_PROGRESS=turbo", "choose worker, assist or caller")
}

// A job that was started with a context ends with it, whatever its ranks wait in.
func TestRunThreadsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	var waiting atomic.Int32
	go func() {
		for waiting.Load() < 3 {
			time.Sleep(time.Millisecond)
		}
		cancel(errMine)
	}()
	began := time.Now()
	err := mpi.RunThreadsContext(ctx, 3, func(_ context.Context, c *mpi.Comm) error {
		waiting.Add(1)
		switch c.Rank() {
		case 0:
			return second(mpi.Recv(c, make([]int, 1), 1, 0))
		case 1:
			return mpi.Barrier(c)
		default:
			return mpi.Ssend(c, []int{1}, 0, 9)
		}
	})
	if !errors.Is(err, errMine) || time.Since(began) > time.Minute {
		t.Errorf("after %v: %v, want the cause of the context", time.Since(began), err)
	}
	ctx, cancel = context.WithCancelCause(t.Context())
	cancel(errMine)
	err = mpi.RunThreadsContext(ctx, 2, func(context.Context, *mpi.Comm) error { return nil })
	if err == nil {
		t.Error("a job ran though its context had ended")
	}
}

// MPI 4.1, section 11.2: "Once MPI_FINALIZE returns, no MPI routine may be called": an error, not a
// crash.
func TestAfterTheJob(t *testing.T) {
	var c *mpi.Comm
	var r *mpi.Request
	err := mpi.RunThreads(1, func(_ context.Context, world *mpi.Comm) error {
		world.SetErrhandler(mpi.ErrorsReturn)
		c = world
		r = mpi.Irecv(world, make([]int, 1), 0, 5) // never received
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, mpi.Send(c, []int{1}, 0, 0), mpi.ErrOther, "MPI is finalized")
	wantText(t, second(mpi.Recv(c, []int{1}, 0, 0)), mpi.ErrOther, "MPI is finalized")
	wantText(t, mpi.Barrier(c), mpi.ErrOther, "MPI is finalized")
	wantText(t, second(c.Dup(nil)), mpi.ErrOther, "MPI is finalized")
	_, err = r.Wait()
	wantText(t, err, mpi.ErrOther, "ending")
}

// Jobs leave GOMAXPROCS as they found it, and may run side by side and one after another.
func TestRunThreadsManyJobs(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	ring := func(_ context.Context, c *mpi.Comm) error {
		in := make([]int, 1)
		next, prev := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
		if _, err := mpi.Sendrecv(c, []int{c.Rank()}, next, 0, in, prev, 0); err != nil || in[0] != prev {
			return fmt.Errorf("got %d from %d: %w", in[0], prev, err)
		}
		return nil
	}
	done := make(chan error)
	for n := range 3 {
		go func() { done <- mpi.RunThreads(n+1, ring) }()
	}
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	for range 5 {
		if err := mpi.RunThreads(2, ring); err != nil {
			t.Error(err)
		}
	}
	if after := runtime.GOMAXPROCS(0); after != before {
		t.Errorf("GOMAXPROCS is %d after the jobs, %d before", after, before)
	}
}

// Messages that no rank has received when the ranks return do not hold up the end, nor do requests
// that no call waits for.
func TestRunThreadsLeftovers(t *testing.T) {
	for _, policy := range []string{"worker", "assist", "caller"} {
		t.Run(policy, func(t *testing.T) {
			t.Setenv("FITMPI_PROGRESS", policy)
			took := time.Hour
			for range 5 { // a loaded machine may take its time; what holds up the end does so each time
				began := time.Now()
				err := mpi.RunThreads(2, func(_ context.Context, c *mpi.Comm) error {
					if err := mpi.Send(c, []int{1}, 1-c.Rank(), 0); err != nil {
						return err
					}
					mpi.Irecv(c, make([]int, 1), 1-c.Rank(), 1)
					mpi.Issend(c, make([]int, 100000), 1-c.Rank(), 2)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
				if took = time.Since(began); took <= 3*time.Second {
					return
				}
			}
			t.Errorf("the job took %v to end", took)
		})
	}
}

func TestEnvironment(t *testing.T) {
	a := mpi.Wtime()
	time.Sleep(time.Millisecond)
	if d := mpi.Wtime() - a; d < 0.001 || d > 10 {
		t.Errorf("a millisecond took %g s", d)
	}
	if tick := mpi.Wtick(); tick <= 0 || tick > 1e-3 {
		t.Errorf("Wtick is %g", tick)
	}
	if mpi.Initialized() || mpi.Finalized() {
		t.Error("Initialized or Finalized without Init")
	}
	wantText(t, mpi.Finalize(), mpi.ErrOther, "Init was not called")
}
