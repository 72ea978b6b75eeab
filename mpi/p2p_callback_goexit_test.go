package mpi_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// balky is a value whose serialisation calls a function.
type balky struct{ end func() }

func (b balky) MarshalBinary() ([]byte, error) {
	if b.end != nil {
		b.end()
	}
	return []byte{1}, nil
}

func (b *balky) UnmarshalBinary([]byte) error { return nil }

// ownCallbacks are calls that have a function of the user's called on the caller's own goroutine.
// All ranks make them.
var ownCallbacks = map[string]func(dir string, c *mpi.Comm, end func()) error{
	"copying an attribute": func(_ string, c *mpi.Comm, end func()) error {
		k := mpi.KeyvalCreate(func(_ *mpi.Comm, v int) (int, bool, error) { end(); return v, true, nil }, nil)
		return errors.Join(k.Set(c, 1), second(c.Dup(nil)))
	},
	"deleting an attribute": func(_ string, c *mpi.Comm, end func()) error {
		k := mpi.KeyvalCreate(nil, func(*mpi.Comm, int) error { end(); return nil })
		d, err := c.Dup(nil)
		if err != nil {
			return err
		}
		return errors.Join(k.Set(d, 1), d.Free())
	},
	"deleting an attribute of world": func(_ string, c *mpi.Comm, end func()) error {
		return mpi.KeyvalCreate(nil, func(*mpi.Comm, int) error { end(); return nil }).Set(c, 1) // in Finalize
	},
	"deleting an attribute of a window": func(_ string, c *mpi.Comm, end func()) error {
		w, err := mpi.WinCreate(c, make([]int, 1), nil)
		if err != nil {
			return err
		}
		return errors.Join(mpi.WinKeyvalCreate(func(*mpi.Win, int) error { end(); return nil }).Set(w, 1), w.Free())
	},
	"error handler": func(_ string, c *mpi.Comm, end func()) error {
		c.SetErrhandler(func(*mpi.Comm, *mpi.Error) error { end(); return nil })
		return mpi.Send(c, []int{1}, -7, 0)
	},
	"error handler of a window": func(_ string, c *mpi.Comm, end func()) error {
		w, err := mpi.WinCreate(c, make([]int, 1), nil)
		if err != nil {
			return err
		}
		w.SetErrhandler(func(*mpi.Win, *mpi.Error) error { end(); return nil })
		return mpi.Put(w, []int{1}, 77, 0)
	},
	"error handler of a file": func(dir string, c *mpi.Comm, end func()) error {
		f, err := mpi.FileOpen(c, filepath.Join(dir, "file"), mpi.ModeCreate|mpi.ModeRdwr, nil)
		if err != nil {
			return err
		}
		f.SetErrhandler(func(*mpi.File, *mpi.Error) error { end(); return nil })
		return second(mpi.FileWriteAt(f, -1, []int{1}))
	},
	"query of a generalised request": func(_ string, c *mpi.Comm, end func()) error {
		r := c.GrequestStart(mpi.GeneralCallbacks{Query: func() (mpi.Status, error) { end(); return mpi.Status{}, nil }})
		return errors.Join(r.Complete(), second(r.Wait()))
	},
	"end of a generalised request": func(_ string, c *mpi.Comm, end func()) error {
		r := c.GrequestStart(mpi.GeneralCallbacks{Free: func() error { end(); return nil }})
		return errors.Join(r.Complete(), second(mpi.WaitAll(r, mpi.Isend(c, []int{1}, mpi.ProcNull, 0))))
	},
	"cancelling a generalised request": func(_ string, c *mpi.Comm, end func()) error {
		return c.GrequestStart(mpi.GeneralCallbacks{Cancel: func(bool) error { end(); return nil }}).Cancel()
	},
	"serialisation": func(_ string, c *mpi.Comm, end func()) error {
		return mpi.Send(c, []balky{{end}}, c.Rank(), 0)
	},
	"serialisation of a collective": func(_ string, c *mpi.Comm, end func()) error {
		return mpi.Allgather(c, []balky{{end}}, make([]balky, c.Size()))
	},
	"serialisation of a reduction": func(_ string, c *mpi.Comm, end func()) error {
		return second(mpi.Iallreduce(c, []balky{{end}}, make([]balky, 1), func(_, _ []balky) {}).Wait())
	},
	"reduction": func(_ string, c *mpi.Comm, end func()) error {
		err := mpi.Allreduce(c, []int{1}, make([]int, 1), func(_, _ []int) { end() }) // there, or in the engine
		if c.Size() == 1 {
			end() // nothing is combined
		}
		return err
	},
	"checkpoint": func(dir string, c *mpi.Comm, end func()) error {
		return (&mpi.FileCheckpoint{Dir: dir}).Save(c, 1, func(io.Writer) error { end(); return nil })
	},
}

// A function of the user's that ends the goroutine of the call that has called it ends the rank, as
// the function of the rank does that ends its own. The job ends, with that as its error, whichever
// policy there is, and others can be run after it.
func TestCallbackEndsGoroutine(t *testing.T) {
	for _, policy := range []string{"caller", "assist", "worker"} {
		t.Setenv("FITMPI_PROGRESS", policy)
		for name, call := range ownCallbacks {
			for _, ranks := range []int{1, 2} {
				t.Run(fmt.Sprintf("%s/%s/%d", policy, name, ranks), func(t *testing.T) {
					dir := t.TempDir()
					err := mpi.RunThreads(ranks, func(_ context.Context, c *mpi.Comm) error {
						return call(dir, c, func() {
							if c.Rank() == 0 {
								runtime.Goexit()
							}
						})
					})
					wantText(t, err, nil, "rank 0", "ended its goroutine", "(runtime.Goexit, ")
					if err := mpi.RunThreads(2, func(_ context.Context, c *mpi.Comm) error { return mpi.Barrier(c) }); err != nil {
						t.Error("the next job:", err)
					}
				})
			}
		}
	}
}

// Such a function that panics ends the job with that, as ever.
func TestCallbackPanics(t *testing.T) {
	for _, policy := range []string{"caller", "assist", "worker"} {
		t.Setenv("FITMPI_PROGRESS", policy)
		for name, call := range ownCallbacks {
			if name == "deleting an attribute of world" {
				continue // which ends the process, as Finalize is none of the rank's function
			}
			t.Run(policy+"/"+name, func(t *testing.T) {
				dir := t.TempDir()
				err := mpi.RunThreads(2, func(_ context.Context, c *mpi.Comm) error {
					return call(dir, c, func() {
						if c.Rank() == 0 {
							panic("boom")
						}
					})
				})
				wantText(t, err, nil, "boom")
			})
		}
	}
}

// leavingTool ends the goroutine of whatever calls the method of its that is chosen.
type leavingTool struct{ method string }

func (l leavingTool) in(method string) {
	if l.method == method {
		runtime.Goexit()
	}
}

func (l leavingTool) Begin(k *mpi.Call)        { l.in("Begin of " + k.Op) }
func (l leavingTool) End(k *mpi.Call, _ error) { l.in("End of " + k.Op) }
func (l leavingTool) Message(mpi.MessageEvent) { l.in("Message") }
func (l leavingTool) Turn(mpi.TurnEvent)       { l.in("Turn") }
func (l leavingTool) BeginRegion(name string)  { l.in("BeginRegion of " + name) }
func (l leavingTool) EndRegion(name string)    { l.in("EndRegion of " + name) }
func (l leavingTool) Control(int, ...any)      { l.in("Control") }

// useLeavingTool gives rank 0 a tool that leaves in a method; "attach" is none of its.
func useLeavingTool(method string) (remove func()) {
	return mpi.UseTool(func(r mpi.ToolRank) mpi.Tool {
		if r.Rank != 0 {
			return nil
		}
		l := leavingTool{method}
		l.in("attach")
		return l
	})
}

// everyToolCall has tools called in all ways.
func everyToolCall(ctx context.Context, c *mpi.Comm) error {
	_, end := mpi.Region(ctx, "phase")
	defer end()
	return errors.Join(c.Pcontrol(2), second(mpi.Sendrecv(c, []int{1}, 1-c.Rank(), 0, make([]int, 1), 1-c.Rank(), 0)), mpi.Barrier(c))
}

// A tool that ends the goroutine of a call ends the job.
func TestToolEndsGoroutine(t *testing.T) {
	for _, method := range []string{"attach", "Begin of Init", "End of Init", "Begin of Barrier", "End of Sendrecv", "BeginRegion of phase", "EndRegion of phase", "Control", "Begin of Finalize", "End of Finalize"} {
		t.Run(method, func(t *testing.T) {
			defer useLeavingTool(method)()
			wantText(t, mpi.RunThreads(2, everyToolCall), nil, "rank 0", "p2p_callback_goexit_test.go:", "ended its goroutine", "(runtime.Goexit, ")
		})
	}
}
