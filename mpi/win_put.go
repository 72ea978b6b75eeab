//go:build linux

package mpi

import (
	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/mpi/internal/rma"
)

// Put copies origin to the window of target, from displacement disp on, which counts elements of
// the target's window (MPI 4.1, section 12.3.1). It returns at once; origin must not be changed
// before a call that completes the operation: Fence, Complete, Unlock, UnlockAll, or a Flush.
// Memory that is meant must lie in the target's window, or the error is of class [ErrRMARange].
// target may be ProcNull: nothing happens then. Layouts: [Win.WithTypes].
//
// T need not be that of the window.
func Put[T any](w *Win, origin []T, target, disp int) error {
	return w.beginAccess("Put", target).end(w.outcome(startPut(w, "Put", origin, target, disp, nil)))
}

// Rput is Put with a request, which is done when origin may be reused; that says nothing of the
// target. Only in an epoch of Lock or LockAll (MPI 4.1, section 12.3.5).
func Rput[T any](w *Win, origin []T, target, disp int) *Request {
	return w.beginAccess("Rput", target).started(requestOf(w, "Rput", target, func(out *remoteAccess) *Error {
		return startPut(w, "Rput", origin, target, disp, out)
	}))
}

// Get copies memory of the window of target, from displacement disp on, to result (MPI 4.1, section
// 12.3.2). It returns at once; result belongs to the operation until a call that completes it:
// Fence, Complete, Unlock, UnlockAll, or a Flush. It is as Put otherwise.
func Get[T any](w *Win, result []T, target, disp int) error {
	return w.beginAccess("Get", target).end(w.outcome(startGet(w, "Get", result, target, disp, nil)))
}

// Rget is Get with a request, which is done when the data are in result. Only in an epoch of Lock
// or LockAll (MPI 4.1, section 12.3.5).
func Rget[T any](w *Win, result []T, target, disp int) *Request {
	return w.beginAccess("Rget", target).started(requestOf(w, "Rget", target, func(out *remoteAccess) *Error {
		return startGet(w, "Rget", result, target, disp, out)
	}))
}

// startPut starts a Put. out, if it is not nil, gets the access, for a request.
func startPut[T any](w *Win, op string, origin []T, target, disp int, out *remoteAccess) *Error {
	x, a, err := remoteAccessWith(w, op, origin, target, disp, out)
	if a == nil || err != nil || a.putDirectly(x, out) {
		return err
	}
	a.each(a.size, func(r *rma.Request, off, n int) {
		r.Tag = a.w.nextTag()
		if n <= rma.Room(len(r.Blocks)) {
			r.Kind = rma.Put
			a.w.ask(target, r, x, off, n)
			return
		}
		r.Kind = rma.PutLong
		a.w.ask(target, r, nil, 0, 0)
		a.post(engine.KindSend, wireTag(r.Tag, tagData), x, off, n)
	})
	a.finish(out)
	return nil
}

func startGet[T any](w *Win, op string, result []T, target, disp int, out *remoteAccess) *Error {
	x, a, err := remoteAccessWith(w, op, result, target, disp, out)
	if a == nil || err != nil || a.getDirectly(x, out) {
		return err
	}
	a.each(a.size, func(r *rma.Request, off, n int) {
		r.Kind, r.Tag = rma.Get, a.w.nextTag()
		a.expect(r.Tag, x, off, n)
		a.w.ask(target, r, nil, 0, 0)
	})
	a.finish(out)
	return nil
}

// remoteAccessWith is remoteAccessOf of a buffer. Both are nil if nothing is to be done.
func remoteAccessWith[T any](w *Win, op string, buf []T, target, disp int, out *remoteAccess) (*winOperand, *remoteAccess, *Error) {
	if err := w.usable(op); err != nil {
		return nil, nil, err
	}
	if _, err := windowElem[T](op); err != nil {
		return nil, nil, err
	}
	x, err := winOperandOf(w, op, buf)
	if err != nil {
		return nil, nil, err
	}
	a, err := remoteAccessOf[T](w, op, x.size(), target, disp)
	if a == nil || err != nil {
		return nil, nil, err
	}
	a.requested = out != nil
	return &x, a, nil
}

// finish says that all requests of a were sent.
func (a *remoteAccess) finish(out *remoteAccess) {
	a.w.touch(a.target)
	if out != nil {
		*out = *a
	}
}

// requestOf is the request of an operation that start starts.
func requestOf(w *Win, op string, target int, start func(out *remoteAccess) *Error) *Request {
	if err := w.usable(op); err != nil {
		if w == nil || w.win == nil {
			r := newRequest(nil, op)
			r.collected, r.status = true, emptyStatus()
			r.more().err = err
			return r
		}
		return failedRequest(w.comm, err)
	}
	if target >= 0 {
		w.mu.Lock()
		err := w.epochs.CanFlush(target)
		w.mu.Unlock()
		if err != nil {
			return failedRequest(w.comm, opError(ErrRMASync, op, err).with(target))
		}
	}
	var a remoteAccess
	if err := start(&a); err != nil {
		return failedRequest(w.comm, err)
	}
	r := newRequest(w.comm, op)
	r.peer, r.held = int32(target), true
	if len(a.posted) == 0 {
		w.comm.job.engine.Poll() // Test and Wait find it done, and a program may spin in them
		return r.settled(emptyStatus(), nil)
	}
	// The last is the last to be done, or nearly so.
	r.m = a.posted[len(a.posted)-1]
	r.more().finish = func(*Request) (Status, *Error) {
		w.comm.job.engine.WaitMany(len(a.posted), a.posted)
		return emptyStatus(), w.failureOf(op, target, a.posted)
	}
	return r
}
