package mpi

import (
	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/callsite"
)

// Request is an operation that was started and must be completed with Wait,
// Test or one of their family (MPI 4.1, section 3.7). It keeps its buffers
// alive. A nil *Request counts as a null request: done, with an empty status.
//
// Different requests may be used by different goroutines at once; one request
// belongs to one goroutine at a time.
type Request struct {
	c *Comm // immutable

	// Owned by the goroutine that waits.
	*work            // what it is about; nil when it is over, and no more than its status is to be known
	status    Status // valid if collected, as rare.err
	collected bool
	delivered bool // the user has been told; what MPI calls a null or inactive request

	made maker // immutable after the operation is started, until it is freed; here it needs no room, nor does what follows

	left uint32 // how often firstDone has found it complete and returned another; owned by the goroutine that waits
}

// mso returns the message state object of r, taking one when r has none. It goes
// back when the results are collected: an MSO is several times as large as the rest
// of a request, and programs make millions of them.
func (r *Request) mso() *engine.MSO {
	if r.own == nil {
		r.own = getMSO()
		callsite.Note(r.own.Origin[:])
	}
	return r.own
}

// recycle gives back what a request whose results are collected needs no more. Not what is of
// a persistent request, nor what a context may still be about to end.
func (r *Request) recycle() {
	if r.work == nil || r.own == nil || r.c.mayEnd() {
		return
	}
	if x := r.rare; x != nil {
		if x.start != nil || x.general != nil {
			return
		}
		if x.finish = nil; x.extra != nil {
			putMSO(x.extra)
			x.extra = nil
		}
	}
	if r.m == r.own {
		r.m = nil
	}
	if r.brief && r.rare == nil {
		putWork(r.work)
		r.work = nil
		return
	}
	putMSO(r.own)
	r.own = nil
}

// failedRequest is the request of an operation whose arguments were wrong.
func failedRequest(c *Comm, err *Error) *Request {
	r := newRequest(c, err.Op)
	return r.settled(emptyStatus(), err)
}

// settled makes r a request that is done, of which nothing is with the engine.
func (r *Request) settled(st Status, err *Error) *Request {
	r.collected = true
	r.status = st
	if err != nil {
		r.more().err = r.c.fail(err)
	}
	r.recycle()
	return r
}

// isDone reports whether the operation is complete.
func (r *Request) isDone() bool {
	return r == nil || r.work == nil || (r.m == nil || r.m.IsDone()) && (r.extra() == nil || r.extra().IsDone())
}

// isOver reports whether Wait would return at once.
func (r *Request) isOver() bool {
	return r == nil || r.work == nil || (r.m == nil || r.m.IsOver()) && (r.extra() == nil || r.extra().IsOver())
}

// isStirred reports whether there is no point in waiting for r although it is not complete: see
// pendingError.
func (r *Request) isStirred() bool { return r != nil && r.work != nil && r.m != nil && r.m.IsStirred() }

// pendingError is the error of a receive from any source that waits beside a failure which is not
// acknowledged; nil if that has just been done, or the request completed. The request stays active.
func (r *Request) pendingError() error {
	err := r.c.job.engine.Lost(r.m.Ctx, engine.AnyPeer, r.m.Member)
	if err == nil || !r.isStirred() {
		return nil
	}
	e := r.c.engineError(r.op, err, -1, 0, 0)
	if e.Class == ErrProcFailed {
		e.Class = ErrProcFailedPending
	}
	return r.c.fail(e)
}

// collect delivers the results of a request that is done.
func (r *Request) collect() (Status, error) {
	if r == nil {
		return emptyStatus(), nil
	}
	if r.collected && (r.work == nil || r.rare == nil) { // as that of a short send
		r.delivered = true
		return r.status, nil
	}
	for r.isStirred() {
		if err := r.pendingError(); err != nil {
			return emptyStatus(), err
		}
		r.await()
	}
	if r.delivered && r.isPersistent() {
		return emptyStatus(), nil
	}
	if r.collectClean() {
		return r.status, nil
	}
	if !r.collected {
		st, err := r.result()
		if err == nil && r.rare != nil && r.rare.checked != nil {
			err = r.rare.checked.changed(r.op)
		}
		r.collected = true
		r.status = st
		if err != nil {
			if r.own != nil {
				err.begunAt(r.own.Origin[:])
			}
			r.more().err = r.c.fail(err)
		}
		r.recycle()
	}
	r.deliver(true)
	return r.status, r.failure()
}

// collectClean collects a receive that brought what it asked for, and has no more to do than to say
// so; it reports false if r is not one. The result is made where it stays.
func (r *Request) collectClean() bool {
	if r.work == nil || r.collected || r.rare != nil || r.m == nil {
		return false
	}
	m := r.m
	if m.Kind != engine.KindRecv || m.Err != nil || m.Cancelled || m.GotObject || elemClass(m.GotElem) != r.elem.class || !m.IsDone() || r.c.job.checks {
		return false
	}
	r.collected, r.delivered = true, true
	r.status.receive(r.c.rankOf(m.Source), m.GotTag, m.Length, m.GotElem, r.elem)
	r.recycle()
	return true
}

// deliver notes whether the user has been told, where others may look too.
func (r *Request) deliver(told bool) {
	r.delivered = told
	if r.work == nil || r.rare == nil {
		return
	}
	if r.rare.parts != nil {
		r.rare.parts.told.Store(told)
	}
	if r.rare.checked != nil {
		r.rare.checked.told(r, told)
	}
}

// result computes the outcome from the MSOs. Where two belong together and the send has failed the
// status still says what was received, if anything was: that message is in the buffer, and will not
// come again.
func (r *Request) result() (Status, *Error) {
	st, err := r.first()
	if x := r.extra(); x != nil && x.Err != nil {
		if err != nil {
			st = emptyStatus()
		}
		err = r.c.engineError(r.op, x.Err, int(r.peer), 0, 0)
	}
	return st, err
}

// first is the outcome of the first MSO, of two.
func (r *Request) first() (Status, *Error) {
	if x := r.rare; x != nil {
		switch {
		case x.general != nil:
			return x.general.result(r)
		case x.finish != nil:
			return x.finish(r)
		}
	}
	switch m := r.m; {
	case m == nil:
		return emptyStatus(), nil
	case m.Kind == engine.KindRecv:
		return r.c.plainResult(r.op, m, r.elem, r.bufLen)
	case m.Err != nil:
		return emptyStatus(), r.c.engineError(r.op, m.Err, int(r.peer), 0, 0)
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
	if told := r.begin("Wait"); told != nil {
		return told.received(r.wait())
	}
	return r.wait()
}

func (r *Request) wait() (Status, error) {
	r.await()
	return r.collect()
}

// await returns when r is over.
func (r *Request) await() {
	switch {
	case r.isOver():
	case r.rare == nil && !r.c.mayEnd(): // one operation, which messages end
		refuseCallbacks()
		r.c.job.engine.Wait(r.m)
	default:
		one := [1]*Request{r}
		waitFor(1, one[:])
	}
}

// Test is Wait that does not wait: done says whether the operation is complete
// (MPI 4.1, section 3.7.3). It costs one atomic load, and where no worker does it at once
// (FITMPI_PROGRESS=caller, FITMPI_MODERATION) a look at what has arrived: in shared memory, and by
// sockets if the last look there is 2 us ago.
func (r *Request) Test() (st Status, done bool, err error) {
	told := r.begin("Test")
	st, done, err = r.test()
	told.endTest(&st, &done, &err)
	return st, done, err
}

func (r *Request) test() (st Status, done bool, err error) {
	if !r.isOver() {
		refuseCallbacks()
		r.c.job.engine.Test(r.pending())
		if !r.isOver() {
			return Status{}, false, nil
		}
	}
	if r.isStirred() {
		return Status{}, false, r.pendingError()
	}
	st, err = r.collect()
	return st, true, err
}

// IsComplete reports whether the operation is complete, so that Wait returns at once. Unlike
// [Request.Test] it neither looks at what has arrived nor takes the result: a loop that calls
// nothing else may never see it change. That of an inactive or a nil request is complete.
func (r *Request) IsComplete() bool { return r.isDone() }

// GetStatus is Test that leaves the request as it is: WaitAny still finds it,
// and a persistent request stays active (MPI 4.1, section 3.7.6).
func (r *Request) GetStatus() (st Status, done bool, err error) {
	defer r.begin("GetStatus").endTest(&st, &done, &err)
	return r.getStatus()
}

func (r *Request) getStatus() (st Status, done bool, err error) {
	if r != nil && r.generalised() != nil {
		return r.generalStatus()
	}
	active := r.active()
	st, done, err = r.test()
	if done && active {
		r.deliver(false)
	}
	return st, done, err
}

// generalStatus asks for the status of a generalised request without completing it.
func (r *Request) generalStatus() (Status, bool, error) {
	if !r.isDone() && !r.c.job.engine.Test(r.m) {
		return Status{}, false, nil
	}
	if r.collected {
		return r.status, true, r.failure()
	}
	st, err := r.rare.general.query(r)
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
	if x := r.extra(); x != nil && (r.m == nil || r.m.IsOver()) {
		return x
	}
	return r.m
}

// Cancel asks for the operation to be withdrawn: either it is, and the status
// has Cancelled set, or it completes as usual (MPI 4.1, section 3.8.4). It does
// not wait: complete the request as always.
func (r *Request) Cancel() (err error) {
	defer r.begin("Cancel").endAt(&err)
	switch {
	case r == nil:
	case r.generalised() != nil: // its function is told whether it is complete (MPI 4.1, section 13.2)
		return r.rare.general.cancel()
	case r.isDone():
	case r.m != nil:
		r.c.job.engine.Cancel(r.m)
	}
	return nil
}

// Free lets go of r: the operation completes in the background, and its outcome is not told. From
// then on r counts as a null request, in lists of requests too, and cannot be started any more (MPI
// 4.1, section 3.7.3). A request need not be freed. What a receive that was freed brings may stay
// undelivered.
//
// The request of a collective operation, of a partitioned message or of an operation on a window
// cannot be freed while it is active (MPI 4.1, sections 6.12 and 12.3.5). That is an error of class
// [ErrRequest], and the request stays as it is. If the operation could not be started, as with bad
// arguments, and that was not told yet, Free returns the error.
func (r *Request) Free() (err error) {
	defer r.begin("Free").endAt(&err)
	if r == nil || r.made == madeFreed {
		return nil
	}
	if err := r.failure(); err != nil && !r.delivered {
		r.letGo()
		return err
	}
	if r.work != nil && r.held && !r.delivered {
		return r.c.fail(opErrorf(ErrRequest, "Free", "the request is %s, which cannot be freed while it is active: complete it with Wait or Test first", r.maker()))
	}
	g := r.generalised()
	r.letGo()
	if g != nil {
		return g.free()
	}
	return nil
}

// letGo makes r null. What is under way is the engine's alone then: r, or others of its room, may
// be kept, and would keep its buffers. Only what the user is still to complete stays with r.
func (r *Request) letGo() {
	r.heard()
	r.collected, r.delivered, r.made = true, true, madeFreed
	r.status = emptyStatus()
	if g := r.generalised(); g != nil && g.own == nil {
		r.m, r.rare.err = nil, nil
		return
	}
	r.work = nil
}
