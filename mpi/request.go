//go:build linux

package mpi

import (
	"sync"

	"github.com/fitmpi/fitmpi/engine"
)

// Request is an operation that was started and must be completed with Wait,
// Test or one of their family (MPI 4.1, section 3.7). It keeps its buffers
// alive. A nil *Request counts as a null request: done, with an empty status.
//
// Different requests may be used by different goroutines at once; one request
// belongs to one goroutine at a time.
type Request struct {
	// Immutable after the operation is started.
	c      *Comm
	op     string
	peer   int // rank argument, for errors
	elem   *elem
	bufLen int                             // elements of the receive buffer
	finish func(*Request) (Status, *Error) // delivers the result, in the thread that waits
	start  func() *Error                   // persistent: posts once more; nil otherwise
	m      *engine.MSO                     // nil: nothing is pending (settled), or its results are collected
	extra  *engine.MSO                     // the send of an Isendrecv
	own    *engine.MSO                     // the memory of m, mostly; see mso

	general *general // generalised request
	parts   *parts   // partitioned; immutable after the request is made

	mark uint64 // owned by the goroutine that waits: the last waitFor that saw it

	mu        sync.Mutex
	collected bool   // guarded by mu: the results below are valid
	delivered bool   // guarded by mu: the user has been told; what MPI calls a null or inactive request
	status    Status // guarded by mu
	err       error  // guarded by mu
}

func newRequest(c *Comm, op string) *Request { return &Request{c: c, op: op, peer: -1} }

// mso returns the message state object of r, taking one when r has none. It goes
// back when the results are collected: an MSO is several times as large as the rest
// of a request, and programs make millions of them.
func (r *Request) mso() *engine.MSO {
	if r.own == nil {
		r.own = getMSO()
	}
	return r.own
}

// recycle gives back the MSOs of a request whose results are collected. Not those of
// a persistent request, nor those that a context may still be about to end.
func (r *Request) recycle() {
	if r.start != nil || r.general != nil || r.own == nil || r.c.ctx != nil && r.c.ctx.Done() != nil {
		return
	}
	if r.m == r.own {
		r.m = nil
	}
	putMSO(r.own)
	r.own = nil
	if r.extra != nil {
		putMSO(r.extra)
		r.extra = nil
	}
}

// failedRequest is the request of an operation whose arguments were wrong.
func failedRequest(c *Comm, err *Error) *Request {
	r := newRequest(c, err.Op)
	return r.settled(emptyStatus(), err)
}

// settled makes r a request that is done.
func (r *Request) settled(st Status, err *Error) *Request {
	r.collected, r.status = true, st
	if err != nil {
		r.err = r.c.fail(err)
	}
	return r
}

// isDone reports whether Wait would return at once.
func (r *Request) isDone() bool {
	return r == nil || (r.m == nil || r.m.IsDone()) && (r.extra == nil || r.extra.IsDone())
}

// collect delivers the results of a request that is done.
func (r *Request) collect() (Status, error) {
	if r == nil {
		return emptyStatus(), nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.delivered && r.start != nil {
		return emptyStatus(), nil
	}
	if !r.collected {
		st, err := r.result()
		r.collected, r.status = true, st
		if err != nil {
			r.err = r.c.fail(err)
		}
		r.recycle()
	}
	r.delivered = true
	return r.status, r.err
}

// result computes the outcome from the MSOs.
func (r *Request) result() (Status, *Error) {
	if x := r.extra; x != nil && x.Err != nil {
		return emptyStatus(), r.c.engineError(r.op, x.Err, r.peer, 0, 0)
	}
	switch m := r.m; {
	case r.general != nil:
		return r.general.result(r)
	case r.finish != nil:
		return r.finish(r)
	case m == nil:
		return emptyStatus(), nil
	case m.Kind == engine.KindRecv:
		return r.c.plainResult(r.op, m, r.elem, r.bufLen)
	case m.Err != nil:
		return emptyStatus(), r.c.engineError(r.op, m.Err, r.peer, 0, 0)
	default:
		st := emptyStatus()
		st.Cancelled = m.Cancelled
		return st, nil
	}
}

// Wait returns when the operation is complete: its buffers are the caller's
// again, and the status of a receive says what came (MPI 4.1, section 3.7.3).
// Waiting again returns the same. If the context of the communicator ends
// first, so does the operation.
func (r *Request) Wait() (Status, error) {
	if !r.isDone() {
		one := [1]*Request{r}
		waitFor(1, one[:])
	}
	return r.collect()
}

// Test is Wait that does not wait: done says whether the operation is complete
// (MPI 4.1, section 3.7.3). It costs one atomic load.
func (r *Request) Test() (st Status, done bool, err error) {
	if !r.isDone() {
		r.c.job.engine.Test(r.pending())
		if !r.isDone() {
			return Status{}, false, nil
		}
	}
	st, err = r.collect()
	return st, true, err
}

// GetStatus is Test that leaves the request as it is: WaitAny still finds it,
// and a persistent request stays active (MPI 4.1, section 3.7.6).
func (r *Request) GetStatus() (st Status, done bool, err error) {
	if r != nil && r.general != nil {
		return r.generalStatus()
	}
	active := r.active()
	st, done, err = r.Test()
	if done && active {
		r.mu.Lock()
		r.delivered = false
		r.mu.Unlock()
	}
	return st, done, err
}

// generalStatus asks for the status of a generalised request without completing it.
func (r *Request) generalStatus() (Status, bool, error) {
	if !r.isDone() {
		return Status{}, false, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.collected {
		return r.status, true, r.err
	}
	st, err := r.general.query(r)
	if err != nil {
		return st, true, r.c.fail(err)
	}
	return st, true, nil
}

// pending returns an MSO that was not done just now, if there is more than one.
//
// Preconditions:
//   - r was not done just now.
func (r *Request) pending() *engine.MSO {
	if r.extra == nil || r.m != nil && !r.m.IsDone() {
		return r.m
	}
	return r.extra
}

// Cancel asks for the operation to be withdrawn: either it is, and the status
// has Cancelled set, or it completes as usual (MPI 4.1, section 3.8.4). It does
// not wait: complete the request as always.
func (r *Request) Cancel() error {
	switch {
	case r == nil || r.isDone():
	case r.general != nil:
		return r.general.cancel()
	case r.m != nil:
		r.c.job.engine.Cancel(r.m)
	}
	return nil
}

// Free lets go of r: the operation completes in the background, and nobody
// learns how (MPI 4.1, section 3.7.3). A request need not be freed.
func (r *Request) Free() error {
	if r != nil && r.general != nil {
		return r.general.free()
	}
	return nil
}
