//go:build linux

package mpi

import (
	"iter"
	"slices"
)

// Completion is a request of a list that is complete.
type Completion struct {
	Index  int // in the list
	Status Status
	Err    error // why the operation failed; nil if it did not
}

// AsCompleted waits for the requests of rs and yields each when it is complete, with its place in
// rs. It is a loop of [WaitSome] that tells the outcome of each request (MPI 4.1, section 3.7.5).
// It blocks while none is complete. Requests that are nil or inactive are left out. Those that are
// left when the loop is left are as they were. No counterpart in MPI.
//
//	for i, done := range mpi.AsCompleted(rs...) {
//		if done.Err != nil {
//			return done.Err
//		}
//		use(bufs[i][:done.Status.Count])
//	}
func AsCompleted(rs ...*Request) iter.Seq2[int, Completion] {
	return func(yield func(int, Completion) bool) {
		act, at := actives(rs)
		wait := func(act []*Request) {
			defer beginRequests("AsCompleted", act).end(nil)
			waitFor(1, act)
		}
		eachCompleted(act, wait, func(i int, st Status, err error) bool {
			return yield(at[i], Completion{at[i], st, err})
		})
	}
}

// Completions returns a channel on which the requests of rs come as they complete, for programs
// that select. It is closed after the last. It has room for all, so a program need not read it to
// the end, but until it is closed the requests are the library's: no other call may be given them.
// Requests that are nil or inactive are left out. No counterpart in MPI.
//
// While a program waits on the channel only, nothing tells the library that it waits: a deadlock is
// not found there.
func Completions(rs ...*Request) <-chan Completion {
	defer beginRequests("Completions", rs).end(nil)
	done := make(chan Completion, len(rs))
	act, at := actives(slices.Clone(rs))
	go func() {
		defer close(done)
		eachCompleted(act, func(act []*Request) { waitBounded(1, act) }, func(i int, st Status, err error) bool {
			done <- Completion{at[i], st, err}
			return true
		})
	}()
	return done
}

// eachCompleted waits for rs, which are active, and calls found with the index and the outcome of
// each that is complete, until that returns false.
func eachCompleted(rs []*Request, wait func([]*Request), found func(int, Status, error) bool) {
	left, at := slices.Clone(rs), make([]int, len(rs))
	for i := range at {
		at[i] = i
	}
	for len(left) > 0 {
		wait(left)
		n := 0
		for k, r := range left {
			if !r.isOver() {
				left[n], at[n] = r, at[k]
				n++
				continue
			}
			if st, err := r.collect(); !found(at[k], st, err) {
				return
			}
		}
		clear(left[n:])
		left = left[:n]
	}
}
