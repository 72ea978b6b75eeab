//go:build linux

package mpi

import (
	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/mpi/internal/fileio"
)

// accessKind says what an access is, a set of bits.
type accessKind uint8

const (
	fileWrites accessKind = 1 << iota // else it reads
	fileAll                           // collective
	fileAt                            // at an explicit offset; else at the individual file pointer
	fileShared                        // at the shared file pointer; collective ones in the order of the ranks
)

// access is one access to the data of a file, on its way.
type access struct {
	// Immutable once begun.
	f     *File
	op    string
	kind  accessKind
	view  *fileView
	elem  *elem
	data  fileio.Memory // nil if err is not
	size  int           // bytes of data
	etyps int           // the same in etypes
	isOut bool          // it can take no part in what is collective

	// Owned by the goroutine that carries it out, then by the one that waits.
	start int    // in etypes of the view
	n     int    // bytes that were moved
	err   *Error // also what was wrong before
}

// accessOf begins an access of buf: offset counts if it has one that is explicit.
func accessOf[T any](f *File, op string, kind accessKind, offset int, buf []T) *access {
	a := &access{f: f, op: op, kind: kind, start: offset, elem: elemOf[T]()}
	if a.err = f.present(op); a.err != nil {
		a.isOut = true
		return a
	}
	a.view = f.view.Load()
	if a.elem.err != nil {
		a.err = opError(ErrType, op, a.elem.err)
		return a
	}
	o, err := over(op, f.t, buf, 1)
	if err != nil {
		a.err = err
		return a
	}
	a.lay(&o)
	a.begin()
	return a
}

// lay puts the data where o has them.
func (a *access) lay(o *overlay) {
	o.swap = a.view.rep.swaps()
	a.size = o.size
	if b, ok := o.asMemory(); ok {
		a.data = fileio.Bytes(b)
	} else {
		a.data = o
	}
	etype := a.view.etype
	a.etyps = o.size / etype.Size()
	switch {
	case o.size%etype.Size() != 0:
		a.err = opErrorf(ErrType, a.op, "the buffer holds %d bytes, which is no whole number of etypes: these are %v, of %d bytes", o.size, etype, etype.Size())
	case etype.Size() > 1 && !isBytes(o.m) && !isBytes(etype.m) && o.m.Hash(o.count) != etype.m.Hash(a.etyps):
		a.err = opErrorf(ErrType, a.op, "the buffer holds values of %s, the etype of the view is %v: use the same types, or bytes", o.m.Signature(), etype)
	}
}

// begin checks the access and finds its place, if that is known before others have been asked.
func (a *access) begin() {
	f, need, not := a.f, ModeRdonly|ModeRdwr, ModeSequential
	if a.kind&fileWrites != 0 {
		need = ModeWronly | ModeRdwr
	}
	if a.kind&fileShared != 0 {
		not = 0
	}
	if err := f.usable(a.op, need, not); a.err == nil {
		a.err = err
	}
	if a.err != nil {
		return
	}
	switch {
	case a.kind&fileAt != 0:
		a.check()
	case a.kind&fileShared == 0:
		f.mu.Lock()
		if a.start = f.pos; a.check() {
			f.pos += a.etyps
		}
		f.mu.Unlock()
	case a.kind&fileAll == 0:
		if a.start, a.err = f.pointer.add(f.file, a.op, a.etyps); a.err == nil {
			a.check()
		}
	}
}

// check reports whether the data lie where a file can have them.
func (a *access) check() bool {
	x, err := a.view.stream(a.op, a.start)
	if err == nil {
		if far := a.view.Check(x, a.size); far != nil {
			err = opErrorf(ErrArg, a.op, "%d etypes at offset %d: %w", a.etyps, a.start, far)
		}
	}
	if a.err == nil {
		a.err = err
	}
	return err == nil
}

// wait carries the access out.
func (a *access) wait() (Status, error) {
	switch {
	case a.isOut:
	case a.kind&fileAll != 0:
		a.f.inTurn(a.op, a.together)
	default:
		a.alone()
	}
	a.settle()
	st, err := a.outcome()
	return st, a.f.outcome(err)
}

// settle puts the individual file pointer back to where reading has come to the end of the file,
// unless it has been used since (MPI 4.1, section 14.4.1: it points to the next etype after the
// last one that is accessed).
func (a *access) settle() {
	if a.kind&(fileAt|fileShared|fileWrites) != 0 || a.err != nil || a.n == a.size {
		return
	}
	a.f.mu.Lock()
	defer a.f.mu.Unlock()
	if a.f.pos == a.start+a.etyps {
		a.f.pos = a.start + a.n/a.view.etype.Size()
	}
}

// started carries the access out in the background.
func (a *access) started() *Request {
	switch {
	case a.isOut && (a.f == nil || a.f.file == nil):
		r := newRequest(nil, a.op)
		r.collected, r.status, r.more().err = true, emptyStatus(), a.err
		return r
	case a.isOut:
		return failedRequest(a.f.comm, a.err)
	case a.kind&fileAll != 0:
		return a.f.laterInTurn(a.op, a.together, a.outcome)
	case a.err != nil:
		return failedRequest(a.f.comm, a.err)
	default:
		return a.f.later(a.op, a.alone, a.outcome)
	}
}

// outcome is what the access has come to.
func (a *access) outcome() (Status, *Error) {
	st := emptyStatus()
	st.bytes, st.class = a.n, a.elem.class
	st.Count = wholeCount(a.n, a.elem.wire)
	return st, a.err
}

// alone carries the access out without others.
func (a *access) alone() {
	if a.err != nil || a.size == 0 {
		return
	}
	if err := a.f.onDisk(a.move); err != nil {
		a.err = diskError(a.op, err)
	}
}

// move moves the data, under a lock in atomic mode.
func (a *access) move() error {
	f, isWrite := a.f.file, a.kind&fileWrites != 0
	h := f.hints.Load()
	x := a.start * a.view.etype.Size()
	m := fileio.Access{View: a.view.View, X: x, Data: a.data, Room: int(h.Room), Sift: h.Sift != chooseNo}
	if f.atomic.Load() {
		f.alone.Lock() // a lock of the system's does not keep out users of the same descriptor
		defer f.alone.Unlock()
		lo, hi := m.View.Span(x, a.size)
		unlock, err := sys.LockRange(f.disk, lo, hi-lo, isWrite)
		if err != nil {
			return err
		}
		defer unlock()
	}
	var err error
	if isWrite {
		f.dirty.Store(true)
		a.n, err = m.Write(f.disk)
	} else {
		a.n, err = m.Read(f.disk)
	}
	return err
}

// beginFile begins a call that reads or writes buf.
func beginFile[T any](f *File, op string, buf []T, writes bool) *Call {
	if !isTold() || f == nil || f.file == nil {
		return nil
	}
	return callFile(f, op, buf, writes)
}

func callFile[T any](f *File, op string, buf []T, writes bool) *Call {
	k := f.comm.newCall(op)
	if k == nil {
		return k.begin()
	}
	n, bytes := len(buf), -1
	if e := elemOf[T](); e.plain && e.err == nil {
		bytes = n * e.wire
		if f.t != nil && f.t.check() == nil {
			bytes = f.t.Size()
		}
	}
	if writes {
		k.SendCount, k.SendBytes = n, bytes
	} else {
		k.RecvCount, k.RecvBytes = n, bytes
	}
	return k.begin()
}

// begin begins the call of an operation on f that has no data.
func (f *File) begin(op string) *Call {
	if !isTold() || f == nil || f.file == nil {
		return nil
	}
	return f.comm.call(op)
}

var _ fileio.Memory = (*overlay)(nil)
