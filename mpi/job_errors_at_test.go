package mpi_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

// below is the line after the one that calls it.
func below() string {
	_, file, line, _ := runtime.Caller(1)
	return fmt.Sprintf("%s:%d", file, line+1)
}

// failures are calls of rank 0, which is alone in its world, that fail, each with the line that its
// error must name.
func failures(c *mpi.Comm, dir string) map[string]func() (string, error) {
	world, self := c, c.Self()
	return map[string]func() (string, error){
		"a wrong argument": func() (string, error) {
			at := below()
			err := mpi.Send(world, []int{1}, 5, 0)
			return at, err
		},
		"no communicator": func() (string, error) {
			at := below()
			err := mpi.Barrier(nil)
			return at, err
		},
		"no rank at all": func() (string, error) {
			at := below()
			_, err := mpi.DimsCreate(7, []int{2})
			return at, err
		},
		"a message that is too long": func() (string, error) {
			request := mpi.Isend(self, []int{1, 2}, 0, 0)
			at := below()
			_, err := mpi.Recv(self, []int{0}, 0, 0)
			return at, errors.Join(err, second(request.Wait()))
		},
		"a request, where it was begun": func() (string, error) {
			good := mpi.Irecv(self, make([]int, 2), 0, 1)
			at := below()
			bad := mpi.Irecv(self, make([]int, 1), 0, 2)
			sends := []*mpi.Request{mpi.Isend(self, []int{1, 2}, 0, 1), mpi.Isend(self, []int{1, 2}, 0, 2)}
			_, err := mpi.WaitAll(good, bad, sends[0], sends[1])
			return at, err
		},
		"a request of wrong arguments": func() (string, error) {
			at := below()
			request := mpi.Irecv(self, make([]int, 1), 3, 2)
			_, err := request.Wait()
			return at, err
		},
		"a persistent request that is active": func() (string, error) {
			request := mpi.RecvInit(self, make([]int, 1), 0, 4)
			if err := request.Start(); err != nil {
				return "", err
			}
			at := below()
			err := request.Start()
			return at, errors.Join(err, request.Cancel(), second(request.Wait()))
		},
		"a collective": func() (string, error) {
			at := below()
			err := mpi.Bcast(world, []int{1}, 4)
			return at, err
		},
		"a collective that is begun": func() (string, error) {
			at := below()
			request := mpi.Ibcast(world, []int{1}, 4)
			_, err := request.Wait()
			return at, err
		},
		"a call within a literal": func() (string, error) {
			at, err := "", error(nil)
			func() {
				defer func() {
					at = below()
					err = mpi.Gather(world, []int{1}, nil, 7)
				}()
			}()
			return at, err
		},
		"a goroutine of the user's": func() (string, error) {
			type outcome struct {
				at  string
				err error
			}
			outcomes := make(chan outcome)
			go func() {
				at := below()
				err := mpi.Barrier(nil)
				outcomes <- outcome{at, err}
			}()
			o := <-outcomes
			return o.at, o.err
		},
		"a group": func() (string, error) {
			at := below()
			_, err := world.Group().Incl(9)
			return at, err
		},
		"a file": func() (string, error) {
			at := below()
			_, err := mpi.FileOpen(world, filepath.Join(dir, "none"), mpi.ModeRdonly, nil)
			return at, err
		},
		"a window": func() (string, error) {
			w, err := mpi.WinCreate(world, make([]int, 1), nil)
			if err != nil {
				return "", err
			}
			defer w.Free()
			at := below()
			err = mpi.Put(w, []int{1}, 4, 0)
			return at, err
		},
		"an error of the user's": func() (string, error) {
			at := below()
			err := world.CallErrhandler(errMine)
			return at, err
		},
		"the end of a context": func() (string, error) {
			short, cancel := context.WithCancel(context.Background())
			time.AfterFunc(time.Millisecond, cancel)
			at := below()
			_, err := mpi.Recv(world.WithContext(short), make([]int, 1), 0, 9)
			return at, err
		},
	}
}

// Every error names the line of the user's code that has called what failed.
func TestErrorAt(t *testing.T) {
	dir := t.TempDir()
	err := mpi.RunThreads(1, func(_ context.Context, c *mpi.Comm) error {
		for name, fail := range failures(c, dir) {
			at, err := fail()
			e, ok := errors.AsType[*mpi.Error](err)
			if !ok || e.At != at {
				t.Errorf("%s: %v is not of %s", name, err, at)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	at := below()
	if e, ok := errors.AsType[*mpi.Error](mpi.RunThreads(0, nil)); !ok || e.At != at {
		t.Errorf("RunThreads: %v is not of %s", e, at)
	}
}

// In the functions that are ranks errors are returned unless that is chosen otherwise: of
// communicators, windows and sessions.
func TestErrorsAreReturned(t *testing.T) {
	for _, chosen := range []string{"", "return", "fatal"} {
		t.Run(chosen, func(t *testing.T) {
			t.Setenv("FITMPI_ERRHANDLER", chosen)
			for name, fail := range map[string]func(ctx context.Context, c *mpi.Comm) error{
				"communicator": func(_ context.Context, c *mpi.Comm) error { return mpi.Send(c, []int{1}, 5, 0) },
				"self":         func(_ context.Context, c *mpi.Comm) error { return mpi.Send(c.Self(), []int{1}, 5, 0) },
				"window": func(_ context.Context, c *mpi.Comm) error {
					w, err := mpi.WinCreate(c, make([]int, 1), nil)
					if err != nil {
						return err
					}
					defer w.Free()
					return mpi.Put(w, []int{1}, 5, 0)
				},
				"session": func(ctx context.Context, c *mpi.Comm) error {
					s, err := mpi.SessionInit(ctx, nil, nil)
					if err != nil {
						return err
					}
					defer s.Finalize()
					return second(s.GroupFromPset("none"))
				},
			} {
				wentOn := false
				err := mpi.RunThreads(1, func(ctx context.Context, c *mpi.Comm) error {
					if fail(ctx, c) == nil {
						t.Errorf("%s: no error", name)
					}
					wentOn = ctx.Err() == nil
					return nil
				})
				if isFatal := chosen == "fatal"; wentOn == isFatal || (err != nil) != isFatal {
					t.Errorf("%s: the job went on: %v; it ended with %v", name, wentOn, err)
				}
			}
		})
	}
}

// The end of a context that the caller has given is what was asked for, and is returned whatever
// the error handler.
func TestDeadlineIsReturned(t *testing.T) {
	for name, handler := range map[string]mpi.Errhandler{
		"fatal": mpi.ErrorsAreFatal[*mpi.Comm], "abort": mpi.ErrorsAbort[*mpi.Comm],
		"own": func(_ *mpi.Comm, err *mpi.Error) error { t.Errorf("the handler is called with %v", err); return nil },
	} {
		err := mpi.RunThreads(2, func(ctx context.Context, c *mpi.Comm) error {
			c.SetErrhandler(handler)
			short, cancel := context.WithTimeout(ctx, time.Millisecond)
			defer cancel()
			s := c.WithContext(short)
			for _, err := range []error{
				second(mpi.Recv(s, make([]int, 1), 1-c.Rank(), 0)),
				second(mpi.Irecv(s, make([]int, 1), 1-c.Rank(), 0).Wait()),
				mpi.Send(s, []int{1}, 1-c.Rank(), 0), // which does not begin
			} {
				if !errors.Is(err, context.DeadlineExceeded) {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
			return mpi.Barrier(c)
		})
		if err != nil {
			t.Error(err)
		}
	}
}
