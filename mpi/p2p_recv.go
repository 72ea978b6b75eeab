package mpi

import (
	"github.com/fitmpi/fitmpi/engine"
)

// Recv receives a message from rank source of c into buf and blocks until it is there (MPI 4.1,
// section 3.2.4). source may be AnySource or ProcNull, and is a rank of the other group if c is an
// intercommunicator. tag may be AnyTag. A message longer than buf is an error of class ErrTruncate
// that names both lengths; a shorter one fills the front of buf. Serialised values received as
// plain elements, or the other way round, are an error of class ErrType. The status says which rank
// sent, with which tag, and how many elements.
func Recv[T any](c *Comm, buf []T, source, tag int) (st Status, err error) {
	const op = "Recv"
	told := beginRecv(c, op, buf, source, tag)
	e := elemOf[T]()
	if c.receivesNow(e, source, tag) && c.recvNow(e, bytesOf(buf), source, tag, &st) {
		if st.isOfOtherKind(e) {
			return told.received(st, c.fail(mismatch(op, st, st.class.String(), e.name)))
		}
		if told != nil {
			told.endReceived(st, nil)
		}
		return // a copy of st would wait until its parts have reached the cache
	}
	if err := c.checkRecv(op, source, tag); err != nil {
		return told.received(emptyStatus(), c.fail(err))
	}
	if e.err != nil {
		return told.received(emptyStatus(), c.fail(opError(ErrType, op, e.err)))
	}
	if source == ProcNull {
		return told.received(procNullStatus(), nil)
	}
	m := getMSO()
	c.recvMSO(m, source, tag)
	return told.received(finishRecv(c, op, m, e, buf))
}

// finishRecv posts m, waits and delivers into buf.
func finishRecv[T any](c *Comm, op string, m *engine.MSO, e *elem, buf []T) (st Status, _ error) {
	room, err := receiveInto(c, op, m, e, buf)
	if err != nil {
		putMSO(m)
		return emptyStatus(), c.fail(err)
	}
	c.job.engine.Post(m, engine.Waits)
	ended := c.wait(m)
	if e.plain {
		st, err = c.plainResult(op, m, e, room)
	} else {
		st, err = decodeInto(c, op, m, buf)
	}
	if !ended {
		putMSO(m)
	}
	if err != nil {
		return st, c.fail(err)
	}
	return st, nil
}

// receiveInto makes m receive into buf, whose elements are e's, and returns how many elements that
// has room for.
func receiveInto[T any](c *Comm, op string, m *engine.MSO, e *elem, buf []T) (room int, _ *Error) {
	if c.isMemory(c.recvType, e) && !c.job.checks {
		m.Buf = bytesOf(buf)
		return len(buf), nil
	}
	if !e.plain {
		if c.recvType != nil {
			return 0, notLaid(op, e)
		}
		m.Alloc = allocBytes
		return len(buf), nil
	}
	b, o, err := travels(c, op, c.recvType, buf)
	switch p := (payload{b: b, o: o}); {
	case c.job.checks && err == nil:
		m.Layout = &signedData{p: p, in: m, t: c.recvType}
		return wholeCount(p.size(), e.wire), nil
	case o == nil:
		m.Buf = b
		return wholeCount(len(b), e.wire), err
	}
	m.Layout = o
	return wholeCount(o.size, e.wire), nil
}

func (c *Comm) checkRecv(op string, source, tag int) *Error {
	if c.isOpen() && uint(source) < uint(len(c.peers)) && (uint(tag) <= TagUB || tag == AnyTag) {
		return nil
	}
	if err := c.usableWith(op, source); err != nil {
		return err
	}
	if err := c.checkPeer(op, "source", source, true); err != nil {
		return err
	}
	return checkTag(op, tag, true)
}

// RecvNew receives a message of any length and returns its elements in a new slice. It is what C
// programs do with Mprobe, Get_count and Mrecv, in one step, and blocks as Recv does. source and
// tag are those of Recv. A message that is no whole number of elements is an error of class
// ErrType. No counterpart in MPI.
func RecvNew[T any](c *Comm, source, tag int) ([]T, Status, error) {
	told := c.beginProbe("RecvNew", source, tag)
	r := irecvNew[T](c, "RecvNew", source, tag, engine.Waits)
	st, err := told.received(r.wait())
	return r.Data(), st, err
}

// Irecv starts a Recv and returns. buf belongs to the request until Wait or a successful Test (MPI
// 4.1, section 3.7.2). Bad arguments give a request that has already failed: Wait tells.
func Irecv[T any](c *Comm, buf []T, source, tag int) *Request {
	const op = "Irecv"
	told := beginRecv(c, op, buf, source, tag)
	if e := elemOf[T](); c.receivesNow(e, source, tag) {
		if r := c.irecvNow(e, bytesOf(buf), source, tag); r != nil {
			return told.started(r)
		}
	}
	if err := c.checkRecv(op, source, tag); err != nil {
		return told.started(failedRequest(c, err))
	}
	r := briefRequest(c, op, madeIrecv)
	if err := prepareRecv(r, buf, source); err != nil {
		return told.started(r.settled(emptyStatus(), err))
	}
	if source == ProcNull {
		return told.started(r.settled(procNullStatus(), nil))
	}
	m := r.own
	c.recvMSO(m, source, tag)
	m.Patient = true
	r.m = m
	c.job.engine.Post(m, engine.Computes)
	return told.started(r)
}

// prepareRecv makes r deliver into buf.
func prepareRecv[T any](r *Request, buf []T, source int) *Error {
	e := elemOf[T]()
	if e.err != nil {
		return opError(ErrType, r.op, e.err)
	}
	r.peer, r.elem = int32(source), e
	var err *Error
	if r.bufLen, err = receiveInto(r.c, r.op, r.mso(), e, buf); err != nil || e.plain {
		return err
	}
	r.more().finish = func(r *Request) (Status, *Error) { return decodeInto(r.c, r.op, r.m, buf) }
	return nil
}

// Incoming is the request of a receive of unknown length.
type Incoming[T any] struct {
	*Request
	room []T // allocated for the message, by the receive
	data []T
}

// Data returns the elements of the message once Wait or Test has said that it
// is there; nil before, and if the receive failed.
func (r *Incoming[T]) Data() []T { return r.data }

// IrecvNew starts a RecvNew and returns; Data has the elements after Wait. No counterpart in MPI.
func IrecvNew[T any](c *Comm, source, tag int) *Incoming[T] {
	told := c.beginProbe("IrecvNew", source, tag)
	r := irecvNew[T](c, "IrecvNew", source, tag, engine.Computes)
	told.started(r.Request)
	return r
}

func irecvNew[T any](c *Comm, op string, source, tag int, next engine.Intent) *Incoming[T] {
	if err := c.checkRecv(op, source, tag); err != nil {
		return &Incoming[T]{Request: failedRequest(c, err)}
	}
	r := &Incoming[T]{Request: newRequest(c, op)}
	if err := r.prepare(source); err != nil {
		return &Incoming[T]{Request: failedRequest(c, err)}
	}
	if source == ProcNull {
		r.settled(procNullStatus(), nil)
		return r
	}
	c.recvMSO(r.mso(), source, tag)
	r.m = r.mso()
	r.m.Patient = next == engine.Computes
	c.job.engine.Post(r.m, next)
	return r
}

func (r *Incoming[T]) prepare(source int) *Error {
	e := elemOf[T]()
	if e.err != nil {
		return opError(ErrType, r.op, e.err)
	}
	if r.c.recvType != nil {
		return opErrorf(ErrType, r.op, "a message of any length has no layout: use the communicator without WithType")
	}
	r.peer, r.elem = int32(source), e
	if !e.plain {
		r.mso().Alloc = allocBytes
		r.more().finish = func(q *Request) (Status, *Error) {
			st, err := q.c.objectResult(q.op, q.m, e)
			if err != nil || st.Cancelled {
				return st, err
			}
			data, derr := decodeNewObjects[T](unsignedBytes(q.m))
			if derr != nil {
				return st, opError(ErrType, q.op, derr).with(st.Source)
			}
			r.data, st.Count, st.decoded = data, len(data), true
			return st, nil
		}
		return nil
	}
	m := r.mso()
	m.Alloc = func(n int) []byte {
		n, _ = unsigned(n, m.GotElem)
		var p payload
		if e.wire > 0 {
			r.room = make([]T, (n+e.wire-1)/e.wire)
			if p.b, p.o, _ = travels(r.c, r.op, nil, r.room); p.o != nil {
				p.o.size = n
			} else {
				p.b = p.b[:n]
			}
		}
		switch {
		case r.c.job.checks:
			m.Layout = &signedData{p: p, in: m}
			return nil
		case p.o != nil:
			m.Layout = p.o
			return nil
		}
		return p.b
	}
	r.more().finish = func(q *Request) (Status, *Error) {
		st, err := q.c.plainResult(q.op, q.m, e, 0)
		if err != nil || st.Cancelled {
			return st, err
		}
		if st.Count == Undefined {
			return st, opErrorf(ErrType, q.op, "%d bytes arrived, no whole number of %s of %d bytes", st.bytes, e.name, e.wire).with(st.Source)
		}
		r.data = r.room[:st.Count:st.Count]
		if r.data == nil {
			r.data = []T{}
		}
		return st, nil
	}
	return nil
}
