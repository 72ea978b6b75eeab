package mpi

import "iter"

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
		wait := func(act []*Request) {
			defer beginRequests("AsCompleted", act).end(nil)
			waitFor(1, act)
		}
		act, at := actives(rs)
		eachCompleted(act, at, wait, func(c Completion) bool { return yield(c.Index, c) })
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
	act, at := actives(rs)
	go func() {
		defer close(done)
		eachCompleted(act, at, func(act []*Request) { waitBounded(1, act) }, func(c Completion) bool {
			done <- c
			return true
		})
	}()
	return done
}

// eachCompleted waits for act, which stand at their places in a list, and calls found with each
// that is complete, until that returns false. It uses both slices up.
func eachCompleted(act []*Request, at []int, wait func([]*Request), found func(Completion) bool) {
	for len(act) > 0 {
		wait(act)
		n := 0
		for k, r := range act {
			if !r.isOver() {
				act[n], at[n] = r, at[k]
				n++
				continue
			}
			st, err := r.collect()
			if !found(Completion{at[k], st, err}) {
				return
			}
		}
		act, at = act[:n], at[:n]
	}
}
