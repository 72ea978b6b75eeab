package mpi

import (
	"errors"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/mpi/internal/rma"
)

// Lock begins an epoch of operations with target, whose program need not know (MPI 4.1, section
// 12.5.3). It waits while another rank holds the lock of this target in a way that does not go with
// t: [LockShared] goes with itself only, [LockExclusive] with neither. Ranks that wait get the lock
// in turn. A rank may lock itself. assert may be NoCheck, which takes no lock. If a rank fails that
// holds the lock, those that wait get an error of class [ErrProcFailed]. After that the lock can be
// had again.
func (w *Win) Lock(t LockType, target int, assert Assert) (err error) {
	defer w.beginAccess("Lock", target).endAt(&err)
	const op = "Lock"
	if t != LockExclusive && t != LockShared {
		return w.fail(opErrorf(ErrLocktype, op, "the lock type is %d: need LockExclusive or LockShared", t))
	}
	if err := w.lockable(op, target, assert); err != nil {
		return w.fail(err)
	}
	if target == ProcNull {
		return nil
	}
	if assert&NoCheck == 0 {
		kind := rma.LockShared
		if t == LockExclusive {
			kind = rma.LockExclusive
		}
		if err := w.acquire(op, kind, []int{target}); err != nil {
			return w.fail(err)
		}
	}
	w.note(func(e *rma.Epochs) { e.Lock(target, assert&NoCheck != 0) })
	return nil
}

// lockable is the check of Lock.
func (w *Win) lockable(op string, target int, assert Assert) *Error {
	if err := w.checkTarget(op, target); err != nil {
		return err
	}
	if target == ProcNull {
		return nil
	}
	if err := w.ready(op, assert, NoCheck, func(e *rma.Epochs) error { return e.CanLock(target) }); err != nil {
		return err.with(target)
	}
	return w.locksAllowed(op)
}

// checkTarget says what is wrong with w, or with a rank argument.
func (w *Win) checkTarget(op string, target int) *Error {
	if err := w.usable(op); err != nil {
		return err
	}
	if target != ProcNull && (target < 0 || target >= len(w.ranks)) {
		return opErrorf(ErrRank, op, "target %d: need 0 to %d, or ProcNull", target, len(w.ranks)-1)
	}
	return nil
}

func (w *Win) locksAllowed(op string) *Error {
	if w.hints.get("no_locks", "false") == "true" {
		return opError(ErrRMASync, op, rma.ErrNoLocks)
	}
	return nil
}

// acquire asks targets for their locks and waits until it has them.
func (w *win) acquire(op string, kind rma.Kind, targets []int) (failed *Error) {
	ms := make([]*engine.MSO, len(targets))
	for i, t := range targets {
		ms[i] = w.question(t, kind)
	}
	w.await(ms)
	var held []int
	for i, t := range targets {
		err := w.lockAnswer(op, t, ms[i])
		if err == nil {
			held = append(held, t)
		} else if failed == nil {
			failed = err
		}
	}
	if failed != nil && len(held) > 0 {
		w.flush(op, rma.Unlock, held) // the failure that counts is known
	}
	return failed
}

func (w *win) lockAnswer(op string, target int, m *engine.MSO) *Error {
	if m.Err != nil && !errors.Is(m.Err, engine.ErrTruncated) {
		return w.comm.engineError(op, m.Err, target, 0, 0)
	}
	return w.answered(op, target, m)
}

// Unlock ends the epoch that Lock has begun for target: operations that were started are complete,
// at the target too, when it returns (MPI 4.1, section 12.5.3).
func (w *Win) Unlock(target int) (err error) {
	defer w.beginAccess("Unlock", target).endAt(&err)
	const op = "Unlock"
	if err := w.checkTarget(op, target); err != nil {
		return w.fail(err)
	}
	if target == ProcNull {
		return nil
	}
	if err := w.may(op, func(e *rma.Epochs) error { return e.CanUnlock(target) }); err != nil {
		return w.fail(err.with(target))
	}
	return w.outcome(w.unlock(op, target, []int{target}))
}

// unlock gives back the locks of targets; which is what was locked.
func (w *win) unlock(op string, which int, targets []int) *Error {
	kind := rma.Unlock
	w.mu.Lock()
	if w.epochs.IsUnchecked(which) {
		kind = rma.Flush
	}
	w.mu.Unlock()
	failed := w.flush(op, kind, targets)
	w.note(func(e *rma.Epochs) { e.Unlock(which) })
	return failed
}

// LockAll begins an epoch of operations with all ranks, which it locks as Lock does, all shared
// (MPI 4.1, section 12.5.3). It is not collective. assert may be NoCheck.
func (w *Win) LockAll(assert Assert) (err error) {
	defer w.begin("LockAll").endAt(&err)
	const op = "LockAll"
	if err := w.ready(op, assert, NoCheck, func(e *rma.Epochs) error { return e.CanLock(-1) }); err != nil {
		return w.fail(err)
	}
	if err := w.locksAllowed(op); err != nil {
		return w.fail(err)
	}
	if assert&NoCheck == 0 {
		if err := w.acquire(op, rma.LockShared, w.all()); err != nil {
			return w.fail(err)
		}
	}
	w.note(func(e *rma.Epochs) { e.Lock(-1, assert&NoCheck != 0) })
	return nil
}

// UnlockAll ends the epoch that LockAll has begun, as Unlock does (MPI 4.1, section 12.5.3).
func (w *Win) UnlockAll() (err error) {
	defer w.begin("UnlockAll").endAt(&err)
	const op = "UnlockAll"
	if err := w.ready(op, 0, 0, func(e *rma.Epochs) error { return e.CanUnlock(-1) }); err != nil {
		return w.fail(err)
	}
	return w.outcome(w.unlock(op, -1, w.all()))
}

// Flush returns when all operations that the caller has started with target are complete, at the
// target too: they are visible there, results are in place, and buffers may be used again. Only in
// an epoch of Lock or LockAll (MPI 4.1, section 12.5.4).
func (w *Win) Flush(target int) (err error) {
	defer w.beginAccess("Flush", target).endAt(&err)
	return w.flushOne("Flush", target)
}

// FlushAll is Flush of all targets (MPI 4.1, section 12.5.4).
func (w *Win) FlushAll() (err error) {
	defer w.begin("FlushAll").endAt(&err)
	return w.flushEvery("FlushAll")
}

// FlushLocal returns when the buffers of all operations that the caller has started with target may
// be used again, and results are in place (MPI 4.1, section 12.5.4). Here it is Flush: it costs no
// more than the way there and back.
func (w *Win) FlushLocal(target int) (err error) {
	defer w.beginAccess("FlushLocal", target).endAt(&err)
	return w.flushOne("FlushLocal", target)
}

// FlushLocalAll is FlushLocal of all targets (MPI 4.1, section 12.5.4).
func (w *Win) FlushLocalAll() (err error) {
	defer w.begin("FlushLocalAll").endAt(&err)
	return w.flushEvery("FlushLocalAll")
}

func (w *Win) flushOne(op string, target int) error {
	if err := w.checkTarget(op, target); err != nil {
		return w.fail(err)
	}
	if target == ProcNull {
		return nil
	}
	if err := w.may(op, func(e *rma.Epochs) error { return e.CanFlush(target) }); err != nil {
		return w.fail(err.with(target))
	}
	return w.outcome(w.flush(op, rma.Flush, []int{target}))
}

func (w *Win) flushEvery(op string) error {
	if err := w.ready(op, 0, 0, func(e *rma.Epochs) error { return e.CanFlush(-1) }); err != nil {
		return w.fail(err)
	}
	return w.outcome(w.flush(op, rma.Flush, w.all()))
}

// Sync makes what others have done to the caller's memory visible to the caller, and what the
// caller has done to it visible to them, as far as a processor or a compiler might have kept that
// back. It completes no operations (MPI 4.1, section 12.5.4). It does not wait. To wait for a value
// that another rank puts, a loop reads it by FetchAndOp with NoOp, or by an atomic load: a plain
// one beside the write is a data race to Go.
func (w *Win) Sync() (err error) {
	defer w.begin("Sync").endAt(&err)
	if err := w.usable("Sync"); err != nil {
		return w.fail(err)
	}
	w.comm.job.engine.Sync()
	w.served.atomic.Lock()
	defer w.served.atomic.Unlock()
	return nil
}
