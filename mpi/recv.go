//go:build linux

package mpi

import (
	"github.com/fitmpi/fitmpi/engine"
)

// Recv receives a message from rank source of c into buf and returns when it
// is there (MPI 4.1, section 3.2.4). source may be AnySource or ProcNull, tag
// may be AnyTag. A message longer than buf is an error of class ErrTruncate
// that names both lengths; a shorter one fills the front of buf. The status says
// who sent, with which tag, and how many elements.
func Recv[T any](c *Comm, buf []T, source, tag int) (Status, error) {
	const op = "Recv"
	if err := c.checkRecv(op, source, tag); err != nil {
		return emptyStatus(), c.fail(err)
	}
	e := elemOf[T]()
	if e.err != nil {
		return emptyStatus(), c.fail(opError(ErrType, op, e.err))
	}
	if source == ProcNull {
		return procNullStatus(), nil
	}
	if e.plain && source != AnySource {
		if st, ok := c.recvNow(e, bytesOf(buf), source, tag); ok {
			return st, nil
		}
	}
	m := getMSO()
	c.recvMSO(m, source, tag)
	return finishRecv(c, op, m, e, buf)
}

// recvNow receives a message that is short and there, or as good as there.
func (c *Comm) recvNow(e *elem, b []byte, source, tag int) (Status, bool) {
	r := engine.ShortReceipt{Peer: c.peers[source], Tag: engineTag(tag), Ctx: c.p2p, Buf: b}
	if !c.job.engine.RecvNow(&r) {
		return Status{}, false
	}
	return Status{Source: source, Tag: int(r.GotTag), Count: wholeCount(r.Length, e.size), bytes: r.Length, class: elemClass(r.Elem)}, true
}

// finishRecv posts m, waits and delivers into buf.
func finishRecv[T any](c *Comm, op string, m *engine.MSO, e *elem, buf []T) (st Status, _ error) {
	if e.plain {
		m.Buf = bytesOf(buf)
	} else {
		m.Alloc = allocBytes
	}
	c.job.engine.PostBlocking(m)
	ended := c.wait(m)
	var err *Error
	if e.plain {
		st, err = c.plainResult(op, m, e, len(buf))
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

func (c *Comm) checkRecv(op string, source, tag int) *Error {
	if err := c.usableWith(op, source); err != nil {
		return err
	}
	if err := c.checkPeer(op, "source", source, true); err != nil {
		return err
	}
	return checkTag(op, tag, true)
}

// RecvNew receives a message of any length and returns its elements in a new
// slice: what C programs do with Mprobe, Get_count and Mrecv, in one step. source
// and tag are those of Recv. A message that is no whole number of elements is an
// error of class ErrType. No counterpart in MPI.
func RecvNew[T any](c *Comm, source, tag int) ([]T, Status, error) {
	r := irecvNew[T](c, "RecvNew", source, tag)
	st, err := r.Wait()
	return r.Data(), st, err
}

// Irecv starts a receive into buf, which belongs to the request until Wait or a
// successful Test (MPI 4.1, section 3.7.2).
func Irecv[T any](c *Comm, buf []T, source, tag int) *Request {
	const op = "Irecv"
	if err := c.checkRecv(op, source, tag); err != nil {
		return failedRequest(c, err)
	}
	r := newRequest(c, op)
	if err := prepareRecv(r, buf, source); err != nil {
		return failedRequest(c, err)
	}
	if source == ProcNull {
		return r.settled(procNullStatus(), nil)
	}
	c.recvMSO(r.mso(), source, tag)
	r.m = r.mso()
	c.job.engine.Post(r.m)
	return r
}

// prepareRecv makes r deliver into buf.
func prepareRecv[T any](r *Request, buf []T, source int) *Error {
	e := elemOf[T]()
	if e.err != nil {
		return opError(ErrType, r.op, e.err)
	}
	r.peer, r.elem, r.bufLen = source, e, len(buf)
	if e.plain {
		r.mso().Buf = bytesOf(buf)
		return nil
	}
	r.mso().Alloc = allocBytes
	r.finish = func(r *Request) (Status, *Error) { return decodeInto(r.c, r.op, r.m, buf) }
	return nil
}

// Incoming is the request of a receive of unknown length.
type Incoming[T any] struct {
	*Request
	data []T
}

// Data returns the elements of the message once Wait or Test has said that it
// is there; nil before, and if the receive failed.
func (r *Incoming[T]) Data() []T { return r.data }

// IrecvNew starts a receive of a message of any length; Data has it after Wait.
func IrecvNew[T any](c *Comm, source, tag int) *Incoming[T] {
	return irecvNew[T](c, "IrecvNew", source, tag)
}

func irecvNew[T any](c *Comm, op string, source, tag int) *Incoming[T] {
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
	c.post(op, r.m)
	return r
}

func (r *Incoming[T]) prepare(source int) *Error {
	e := elemOf[T]()
	if e.err != nil {
		return opError(ErrType, r.op, e.err)
	}
	r.peer, r.elem = source, e
	if !e.plain {
		r.mso().Alloc = allocBytes
		r.finish = func(q *Request) (Status, *Error) {
			st, err := q.c.objectResult(q.op, q.m, e)
			if err != nil || st.Cancelled {
				return st, err
			}
			data, derr := decodeNewObjects[T](q.m.Buf)
			if derr != nil {
				return st, opError(ErrType, q.op, derr).with(st.Source)
			}
			r.data, st.Count, st.decoded = data, len(data), true
			return st, nil
		}
		return nil
	}
	r.mso().Alloc = func(n int) []byte {
		if e.size == 0 {
			return nil
		}
		return bytesOf(make([]T, (n+e.size-1)/e.size))[:n]
	}
	r.finish = func(q *Request) (Status, *Error) {
		st, err := q.c.plainResult(q.op, q.m, e, 0)
		if err != nil || st.Cancelled {
			return st, err
		}
		if st.Count == Undefined {
			return st, opErrorf(ErrType, q.op, "%d bytes arrived, no whole number of %s of %d bytes", st.bytes, e.name, e.size).with(st.Source)
		}
		r.data = wholeSlice[T](q.m.Buf, st.Count)
		return st, nil
	}
	return nil
}

// wholeSlice views b, or is an empty slice that is not nil.
func wholeSlice[T any](b []byte, n int) []T {
	if n == 0 {
		return []T{}
	}
	return sliceOf[T](b)
}

// SendValue sends one value of any type: Send of a slice of one. No counterpart
// in MPI.
func SendValue[T any](c *Comm, v T, dest, tag int) error {
	one := [1]T{v}
	return send(c, "SendValue", modeStandard, one[:], dest, tag)
}

// RecvValue receives one value sent by SendValue, or by Send of one element; a
// message of several is an error of class ErrTruncate, an empty one of ErrCount.
// source and tag are those of Recv. No counterpart in MPI.
func RecvValue[T any](c *Comm, source, tag int) (T, Status, error) {
	const op = "RecvValue"
	var one [1]T
	if err := c.checkRecv(op, source, tag); err != nil {
		return one[0], emptyStatus(), c.fail(err)
	}
	e := elemOf[T]()
	if e.err != nil {
		return one[0], emptyStatus(), c.fail(opError(ErrType, op, e.err))
	}
	if source == ProcNull {
		return one[0], procNullStatus(), nil
	}
	m := getMSO()
	c.recvMSO(m, source, tag)
	st, err := finishRecv(c, op, m, e, one[:])
	if err == nil && st.Count != 1 && e.size > 0 {
		err = c.fail(opErrorf(ErrCount, op, "%d values arrived, not one", st.Count).with(st.Source))
	}
	return one[0], st, err
}
