package mpi

import (
	"errors"
	"sync"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/callsite"
	"github.com/fitmpi/fitmpi/mpi/internal/rma"
)

// How an origin asks a target to do something with its memory.

// winTarget is what is under way from this rank to a target.
type winTarget struct {
	dirty  bool          // requests since it has last said that all are done
	direct bool          // operations in its memory, without a request, since a flush has last asked whether it lives
	open   []*engine.MSO // messages not known to be done; those of requests have a User
}

// ofRequest marks a message that a Request waits for: no other waiter may, and its memory is the
// Request's.
type ofRequest struct{}

// remoteAccess is an operation of this rank on the memory of a target: which bytes, and what
// travels.
type remoteAccess struct {
	w      *win
	op     string
	target int
	blocks []rma.Block
	size   int // bytes of blocks
	combination

	requested bool          // there is to be a Request
	posted    []*engine.MSO // what it waits for
}

// winOperand is a buffer of an origin: memory, or a layout over it.
type winOperand struct {
	b []byte
	o *overlay
}

func (x *winOperand) size() int {
	if x.o != nil {
		return x.o.size
	}
	return len(x.b)
}

// pack copies the bytes from off on.
func (x *winOperand) pack(dst []byte, off int) {
	if x.o != nil {
		x.o.Pack(dst, off)
		return
	}
	copy(dst, x.b[off:])
}

// put makes m send, or receive, the n bytes from off on.
func (x *winOperand) put(m *engine.MSO, off, n int) {
	switch {
	case x.o == nil:
		m.Buf = x.b[off : off+n : off+n]
	case off == 0 && n == x.o.size:
		m.Layout = x.o
	default:
		m.Layout = &partOf{x.o, off, n}
	}
}

// partOf is a part of a layout.
type partOf struct {
	of     *overlay
	off, n int
}

// Len implements engine.Layout, as do Pack and Unpack.
func (p *partOf) Len() int { return p.n }

// Pack gives a part of the part.
func (p *partOf) Pack(dst []byte, off int) { p.of.Pack(dst, p.off+off) }

// Unpack takes a part of the part.
func (p *partOf) Unpack(off int, src []byte) { p.of.Unpack(p.off+off, src) }

// winOperandOf lays the origin's layout of w over buf.
func winOperandOf[T any](w *Win, op string, buf []T) (winOperand, *Error) {
	if w.originType == nil {
		return winOperand{b: bytesOf(buf)}, nil
	}
	b, o, err := travels(w.comm, op, w.originType, buf)
	return winOperand{b, o}, err
}

// remoteAccessOf checks the arguments of an operation on n bytes of target at disp, of elements of
// T, and notes that it begins. a is nil if there is nothing to do.
func remoteAccessOf[T any](w *Win, op string, n, target, disp int) (a *remoteAccess, _ *Error) {
	if err := w.usable(op); err != nil {
		return nil, err
	}
	e, err := windowElem[T](op)
	if err != nil {
		return nil, err
	}
	switch {
	case target == ProcNull:
		return nil, nil
	case target < 0 || target >= len(w.ranks):
		return nil, opErrorf(ErrRank, op, "target %d: need 0 to %d, or ProcNull", target, len(w.ranks)-1)
	case disp < 0:
		return nil, opErrorf(ErrDisp, op, "the displacement is %d: need 0 or more", disp).with(target)
	}
	a = &remoteAccess{w: w.win, op: op, target: target, size: n, combination: combination{grain: 1}}
	if err := a.reach(w, e, disp); err != nil {
		return nil, err.with(target)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.epochs.Access(target); err != nil {
		return nil, opError(ErrRMASync, op, err).with(target)
	}
	if n == 0 {
		return nil, nil
	}
	return a, nil
}

// reach finds the blocks of the target and checks that it has them, as far as that is known here.
func (a *remoteAccess) reach(w *Win, e *elem, disp int) *Error {
	r := w.ranks[a.target]
	const far = 1 << 56
	if disp > far/r.unit {
		return opErrorf(ErrDisp, a.op, "the displacement is %d: the target's window has %d bytes", disp, r.size)
	}
	at := disp * r.unit
	if t := w.targetType; t == nil {
		a.blocks = []rma.Block{rma.Contiguous(at, a.size)}
	} else if err := a.lay(t, at); err != nil {
		return err
	}
	if a.size == 0 {
		return nil
	}
	lo, hi := rma.Bounds(a.blocks)
	if lo < 0 || w.flavor != FlavorDynamic && hi > r.size {
		return opErrorf(ErrRMARange, a.op, "bytes %d to %d of the target are meant, its window has %d: displacements count %d bytes there", lo, hi-1, r.size, r.unit)
	}
	return nil
}

// lay lays t over the target's memory from byte at on.
func (a *remoteAccess) lay(t *Datatype, at int) *Error {
	if err := t.check(); err != nil {
		return opError(err.Class, a.op, err)
	}
	if t.m.Size() != a.size {
		return opErrorf(ErrType, a.op, "the target's layout %s has %d bytes of data, the origin's buffer %d: need as many", t, t.m.Size(), a.size)
	}
	t.m.EachRun(func(disp, n int) { a.blocks = rma.Append(a.blocks, at+disp, n) })
	return nil
}

// requestMemory recycles memory in which requests are written.
var requestMemory = sync.Pool{New: func() any { return new([rma.MaxMessage]byte) }}

// ask sends a request with data: behind it is nothing that the caller would have to keep. Where it
// has to wait for the target it is in the list of those that are under way.
func (w *win) ask(target int, r *rma.Request, data *winOperand, off, n int) {
	room := requestMemory.Get().(*[rma.MaxMessage]byte)
	defer requestMemory.Put(room)
	b := rma.AppendRequest(room[:0], r)
	if n > 0 {
		head := len(b)
		b = b[:head+n]
		data.pack(b[head:], off)
	}
	w.sendRequest(target, b)
}

// sendRequest sends a request, of which it keeps nothing.
func (w *win) sendRequest(target int, b []byte) {
	c := w.comm
	if c.job.engine.Send(&engine.Message{Peer: c.peers[target], Ctx: w.servedContext(), Buf: b}, engine.Computes) {
		return
	}
	m := getMSO()
	m.Kind, m.Peer, m.Ctx = engine.KindSend, c.peers[target], w.servedContext()
	m.Buf = append([]byte(nil), b...)
	w.track(target, m)
	c.job.engine.Post(m, engine.Computes)
}

// track notes that m is under way to or from target.
func (w *win) track(target int, m *engine.MSO) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := &w.targets[target]
	t.dirty = true
	if len(t.open) == cap(t.open) {
		t.prune()
	}
	t.open = append(t.open, m)
}

// prune forgets what is done well, so that a program which never flushes does not gather it.
func (t *winTarget) prune() {
	kept := t.open[:0]
	for _, m := range t.open {
		if !m.IsDone() || m.User == nil && flaw(m) {
			kept = append(kept, m)
		} else if m.User == nil {
			putMSO(m)
		}
	}
	clear(t.open[len(kept):])
	t.open = kept
}

// flaw reports whether m, which is done, has not brought what it was posted for.
func flaw(m *engine.MSO) bool {
	return m.Err != nil || m.Kind == engine.KindRecv && m.Length != m.Size()
}

// touch notes that target was asked for something.
func (w *win) touch(target int) {
	w.mu.Lock()
	w.targets[target].dirty = true
	w.mu.Unlock()
}

// nextTag is the tag of a request.
func (w *win) nextTag() uint32 { return w.tag.Add(1) & rma.MaxTag }

// newMSO is memory of a message of a.
func (a *remoteAccess) newMSO() *engine.MSO {
	if a.requested {
		return &engine.MSO{User: ofRequest{}}
	}
	return getMSO()
}

// expect posts the receive of what a request with the tag brings, into the n bytes of x from off
// on.
func (a *remoteAccess) expect(tag uint32, x *winOperand, off, n int) {
	a.post(engine.KindRecv, wireTag(tag, tagAnswer), x, off, n)
}

// post posts a message with the target.
func (a *remoteAccess) post(kind engine.Kind, tag engine.Tag, x *winOperand, off, n int) {
	c := a.w.comm
	m := a.newMSO()
	m.Kind, m.Peer, m.Tag, m.Ctx = kind, c.peers[a.target], tag, c.p2p
	x.put(m, off, n)
	if a.requested {
		callsite.Note(m.Origin[:])
		a.posted = append(a.posted, m)
	}
	a.w.track(a.target, m)
	c.job.engine.Post(m, engine.Computes)
}

// room is how many bytes of data each request of a may have that brings them along. A piece may end
// within a run, and what is left of that is a block more.
func (a *remoteAccess) room() int {
	if a.elem&rma.Parts != 0 {
		return rma.Room(rma.MaxBlocks)
	}
	return rma.Room(min(len(a.blocks)+1, rma.MaxBlocks))
}

// cut takes off the front of blocks what a request of a may have, with size bytes of data at most.
func (a *remoteAccess) cut(blocks []rma.Block, size int) (head, rest []rma.Block) {
	if a.elem&rma.Parts != 0 {
		return rma.CutValues(blocks, rma.MaxBlocks, size, a.grain)
	}
	return rma.Cut(blocks, rma.MaxBlocks, size, a.grain)
}

// each calls f for the pieces of the access of which a request may consist, with size bytes of data
// each at most.
func (a *remoteAccess) each(size int, f func(r *rma.Request, off, n int)) {
	off := 0
	for rest := a.blocks; len(rest) > 0; {
		r := rma.Request{Op: a.code, Elem: a.elem, Grain: a.grain}
		r.Blocks, rest = a.cut(rest, size)
		n := rma.Size(r.Blocks)
		f(&r, off, n)
		off += n
	}
}

// failureOf is what has become of messages with a target that are done.
func (w *win) failureOf(op string, target int, ms []*engine.MSO) *Error {
	for _, m := range ms {
		switch {
		case m.Err != nil && !errors.Is(m.Err, engine.ErrTruncated):
			return w.comm.engineError(op, m.Err, target, 0, 0)
		case flaw(m):
			return refusedAccess(op, target)
		}
	}
	return nil
}

// refusedAccess is the error of an operation that the target has not obeyed.
func refusedAccess(op string, target int) *Error {
	return opErrorf(ErrRMARange, op, "the target has no such memory in its window").with(target)
}

// Put copies origin to the window of rank target, from displacement disp on (MPI 4.1, section
// 12.3.1). disp counts elements of the target's window, bytes if that is dynamic. Put returns at
// once. origin must not be changed before a call that completes the operation: Fence, Complete,
// Unlock, UnlockAll, or a Flush. target may be ProcNull: nothing happens then. Layouts:
// [Win.WithTypes].
//
// Memory that is meant must lie in the target's window, or the error is of class [ErrRMARange]. A
// negative disp is an error of class [ErrDisp], a target that is no rank one of [ErrRank], and a
// call outside an epoch one of [ErrRMASync]. What only the target can find wrong is an error of the
// call that completes the operation.
//
// T need not be that of the window.
func Put[T any](w *Win, origin []T, target, disp int) error {
	return w.beginAccess("Put", target).end(w.outcome(startPut(w, "Put", origin, target, disp, nil)))
}

// Rput is Put with a request, which is done when origin may be reused. That does not say that the
// data are at the target. Only in an epoch of Lock or LockAll (MPI 4.1, section 12.3.5).
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
