package mpi_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

// spinLimit ends a program that spins for ever.
const spinLimit = 20 * time.Second

var errSpun = errors.New("it spins for ever")

// spinners are the calls that a program may call again and again until another rank has done
// something to its window: each is one round. A message of which the tag is 9 never comes, and g is
// never complete.
var spinners = []struct {
	name string
	call func(c *mpi.Comm, w *mpi.Win, never, g *mpi.Request) error
}{
	{"Flush", func(_ *mpi.Comm, w *mpi.Win, _, _ *mpi.Request) error { return w.Flush(0) }},
	{"FlushAll", func(_ *mpi.Comm, w *mpi.Win, _, _ *mpi.Request) error { return w.FlushAll() }},
	{"FlushLocal", func(_ *mpi.Comm, w *mpi.Win, _, _ *mpi.Request) error { return w.FlushLocal(0) }},
	{"FlushLocalAll", func(_ *mpi.Comm, w *mpi.Win, _, _ *mpi.Request) error { return w.FlushLocalAll() }},
	{"Sync", func(_ *mpi.Comm, w *mpi.Win, _, _ *mpi.Request) error { return w.Sync() }},
	{"Rget, Wait", func(_ *mpi.Comm, w *mpi.Win, _, _ *mpi.Request) error {
		return second(mpi.Rget(w, make([]int64, 1), 0, 1).Wait())
	}},
	{"Rput, Test", func(_ *mpi.Comm, w *mpi.Win, _, _ *mpi.Request) error {
		for r := mpi.Rput(w, make([]int64, 1), 0, 1); ; {
			if _, done, err := r.Test(); done || err != nil {
				return err
			}
		}
	}},
	{"Raccumulate, WaitAny", func(_ *mpi.Comm, w *mpi.Win, _, _ *mpi.Request) error {
		_, _, err := mpi.WaitAny(mpi.Raccumulate(w, make([]int64, 1), 0, 1, mpi.Sum))
		return err
	}},
	{"Rget, WaitAll", func(_ *mpi.Comm, w *mpi.Win, _, _ *mpi.Request) error {
		return second(mpi.WaitAll(mpi.Rget(w, make([]int64, 1), 0, 1), nil))
	}},
	{"Rput, WaitSome", func(_ *mpi.Comm, w *mpi.Win, _, _ *mpi.Request) error {
		_, _, err := mpi.WaitSome(mpi.Rput(w, make([]int64, 1), 0, 1))
		return err
	}},
	{"Rput, TestAll", func(_ *mpi.Comm, w *mpi.Win, _, _ *mpi.Request) error {
		_, _, err := mpi.TestAll(mpi.Rput(w, make([]int64, 1), 0, 1))
		return err
	}},
	{"Rput, TestAny", func(_ *mpi.Comm, w *mpi.Win, _, _ *mpi.Request) error {
		_, _, _, err := mpi.TestAny(mpi.Rput(w, make([]int64, 1), 0, 1))
		return err
	}},
	{"Rput, TestSome", func(_ *mpi.Comm, w *mpi.Win, _, _ *mpi.Request) error {
		_, _, err := mpi.TestSome(mpi.Rput(w, make([]int64, 1), 0, 1))
		return err
	}},
	{"Rput, GetStatus", func(_ *mpi.Comm, w *mpi.Win, _, _ *mpi.Request) error {
		_, _, err := mpi.Rput(w, make([]int64, 1), 0, 1).GetStatus()
		return err
	}},
	{"Rput, AsCompleted", func(_ *mpi.Comm, w *mpi.Win, _, _ *mpi.Request) (err error) {
		for _, done := range mpi.AsCompleted(mpi.Rput(w, make([]int64, 1), 0, 1)) {
			err = done.Err
		}
		return err
	}},
	{"Isend to oneself, Wait", func(c *mpi.Comm, _ *mpi.Win, _, _ *mpi.Request) error {
		r := mpi.Isend(c, []int{1}, 0, 5)
		return errors.Join(second(mpi.Recv(c, make([]int, 1), 0, 5)), second(r.Wait()))
	}},
	{"Sendrecv with oneself", func(c *mpi.Comm, _ *mpi.Win, _, _ *mpi.Request) error {
		return second(mpi.Sendrecv(c, []int{1}, 0, 5, make([]int, 1), 0, 5))
	}},
	{"Irecv from oneself, Send", func(c *mpi.Comm, _ *mpi.Win, _, _ *mpi.Request) error {
		r := mpi.Irecv(c, make([]int, 1), 0, 5)
		return errors.Join(mpi.Send(c, []int{1}, 0, 5), second(r.Wait()))
	}},
	{"a long message to oneself", func(c *mpi.Comm, _ *mpi.Win, _, _ *mpi.Request) error {
		r := mpi.Irecv(c, make([]byte, 1<<20), 0, 5)
		return errors.Join(mpi.Ssend(c, make([]byte, 1<<20), 0, 5), second(r.Wait()))
	}},
	{"Barrier alone", func(c *mpi.Comm, _ *mpi.Win, _, _ *mpi.Request) error { return mpi.Barrier(c.Self()) }},
	{"Ibarrier alone, Wait", func(c *mpi.Comm, _ *mpi.Win, _, _ *mpi.Request) error {
		return second(mpi.Ibarrier(c.Self()).Wait())
	}},
	{"Allreduce alone", func(c *mpi.Comm, _ *mpi.Win, _, _ *mpi.Request) error {
		return mpi.Allreduce(c.Self(), []int{1}, make([]int, 1), mpi.Sum)
	}},
	{"BcastInit alone, Start", func(c *mpi.Comm, _ *mpi.Win, _, _ *mpi.Request) error {
		r := mpi.BcastInit(c.Self(), []int{1}, 0)
		return errors.Join(r.Start(), second(r.Wait()))
	}},
	{"Iprobe that finds", func(c *mpi.Comm, _ *mpi.Win, _, _ *mpi.Request) error {
		r := mpi.Irecv(c, make([]int, 1), 0, 6)
		for sent := mpi.Isend(c, []int{1}, 0, 5); ; {
			if _, there, err := mpi.Iprobe(c, 0, 5); there || err != nil {
				return errors.Join(err, second(mpi.Recv(c, make([]int, 1), 0, 5)), second(sent.Wait()), r.Cancel(), second(r.Wait()))
			}
		}
	}},
	{"Test", func(_ *mpi.Comm, _ *mpi.Win, never, _ *mpi.Request) error {
		_, _, err := never.Test()
		return err
	}},
	{"GetStatus", func(_ *mpi.Comm, _ *mpi.Win, never, _ *mpi.Request) error {
		_, _, err := never.GetStatus()
		return err
	}},
	{"Test of a generalised request", func(_ *mpi.Comm, _ *mpi.Win, _, g *mpi.Request) error {
		_, _, err := g.Test()
		return err
	}},
	{"GetStatus of a generalised request", func(_ *mpi.Comm, _ *mpi.Win, _, g *mpi.Request) error {
		_, _, err := g.GetStatus()
		return err
	}},
	{"TestAny", func(_ *mpi.Comm, _ *mpi.Win, never, g *mpi.Request) error {
		_, _, _, err := mpi.TestAny(nil, never, g)
		return err
	}},
	{"TestSome", func(_ *mpi.Comm, _ *mpi.Win, never, g *mpi.Request) error {
		_, _, err := mpi.TestSome(nil, never, g)
		return err
	}},
	{"TestAll", func(_ *mpi.Comm, _ *mpi.Win, never, g *mpi.Request) error {
		_, _, err := mpi.TestAll(nil, never, g)
		return err
	}},
	{"GetStatusAll", func(_ *mpi.Comm, _ *mpi.Win, never, g *mpi.Request) error {
		_, _, err := mpi.GetStatusAll(g, never)
		return err
	}},
	{"GetStatusAny", func(_ *mpi.Comm, _ *mpi.Win, never, g *mpi.Request) error {
		_, _, _, err := mpi.GetStatusAny(g, never)
		return err
	}},
	{"Iprobe", func(c *mpi.Comm, _ *mpi.Win, _, _ *mpi.Request) error {
		_, _, err := mpi.Iprobe(c, mpi.AnySource, 9)
		return err
	}},
	{"Improbe", func(c *mpi.Comm, _ *mpi.Win, _, _ *mpi.Request) error {
		_, _, err := mpi.Improbe(c, mpi.AnySource, 9)
		return err
	}},
	{"Win.IsRevoked", func(_ *mpi.Comm, w *mpi.Win, _, _ *mpi.Request) error {
		w.IsRevoked()
		return nil
	}},
	{"IsRevoked", func(c *mpi.Comm, _ *mpi.Win, _, _ *mpi.Request) error {
		c.IsRevoked()
		return nil
	}},
	{"Failed", func(c *mpi.Comm, _ *mpi.Win, _, _ *mpi.Request) error { return second(c.Failed()) }},
}

// A rank that spins in a call serves its own window, so that what it waits for can happen.
// Operations on a window "must complete" without a matching call at the target (MPI 4.1, section
// 12.7.3), and calls that test make progress (section 2.9). Under caller there is nothing else that
// would; rank 0 reads its window itself, for which nothing has to move.
func TestSpinningServesOneself(t *testing.T) {
	t.Setenv("FITMPI_PROGRESS", "caller")
	for _, transport := range mpi.TransportsHere() {
		t.Setenv("FITMPI_TRANSPORT", transport)
		for _, s := range spinners {
			t.Run(transport+"/"+s.name, func(t *testing.T) {
				spins := make(chan struct{}) // closed when rank 0 is to call nothing else any more
				err := mpi.RunThreads(2, func(ctx context.Context, c *mpi.Comm) error {
					w, _, err := mpi.WinAllocate[int64](c, 2, nil)
					if err != nil {
						return err
					}
					if err := w.LockAll(mpi.NoCheck); err != nil {
						return err
					}
					if c.Rank() == 0 {
						err = spinUntilWritten(c, w, spins, s.call)
					} else {
						select {
						case <-spins:
							err = errors.Join(mpi.Accumulate(w, []int64{7}, 0, 0, mpi.Replace[int64]), w.Flush(0))
						case <-ctx.Done():
							err = context.Cause(ctx)
						}
					}
					if err != nil {
						return err
					}
					return errors.Join(w.UnlockAll(), w.Free())
				})
				if err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// spinUntilWritten calls call until the window of rank 0 is written to.
func spinUntilWritten(c *mpi.Comm, w *mpi.Win, spins chan<- struct{}, call func(c *mpi.Comm, w *mpi.Win, never, g *mpi.Request) error) error {
	never, g := mpi.Irecv(c, make([]int, 1), 1, 9), c.GrequestStart(mpi.GeneralCallbacks{})
	close(spins) // rank 1 is in no call before, so that none of ours may need it: NoCheck
	end := time.Now().Add(spinLimit)
	for got := int64(0); got == 0; {
		if time.Now().After(end) {
			return errSpun
		}
		if err := errors.Join(call(c, w, never, g), mpi.FetchAndOp(w, 0, &got, 0, 0, mpi.NoOp[int64])); err != nil {
			return err
		}
	}
	if err := errors.Join(never.Cancel(), g.Complete()); err != nil {
		return err
	}
	_, err := mpi.WaitAll(never, g)
	return err
}

// Locks that ranks make of CompareAndSwap and Flush are taken and given back in the end, in every
// policy: the owner's calls go on while the others spin.
func TestLockBySwap(t *testing.T) {
	for _, policy := range []string{"caller", "assist", "worker"} {
		for _, transport := range mpi.TransportsHere() {
			t.Run(policy+"/"+transport, func(t *testing.T) {
				t.Setenv("FITMPI_PROGRESS", policy)
				t.Setenv("FITMPI_TRANSPORT", transport)
				err := mpi.RunThreads(4, func(_ context.Context, c *mpi.Comm) error {
					w, mem, err := mpi.WinAllocate[int64](c, 2, nil)
					if err != nil {
						return err
					}
					const rounds = 10
					err = errors.Join(w.LockAll(0), countUnderSwap(w, int64(c.Rank()+1), rounds), w.UnlockAll())
					if err != nil {
						return err
					}
					if err := mpi.Barrier(c); err != nil {
						return err
					}
					if want := int64(rounds * c.Size()); c.Rank() == 0 && mem[1] != want {
						return fmt.Errorf("the counter is %d, want %d", mem[1], want)
					}
					return w.Free()
				})
				if err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// countUnderSwap adds rounds to the second value of the window of rank 0, by Get and Put, each time
// holding the lock that the first is: 0, or the owner.
func countUnderSwap(w *mpi.Win, me int64, rounds int) error {
	end := time.Now().Add(spinLimit)
	for range rounds {
		for was := int64(-1); was != 0; {
			if time.Now().After(end) {
				return errSpun
			}
			if err := errors.Join(mpi.CompareAndSwap(w, me, 0, &was, 0, 0), w.Flush(0)); err != nil {
				return err
			}
		}
		v, owner := []int64{0}, int64(0)
		if err := errors.Join(mpi.Get(w, v, 0, 1), w.Flush(0)); err != nil {
			return err
		}
		v[0]++
		if err := errors.Join(mpi.Put(w, v, 0, 1), w.Flush(0)); err != nil {
			return err
		}
		if err := errors.Join(mpi.FetchAndOp(w, 0, &owner, 0, 0, mpi.Replace[int64]), w.Flush(0)); err != nil {
			return err
		}
		if owner != me {
			return fmt.Errorf("the lock of %d was held by %d", me, owner)
		}
	}
	return nil
}
