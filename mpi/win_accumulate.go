package mpi

import (
	"github.com/fitmpi/fitmpi/mpi/internal/layout"
	"github.com/fitmpi/fitmpi/mpi/internal/rma"
)

// Accumulate combines origin with memory of the window of target, from displacement disp on: there,
// each value becomes value∘origin's (MPI 4.1, section 12.3.4). op is one of the predefined
// operations, such as mpi.Sum, [Replace] and [NoOp] among them; a function of the program's is an
// error of class [ErrOp].
//
// Accumulate, GetAccumulate, FetchAndOp, CompareAndSwap and their like may meet at one place, from
// any ranks and in any order: each value is changed in one step, and those of one rank are applied
// in the order of its calls. It is as Put otherwise.
func Accumulate[T any](w *Win, origin []T, target, disp int, op Op[T]) error {
	return w.beginAccess("Accumulate", target).end(w.outcome(startAccumulate(w, "Accumulate", origin, nil, target, disp, op, nil)))
}

// Raccumulate is Accumulate with a request, which is done when origin may be reused. That does not
// say that the data are at the target. Only in an epoch of Lock or LockAll (MPI 4.1, section
// 12.3.5).
func Raccumulate[T any](w *Win, origin []T, target, disp int, op Op[T]) *Request {
	return w.beginAccess("Raccumulate", target).started(requestOf(w, "Raccumulate", target, func(out *remoteAccess) *Error {
		return startAccumulate(w, "Raccumulate", origin, nil, target, disp, op, out)
	}))
}

// GetAccumulate is Accumulate that copies what the values were before to result, in the same step
// (MPI 4.1, section 12.3.4). result has as many elements as origin, and the same layout; it belongs
// to the operation until a call that completes it. With [NoOp] it is a Get that may meet
// accumulates, and origin may be nil.
func GetAccumulate[T any](w *Win, origin, result []T, target, disp int, op Op[T]) error {
	return w.beginAccess("GetAccumulate", target).end(w.outcome(startGetAccumulate(w, "GetAccumulate", origin, result, target, disp, op, nil)))
}

// RgetAccumulate is GetAccumulate with a request, which is done when the data are in result. Only
// in an epoch of Lock or LockAll (MPI 4.1, section 12.3.5).
func RgetAccumulate[T any](w *Win, origin, result []T, target, disp int, op Op[T]) *Request {
	return w.beginAccess("RgetAccumulate", target).started(requestOf(w, "RgetAccumulate", target, func(out *remoteAccess) *Error {
		return startGetAccumulate(w, "RgetAccumulate", origin, result, target, disp, op, out)
	}))
}

// FetchAndOp is GetAccumulate of one element (MPI 4.1, section 12.3.4). result belongs to the
// operation until a call that completes it.
func FetchAndOp[T any](w *Win, origin T, result *T, target, disp int, op Op[T]) error {
	return w.beginAccess("FetchAndOp", target).end(w.outcome(startFetch(w, origin, result, target, disp, op)))
}

// CompareAndSwap copies an element of the window of target to result and, if it equals compare,
// replaces it by origin, in one step (MPI 4.1, section 12.3.4). T is an integer or a truth value.
// result belongs to the operation until a call that completes it.
func CompareAndSwap[T any](w *Win, origin, compare T, result *T, target, disp int) error {
	return w.beginAccess("CompareAndSwap", target).end(w.outcome(startSwap(w, origin, compare, result, target, disp)))
}

func startFetch[T any](w *Win, origin T, result *T, target, disp int, op Op[T]) *Error {
	const name = "FetchAndOp"
	if result == nil {
		return opErrorf(ErrBuffer, name, "the result is nil: give the address of a variable")
	}
	if err := w.hasNoTypes(name); err != nil {
		return err
	}
	return startGetAccumulate(w, name, []T{origin}, sliceAt(result), target, disp, op, nil)
}

// hasNoTypes says that an operation on one element knows no layouts.
func (w *Win) hasNoTypes(op string) *Error {
	if w != nil && (w.originType != nil || w.targetType != nil) {
		return opErrorf(ErrType, op, "it is about one element, which has no layout: use the window without WithTypes")
	}
	return nil
}

func startGetAccumulate[T any](w *Win, name string, origin, result []T, target, disp int, op Op[T], out *remoteAccess) *Error {
	if code, ok := rmaOpOf(op); ok && code == rma.OpNoOp && origin == nil {
		origin = result
	}
	if len(origin) != len(result) {
		return opErrorf(ErrCount, name, "origin has %d elements, result %d: need as many", len(origin), len(result))
	}
	x, err := checkedOperand(w, name, result)
	if err != nil {
		return err
	}
	return startAccumulate(w, name, origin, &x, target, disp, op, out)
}

// checkedOperand is winOperandOf of a window and elements that were not checked yet.
func checkedOperand[T any](w *Win, op string, buf []T) (winOperand, *Error) {
	if err := w.usable(op); err != nil {
		return winOperand{}, err
	}
	if _, err := windowElem[T](op); err != nil {
		return winOperand{}, err
	}
	return winOperandOf(w, op, buf)
}

// startAccumulate starts an accumulate, which gets what was there before into result unless that is
// nil.
func startAccumulate[T any](w *Win, name string, origin []T, result *winOperand, target, disp int, op Op[T], out *remoteAccess) *Error {
	e := elemOf[T]()
	k, err := combinationOf(name, op, e)
	if err != nil {
		return err
	}
	x, a, err := remoteAccessWith(w, name, origin, target, disp, out)
	if a == nil || err != nil {
		return err
	}
	if err = k.over(w, name, e); err != nil {
		return err.with(target)
	}
	if a.combination = k; k.grain > a.room() {
		return opErrorf(ErrType, name, "an element has %d bytes, which are not changed in one step: need at most %d", k.grain, a.room()).with(target)
	}
	if a.accumulateDirectly(x, result, out) {
		return nil
	}
	a.each(a.room(), func(r *rma.Request, off, n int) {
		r.Kind, r.Tag = rma.Accumulate, a.w.nextTag()
		if result != nil {
			r.Kind = rma.GetAccumulate
			a.expect(r.Tag, result, off, n)
		}
		if k.code == rma.OpNoOp && result != nil {
			n = 0
		}
		a.w.ask(target, r, x, off, n)
	})
	a.finish(out)
	return nil
}

func startSwap[T any](w *Win, origin, compare T, result *T, target, disp int) *Error {
	const name = "CompareAndSwap"
	if result == nil {
		return opErrorf(ErrBuffer, name, "the result is nil: give the address of a variable")
	}
	if err := w.hasNoTypes(name); err != nil {
		return err
	}
	x, a, err := remoteAccessWith(w, name, sliceAt(result), target, disp, nil)
	if a == nil || err != nil {
		return err
	}
	e := elemOf[T]()
	if k := layout.Kind(e.class); e.class == classComposite || k < layout.Bool || k > layout.Uint64 {
		return opErrorf(ErrType, name, "the elements are %s: need integers or truth values", e.name).with(target)
	}
	a.grain = e.size
	data := winOperand{b: bytesOf([]T{compare, origin})}
	if a.swapDirectly(x, data.b) {
		return nil
	}
	a.each(a.size, func(r *rma.Request, off, n int) {
		r.Kind, r.Tag = rma.CompareAndSwap, a.w.nextTag()
		a.expect(r.Tag, x, off, n)
		a.w.ask(target, r, &data, 0, 2*n)
	})
	a.finish(nil)
	return nil
}
