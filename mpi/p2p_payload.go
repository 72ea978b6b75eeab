package mpi

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"github.com/fitmpi/fitmpi/engine"
)

// payload is what a send sends: memory, or objects made into memory.
type payload struct {
	b     []byte
	o     *overlay // instead of b, where the message is not one piece of memory; else nil
	class elemClass
	sig   *signature // goes before it; nil unless types are checked
}

// fill makes p, which is zero, a view of buf, or buf serialised. An error leaves it undefined.
func fill[T any](p *payload, c *Comm, op string, buf []T) (err *Error) {
	e := elemOf[T]()
	switch {
	case e.err != nil:
		return opError(ErrType, op, e.err)
	case c.isMemory(c.sendType, e) && !c.job.checks: // as mostly
		p.b, p.class = bytesOf(buf), e.class
	case e.plain:
		p.class = e.class
		p.b, p.o, err = travels(c, op, c.sendType, buf)
		if c.job.checks && err == nil {
			p.sig = plainSignature(e, c.sendType, p.size())
		}
	case c.sendType != nil:
		return notLaid(op, e)
	default:
		p.class = classObject
		var failed error
		if p.b, failed = encodeObjects(nil, buf); failed != nil {
			return opError(ErrType, op, failed)
		}
		if c.job.checks {
			p.sig = objectSignature(e)
		}
	}
	return err
}

func (p *payload) size() int {
	if p.o != nil {
		return p.o.size
	}
	return len(p.b)
}

// isBytes reports whether p, which is to be sent in a mode, needs no more of the engine than that
// it is copied.
func (p *payload) isBytes(mode sendMode) bool {
	return (mode == modeStandard || mode == modeReady) && p.o == nil && p.sig == nil
}

// apart returns p in memory of its own.
func (p payload) apart() payload {
	switch {
	case p.o != nil:
		b := make([]byte, p.o.size)
		p.o.Pack(b, 0)
		p.b, p.o = b, nil
	case p.class != classObject: // else it is
		p.b = bytes.Clone(p.b)
	}
	return p
}

// notLaid says that objects have no layout.
func notLaid(op string, e *elem) *Error {
	return opErrorf(ErrType, op, "a %s travels serialised, and has no layout: use the communicator without WithType", e.name)
}

// msos recycles the MSOs of blocking calls and of requests whose results are collected.
var msos = sync.Pool{New: func() any { return new(engine.MSO) }}

func getMSO() *engine.MSO {
	return msos.Get().(*engine.MSO)
}

func putMSO(m *engine.MSO) {
	m.Clear()
	msos.Put(m)
}

// sendMSO fills in a send.
func (c *Comm) sendMSO(m *engine.MSO, mode sendMode, p *payload, dest, tag int) {
	m.Kind, m.Peer, m.Tag, m.Ctx = engine.KindSend, c.peers[dest], engine.Tag(tag), c.p2p
	m.Buf, m.Elem, m.Object = p.b, uint8(p.class), p.class == classObject
	if m.Layout = nil; p.o != nil {
		m.Layout = p.o
	}
	if p.sig != nil && mode != modeBuffered {
		p.sign(m)
	}
	if mode == modeSync {
		m.Mode = engine.Synchronous
	} else {
		m.Mode = engine.Standard
	}
}

// recvMSO fills in a receive; what goes into Buf or Alloc is the caller's.
func (c *Comm) recvMSO(m *engine.MSO, source, tag int) {
	m.Kind, m.Peer, m.Tag, m.Ctx, m.Member = engine.KindRecv, c.peerOf(source), engineTag(tag), c.p2p, c.member
}

// allocBytes is the memory of a receive that is deserialised later.
func allocBytes(n int) []byte { return make([]byte, n) }

// wait waits for m; when the context of c ends first, m is ended. ended reports
// that this may still be under way, so that m must not be reused.
func (c *Comm) wait(m *engine.MSO) (ended bool) {
	if c.ctx == nil || c.ctx.Done() == nil || m.IsDone() {
		c.job.engine.Wait(m)
		return false
	}
	stop := c.job.endWith(c.ctx, m)
	if c.isBounded() {
		one := [1]*engine.MSO{m}
		c.job.engine.WaitBounded(1, one[:])
	} else {
		c.job.engine.Wait(m)
	}
	return !stop()
}

// isBounded reports whether the context of c may end an operation that the end of the job does not.
func (c *Comm) isBounded() bool {
	if c.ctx == nil || c.ctx.Done() == nil {
		return false
	}
	done := c.ctx.Done()
	return done != c.job.ctx.Done() && done != c.job.base.Done()
}

// endWith ends m when ctx does, until stop is called.
func (j *job) endWith(ctx context.Context, m *engine.MSO) (stop func() bool) {
	return context.AfterFunc(ctx, func() { j.engine.Abandon(m, &contextError{context.Cause(ctx)}) })
}

// contextError marks the end of an operation by its context.
type contextError struct{ cause error }

func (e *contextError) Error() string { return e.cause.Error() }
func (e *contextError) Unwrap() error { return e.cause }

// engineError translates what the engine says of a failed operation.
func (c *Comm) engineError(op string, err error, peer int, elemSize, bufLen int) *Error {
	if gone, ok := errors.AsType[*engine.PeerError](err); ok && c.job.base.Err() == nil { // else the peer has gone because the job ends
		return opError(ErrProcFailed, op, c.peerCause(gone)).with(c.rankOf(gone.Peer))
	}
	if t, ok := errors.AsType[*engine.TruncateError](err); ok {
		return opError(ErrTruncate, op, truncation(t, elemSize, bufLen)).with(peer)
	}
	if _, ok := errors.AsType[*forbiddenCallError](err); ok {
		return opError(ErrOp, op, err)
	}
	if errors.Is(err, engine.ErrRevoked) {
		return opError(ErrRevoked, op, err).with(peer)
	}
	if errors.Is(err, engine.ErrStopped) || c.job.base.Err() != nil {
		return opErrorf(ErrOther, op, "%s", c.job.endText()).with(peer)
	}
	return opError(ErrOther, op, err).with(peer)
}

// peerCause names the host of a peer that is gone, and why it went.
func (c *Comm) peerCause(gone *engine.PeerError) error {
	return &peerCause{who: c.job.describePeer(gone.Peer), host: c.job.engine.Peer(gone.Peer).Host, gone: gone}
}

func truncation(t *engine.TruncateError, size, bufLen int) *TruncateError {
	if size <= 0 || t.Message%size != 0 {
		return &TruncateError{Message: t.Message, Buffer: t.Buffer, Bytes: true}
	}
	return &TruncateError{Message: t.Message / size, Buffer: bufLen}
}

// statusOf is the status of a receive or probe that is done; Count is in bytes.
func (c *Comm) statusOf(m *engine.MSO) Status {
	n, class := unsigned(m.Length, m.GotElem)
	return Status{Source: c.rankOf(m.Source), Tag: int(m.GotTag), Count: n, Cancelled: m.Cancelled, bytes: n, class: class}
}

// plainResult turns the bytes that a receive of a plain T brought into a status.
func (c *Comm) plainResult(op string, m *engine.MSO, e *elem, bufLen int) (Status, *Error) {
	st := c.statusOf(m)
	if m.Cancelled {
		return Status{Source: AnySource, Tag: AnyTag, Cancelled: true}, nil
	}
	if m.GotObject {
		return st, opErrorf(ErrType, op, "the message holds serialised objects%s, the buffer is of %s: receive it with the type that was sent", ofSent(m), e.name).with(st.Source)
	}
	err := kindMismatch(op, m, e, st)
	if c.job.checks {
		err = c.plainMismatch(op, m, e, st)
	}
	if err != nil {
		st.Count = wholeCount(st.bytes, e.wire)
		return st, err
	}
	if m.Err != nil {
		return c.recvError(op, m, e.wire, bufLen)
	}
	st.Count = wholeCount(st.bytes, e.wire)
	return st, nil
}

// recvError is the outcome of a receive that failed. Only a truncation has met a message; else the
// rank in the error is the one that was asked for.
func (c *Comm) recvError(op string, m *engine.MSO, size, bufLen int) (Status, *Error) {
	if errors.Is(m.Err, engine.ErrTruncated) {
		st := c.statusOf(m)
		return st, c.engineError(op, unsignedError(m), st.Source, size, bufLen)
	}
	peer := -1
	if m.Peer != engine.AnyPeer {
		peer = c.rankOf(m.Peer)
	}
	return emptyStatus(), c.engineError(op, m.Err, peer, size, bufLen)
}

// wholeCount is the number of elements in n bytes.
func wholeCount(n, size int) int {
	switch {
	case n == 0:
		return 0
	case size == 1: // to divide takes 10 to 40 cycles
		return n
	case size == 0 || n%size != 0:
		return Undefined
	}
	return n / size
}

// objectResult checks a receive of objects before they are deserialised.
func (c *Comm) objectResult(op string, m *engine.MSO, e *elem) (Status, *Error) {
	st := c.statusOf(m)
	switch {
	case m.Cancelled:
		return Status{Source: AnySource, Tag: AnyTag, Cancelled: true}, nil
	case m.Err != nil:
		return c.recvError(op, m, 0, 0)
	case !m.GotObject:
		return st, opErrorf(ErrType, op, "the message holds plain memory%s, the buffer is of %s, which travels serialised: receive it with the type that was sent", ofSent(m), e.name).with(st.Source)
	case c.job.checks:
		return st, c.objectMismatch(op, m, e, st)
	}
	return st, nil
}

// decodeInto deserialises the message of m into buf.
func decodeInto[T any](c *Comm, op string, m *engine.MSO, buf []T) (Status, *Error) {
	st, err := c.objectResult(op, m, elemOf[T]())
	if err != nil || st.Cancelled {
		return st, err
	}
	n, derr := decodeObjects(unsignedBytes(m), buf)
	if derr != nil {
		class := ErrType
		if errors.Is(derr, ErrTruncate) {
			class = ErrTruncate
		}
		return st, opError(class, op, derr).with(st.Source)
	}
	st.Count, st.decoded = n, true
	return st, nil
}
