package mpi_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// gaps has padding: values of it are packed to travel, and unpacked to be combined.
type gaps struct {
	a int8
	b int64
}

// foreignReductions have the engine call an operation of the user's, each in its way: with elements
// in memory, short and long, laid out and serialised, in all kinds of reductions, once and
// persistent.
var foreignReductions = []struct {
	op  string
	run func(c *mpi.Comm, bad func()) *mpi.Request
}{
	{"Iallreduce", func(c *mpi.Comm, bad func()) *mpi.Request {
		return mpi.Iallreduce(c, []int{1}, make([]int, 1), opOf[int](bad))
	}},
	{"Iallreduce", func(c *mpi.Comm, bad func()) *mpi.Request {
		return mpi.Iallreduce(c, make([]int, 200000), make([]int, 200000), mpi.Commutative(opOf[int](bad)))
	}},
	{"Iallreduce", func(c *mpi.Comm, bad func()) *mpi.Request {
		return mpi.Iallreduce(c, []gaps{{1, 2}, {a: 3}, {b: 4}}, make([]gaps, 3), opOf[gaps](bad))
	}},
	{"Iallreduce", func(c *mpi.Comm, bad func()) *mpi.Request {
		return mpi.Iallreduce(c, []string{"a"}, make([]string, 1), opOf[string](bad))
	}},
	{"Ireduce", func(c *mpi.Comm, bad func()) *mpi.Request {
		return mpi.Ireduce(c, []int{1}, make([]int, 1), opOf[int](bad), 0)
	}},
	{"Ireduce", func(c *mpi.Comm, bad func()) *mpi.Request {
		return mpi.Ireduce(c, []string{"a"}, make([]string, 1), opOf[string](bad), 0)
	}},
	{"IreduceScatter", func(c *mpi.Comm, bad func()) *mpi.Request {
		return mpi.IreduceScatter(c, make([]int, 6), make([]int, 1+c.Rank()), []int{1, 2, 3}, opOf[int](bad))
	}},
	{"IreduceScatterBlock", func(c *mpi.Comm, bad func()) *mpi.Request {
		return mpi.IreduceScatterBlock(c, make([]string, 3), make([]string, 1), opOf[string](bad))
	}},
	{"Iscan", func(c *mpi.Comm, bad func()) *mpi.Request {
		return mpi.Iscan(c, []int{1}, make([]int, 1), opOf[int](bad))
	}},
	{"Iexscan", func(c *mpi.Comm, bad func()) *mpi.Request {
		return mpi.Iexscan(c, []int{1}, make([]int, 1), opOf[int](bad))
	}},
	{"AllreduceInit", func(c *mpi.Comm, bad func()) *mpi.Request {
		return mpi.AllreduceInit(c, []int{1}, make([]int, 1), opOf[int](bad))
	}},
	{"ReduceInit", func(c *mpi.Comm, bad func()) *mpi.Request {
		return mpi.ReduceInit(c, []string{"a"}, make([]string, 1), opOf[string](bad), 0)
	}},
}

// opOf is an operation that calls bad.
func opOf[T any](bad func()) mpi.Op[T] { return func(_, _ []T) { bad() } }

// endBadly says how an operation can end that does not return, and what its reduction says then.
var endBadly = []struct {
	name string
	end  func(t *testing.T)
	want []string
}{
	{"Goexit", func(*testing.T) { runtime.Goexit() }, []string{"ended its goroutine instead of returning (runtime.Goexit, ", "mpi_test.", "coll_op_goexit_test.go:"}},
	{"SkipNow", func(*testing.T) { new(testing.T).SkipNow() }, []string{"ended its goroutine instead of returning (runtime.Goexit, ", "coll_op_goexit_test.go:"}},
	{"panic", func(*testing.T) { panic("boom") }, []string{"panic: boom"}},
}

// An operation that ends its goroutine makes the reduction fail, and the error says so, whatever
// makes progress. It does not take along the goroutine that makes progress, just as one that panics
// does not. That goroutine may be the worker, a caller with something else to do, or another rank.
func TestReductionEndsGoroutine(t *testing.T) {
	for _, policy := range []string{"caller", "assist", "worker"} {
		for _, transport := range mpi.TransportsHere() {
			t.Setenv("FITMPI_PROGRESS", policy)
			t.Setenv("FITMPI_TRANSPORT", transport)
			for _, end := range endBadly {
				for i, r := range foreignReductions {
					t.Run(fmt.Sprintf("%s/%s/%s/%s %d", policy, transport, end.name, r.op, i), func(t *testing.T) {
						failingReduction(t, r.op, func(c *mpi.Comm) *mpi.Request { return r.run(c, func() { end.end(t) }) }, end.want)
					})
				}
			}
		}
	}
}

// failingReduction has three ranks start a reduction that fails at one of them at least.
func failingReduction(t *testing.T, op string, start func(c *mpi.Comm) *mpi.Request, want []string) {
	const n = 3
	var said [n]error
	var returned [n]bool
	err := mpi.RunThreads(n, func(_ context.Context, c *mpi.Comm) error {
		d, err := c.Dup(nil)
		if err != nil {
			return err
		}
		r := start(d)
		if strings.HasSuffix(op, "Init") {
			err = r.Start() // which fails if another rank has revoked d already
		}
		if err == nil {
			err = second(r.Wait())
		}
		if said[c.Rank()] = err; err != nil {
			if err := d.Revoke(); err != nil { // the others may wait for this one
				return err
			}
		}
		returned[c.Rank()] = true
		return mpi.Barrier(c) // which others than the operation do not notice
	})
	if err != nil {
		t.Fatal(err)
	}
	if returned != [n]bool{true, true, true} {
		t.Errorf("ranks that have gone on: %v, want all", returned)
	}
	failed := 0
	for r, err := range said {
		if err == nil || mpi.ClassOf(err) == mpi.ErrRevoked || strings.Contains(err.Error(), "has found an error in its part") {
			continue // by another's operation
		}
		failed++
		wantText(t, err, mpi.ErrOther, append(want, op+" on rank "+fmt.Sprint(r))...)
	}
	if failed == 0 {
		t.Errorf("the ranks were told %v, want one that the operation has failed", said)
	}
}

// Callers that are locked to their threads and others take turns at driving: what runs a function
// of the user's beside one of them is not used beside the other.
func TestReductionsByLockedCallers(t *testing.T) {
	for _, policy := range []string{"caller", "assist", "worker"} {
		for _, transport := range mpi.TransportsHere() {
			t.Run(policy+"/"+transport, func(t *testing.T) {
				t.Setenv("FITMPI_PROGRESS", policy)
				t.Setenv("FITMPI_TRANSPORT", transport)
				if err := mpi.RunThreads(2, reduceInTurns); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// reduceInTurns has goroutines reduce, every other of which is locked to its thread.
func reduceInTurns(_ context.Context, c *mpi.Comm) error {
	add := func(acc, in []int) {
		for i := range acc {
			acc[i] += in[i]
		}
	}
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		d, err := c.Dup(nil)
		if err != nil {
			return err
		}
		wg.Go(func() {
			if i%2 == 0 {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
			}
			for n := 1; n < 30000 && errs[i] == nil; n *= 3 {
				in, out := make([]int, n), make([]int, n)
				in[n-1] = i + 1
				if _, errs[i] = mpi.Iallreduce(d, in, out, add).Wait(); errs[i] == nil && out[n-1] != 2*i+2 {
					errs[i] = fmt.Errorf("the sum of twice %d is %d", i+1, out[n-1])
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
