package calls

import (
	"sync"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/mpi"
)

// request is one that was not complete when the call that made it returned, or is persistent.
type request struct {
	r          *mpi.Request
	on         owner // gets its errors
	persistent bool
	collective bool         // it must not be freed while it is active
	done       func() error // nil, or delivers what the operation has made
	asked      *status      // of a generalised one: what its query function writes; else nil
	ends       ending       // nil, or makes the outcome from that of r
}

// ending makes the outcome of an operation that is done. It may be called again, and says the same.
type ending func(mpi.Status, error) (mpi.Status, error)

// outcomeOf is what a request that is done has come to.
func (q *request) outcomeOf(st mpi.Status, err error) (mpi.Status, error) {
	if q.ends == nil {
		return st, err
	}
	return q.ends(st, err)
}

// requests are by place in the slab: what Go has of one beside its slot. Those of a chunk belong to
// what has taken their slots.
var requests struct {
	list  [chunks]atomic.Pointer[[chunk]request] // set by what holds mu
	mu    sync.Mutex
	grown int // guarded by mu: chunks that there are
}

// requestAt is the request at a place that is taken.
func requestAt(i int) *request { return &requests.list[i/chunk].Load()[i%chunk] }

// takeSlot returns a free place.
func takeSlot() int {
	for {
		if i, ok := shared.take(); ok {
			return i
		}
		growRequests()
	}
}

// growRequests makes places, unless there are free ones.
func growRequests() {
	requests.mu.Lock()
	defer requests.mu.Unlock()
	if requests.grown > 0 { // others may have made places, or given some back
		if i, ok := shared.take(); ok {
			shared.give(i)
			return
		}
	}
	if n := requests.grown; n < chunks {
		requests.list[n].Store(new([chunk]request))
	}
	shared.grow(requests.grown)
	requests.grown++
}

// keep gives a request a handle.
func keep(q request) handle {
	i := takeSlot()
	*requestAt(i) = q
	s := shared.slot(i)
	s.tested = [2]uint64{}
	s.state.Store(q.pending())
	return handleOf(kindRequest, i)
}

// pending is the state of a request that is not done. A test of a persistent one that is inactive,
// and of a generalised one, must always ask.
func (q *request) pending() int32 {
	if q.persistent || q.asked != nil || !progressAlone.Load() {
		return requestPending
	}
	return requestAlone
}

// progressAlone says that the library makes progress while no call does.
var progressAlone atomic.Bool

// placeOf is where a handle of a request is, or -1.
func placeOf(h handle) int {
	if kind(h&15) != kindRequest || h>>8 < firstPlace {
		return -1
	}
	i := int(h>>8) - firstPlace
	if s := shared.slot(i); s == nil || s.state.Load() == requestFree {
		return -1
	}
	return i
}

// find returns the request of a handle: nil of the null handle, and of one that is done and has no
// more than its status.
func findRequest(h handle) *request {
	if h == abi.RequestNull {
		return nil
	}
	i := placeOf(h)
	if i < 0 {
		panic(failf(abi.ErrRequest, "%#x is no request, or one that was freed", uintptr(h)))
	}
	if q := requestAt(i); q.r != nil {
		return q
	}
	return nil
}

// drop frees the handle at p, whose request is gone then.
func drop(p *handle) {
	i := placeOf(*p)
	*p = abi.RequestNull
	if i < 0 {
		return
	}
	if i != sentPlace {
		*requestAt(i) = request{}
		shared.give(i)
	}
}

// started writes the handle of an operation that was begun to argument i.
func (c *call) started(i int, r *mpi.Request) error {
	return c.startedAs(i, request{r: r, on: c.on})
}

// startedAs is started of what is more than its operation. If it is done it is no more than its
// status: the C half completes it.
func (c *call) startedAs(i int, q request) error {
	if !q.r.IsComplete() {
		c.setHandle(i, keep(q))
		return nil
	}
	st, err := q.outcomeOf(q.r.Wait())
	switch {
	case err != nil:
		c.setHandle(i, abi.RequestNull)
	case st == emptyStatus:
		c.setSent(i)
	default:
		c.setDone(i, st)
	}
	return err
}

// setSent writes the one handle of all that was done as it began and has an empty status.
func (c *call) setSent(i int) {
	if shared.slot(sentPlace) == nil {
		growRequests()
	}
	c.setHandle(i, handleOf(kindRequest, sentPlace))
}

// setDone writes the handle of an operation that is done.
func (c *call) setDone(i int, st mpi.Status) {
	p := takeSlot()
	s := shared.slot(p)
	s.status.set(st)
	s.state.Store(requestDone)
	c.setHandle(i, handleOf(kindRequest, p))
}

// made writes the handle of a persistent request. One whose arguments were wrong says so here.
func (c *call) made(i int, r *mpi.Request, collective bool) error {
	if r.IsComplete() {
		if _, err := r.Wait(); err != nil {
			c.setHandle(i, abi.RequestNull)
			return err
		}
	}
	c.setHandle(i, keep(request{r: r, on: c.on, persistent: true, collective: collective}))
	return nil
}

// emptyStatus is that of what has received nothing.
var emptyStatus = mpi.Status{Source: mpi.AnySource, Tag: mpi.AnyTag}

// empty writes an empty status, if there is room for one.
func (c *call) empty(addr int64) {
	if addr != 0 {
		at[status](addr).set(emptyStatus)
	}
}

// setStatus writes a status to argument i, unless it is ignored.
func (c *call) setStatus(i int, st mpi.Status) {
	if c.args[i] != 0 {
		at[status](c.args[i]).set(st)
	}
}
