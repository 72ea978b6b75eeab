package mpi_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// badCalls are what a reduction's function must not do: each is a call that communicates, with
// self, which is of this rank alone, or with world.
var badCalls = []struct {
	op   string
	call func(world, self *mpi.Comm, never *mpi.Request)
}{
	{"Sendrecv", func(_, self *mpi.Comm, _ *mpi.Request) {
		mpi.Sendrecv(self, []int{1}, 0, 1, make([]int, 1), 0, 1)
	}},
	{"Send", func(_, self *mpi.Comm, _ *mpi.Request) { mpi.Send(self, []int{1}, 0, 1) }},
	{"Recv", func(_, self *mpi.Comm, _ *mpi.Request) { mpi.Recv(self, make([]int, 1), 0, 1) }},
	{"Isend", func(_, self *mpi.Comm, _ *mpi.Request) { mpi.Isend(self, []int{1}, 0, 1) }},
	{"Irecv", func(_, self *mpi.Comm, _ *mpi.Request) { mpi.Irecv(self, make([]int, 1), 0, 1) }},
	{"Probe", func(_, self *mpi.Comm, _ *mpi.Request) { mpi.Probe(self, 0, 1) }},
	{"Iprobe", func(_, self *mpi.Comm, _ *mpi.Request) { mpi.Iprobe(self, 0, 1) }},
	{"Barrier", func(world, _ *mpi.Comm, _ *mpi.Request) { mpi.Barrier(world) }},
	{"Allreduce", func(world, _ *mpi.Comm, _ *mpi.Request) {
		mpi.Allreduce(world, []int{1}, make([]int, 1), mpi.Sum)
	}},
	{"Ibarrier", func(world, _ *mpi.Comm, _ *mpi.Request) { mpi.Ibarrier(world) }},
	{"Dup", func(world, _ *mpi.Comm, _ *mpi.Request) { world.Dup(nil) }},
	{"Die", func(world, _ *mpi.Comm, _ *mpi.Request) { world.Die() }},
	{"Wait", func(_, _ *mpi.Comm, never *mpi.Request) { never.Wait() }},
	{"Test", func(_, _ *mpi.Comm, never *mpi.Request) { never.Test() }},
	{"WaitAny", func(_, _ *mpi.Comm, never *mpi.Request) { mpi.WaitAny(nil, never) }},
	{"TestAll", func(_, _ *mpi.Comm, never *mpi.Request) { mpi.TestAll(never) }},
}

// reductions call an operation, each in its way: in the call, or in one of Wait; with elements in
// memory, laid out and serialised.
var reductions = []struct {
	op  string
	run func(c *mpi.Comm, bad func()) error
}{
	{"Allreduce", func(c *mpi.Comm, bad func()) error {
		return mpi.Allreduce(c, []int64{1}, make([]int64, 1), func(_, _ []int64) { bad() })
	}},
	{"Allreduce", func(c *mpi.Comm, bad func()) error {
		return mpi.Allreduce(c, make([]int64, 5000), make([]int64, 5000), mpi.Commutative(func(_, _ []int64) { bad() }))
	}},
	{"Iallreduce", func(c *mpi.Comm, bad func()) error {
		return second(mpi.Iallreduce(c, []int64{1}, make([]int64, 1), func(_, _ []int64) { bad() }).Wait())
	}},
	{"AllreduceInit", func(c *mpi.Comm, bad func()) error {
		r := mpi.AllreduceInit(c, []int64{1}, make([]int64, 1), func(_, _ []int64) { bad() })
		if err := r.Start(); err != nil {
			return err
		}
		return second(r.Wait())
	}},
	{"Allreduce", func(c *mpi.Comm, bad func()) error {
		type gaps struct {
			a int8
			b int64
		}
		return mpi.Allreduce(c, []gaps{{1, 2}}, make([]gaps, 1), func(_, _ []gaps) { bad() })
	}},
	{"Allreduce", func(c *mpi.Comm, bad func()) error {
		return mpi.Allreduce(c, []string{"a"}, make([]string, 1), func(_, _ []string) { bad() })
	}},
}

// "No MPI communication function may be called inside the user function" (MPI 4.1, section 6.9.5).
// One that is called makes the reduction fail, with what was called, where, and by which function;
// it does not hang, whichever policy there is.
func TestReductionMustNotCommunicate(t *testing.T) {
	for _, policy := range []string{"caller", "assist", "worker"} {
		for _, transport := range mpi.TransportsHere() {
			t.Setenv("FITMPI_PROGRESS", policy)
			t.Setenv("FITMPI_TRANSPORT", transport)
			for i, b := range badCalls {
				for k, r := range reductions {
					if i > 1 && (i+k)%len(reductions) > 1 {
						continue // each with some others
					}
					t.Run(fmt.Sprintf("%s/%s/%s in %s %d", policy, transport, b.op, r.op, k), func(t *testing.T) {
						badReduction(t, b.op, r.op, b.call, r.run)
					})
				}
			}
		}
	}
}

// badReduction runs a reduction of two ranks that calls what it must not.
func badReduction(t *testing.T, called, op string, call func(world, self *mpi.Comm, never *mpi.Request), run func(c *mpi.Comm, bad func()) error) {
	var said [2]error
	err := mpi.RunThreads(2, func(ctx context.Context, c *mpi.Comm) error {
		c.SetErrhandler(mpi.ErrorsReturn)
		self := c.Self()
		never := mpi.Irecv(self, make([]int, 1), 0, 9)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		d, err := c.Dup(nil)
		if err != nil {
			return err
		}
		err = run(d.WithContext(ctx), func() { call(d, self, never); t.Error("the call has returned") })
		said[c.Rank()] = err
		if err := d.Revoke(); err != nil { // the other rank may wait for this one
			return err
		}
		if err := never.Cancel(); err != nil {
			return err
		}
		return second(never.Wait())
	})
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for _, err := range said {
		if errors.Is(err, mpi.ErrOp) && !strings.Contains(err.Error(), "has found an error in its part") { // it was told, before it called
			wantText(t, err, mpi.ErrOp, op+" on rank", "mpi_test.init", "has called "+called+" at ", "callback_test.go:")
			told++
		}
	}
	if told == 0 {
		t.Errorf("no rank says it: %v", said)
	}
}

// What runs beside a function of the user's that the library calls, on other goroutines, may
// communicate.
func TestOthersCommunicateBesideReductions(t *testing.T) {
	err := mpi.RunThreads(2, func(_ context.Context, c *mpi.Comm) error {
		self := c.Self()
		entered, talked, outcome := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() {
			defer close(talked)
			<-entered
			_, err := mpi.Sendrecv(self, []int{1}, 0, 1, make([]int, 1), 0, 1)
			outcome <- err
		}()
		var once sync.Once
		during := func() { once.Do(func() { close(entered); <-talked }) }
		err := mpi.Allreduce(c, []int{1}, make([]int, 1), func(acc, in []int) {
			during() // the other goroutine communicates while this one is here
			acc[0] += in[0]
		})
		during()
		return errors.Join(err, <-outcome)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Functions of the user's that run in the calls of the goroutine that has made them may
// communicate: attributes', error handlers', generalised requests'.
func TestCallbacksThatMayCommunicate(t *testing.T) {
	for _, policy := range []string{"caller", "assist", "worker"} {
		t.Run(policy, func(t *testing.T) {
			t.Setenv("FITMPI_PROGRESS", policy)
			err := mpi.RunThreads(2, func(_ context.Context, c *mpi.Comm) error {
				calls := 0
				talk := func() error {
					calls++
					peer := 1 - c.Rank()
					_, err := mpi.Sendrecv(c, make([]int64, 20000), peer, 1, make([]int64, 20000), peer, 1)
					return errors.Join(err, mpi.Barrier(c))
				}
				d, err := c.Dup(nil)
				if err != nil {
					return err
				}
				d.SetErrhandler(func(_ *mpi.Comm, _ *mpi.Error) error { return talk() })
				key := mpi.KeyvalCreate(func(_ *mpi.Comm, v int) (int, bool, error) { return v, true, talk() },
					func(_ *mpi.Comm, _ int) error { return talk() })
				if err := key.Set(d, 1); err != nil {
					return err
				}
				e, err := d.Dup(nil)
				if err != nil {
					return err
				}
				g := c.GrequestStart(mpi.GeneralCallbacks{
					Query: func() (mpi.Status, error) { return mpi.Status{}, talk() }, Free: talk,
					Cancel: func(bool) error { return talk() },
				})
				return errors.Join(e.Free(), key.Delete(d), g.Cancel(), g.Complete(), second(g.Wait()),
					mpi.Send(d, []int{1}, 7, 0), d.Free(), talked(calls, 7))
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

func talked(calls, want int) error {
	if calls != want {
		return fmt.Errorf("%d functions were called, want %d", calls, want)
	}
	return nil
}
