package mpi

import (
	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/callsite"
)

// Sendrecv sends out to rank dest and receives from rank source into in, both at once, so that a
// ring of them does not lock up (MPI 4.1, section 3.2.7). The status is the receive's. If only the
// send has failed, the status is valid and the message is in the buffer in. It blocks until both
// are done; out and in must not overlap. dest and source may each be ProcNull, and each half meets
// plain sends and receives too.
func Sendrecv[S, R any](c *Comm, out []S, dest, sendTag int, in []R, source, recvTag int) (Status, error) {
	const op = "Sendrecv"
	told := beginSendrecv(c, op, out, dest, sendTag, in, source, recvTag)
	if sendFirst(c, out, dest, sendTag, in, source, recvTag) {
		return told.received(recvSecond(c, op, in, source, recvTag))
	}
	return told.received(isendrecv(c, op, out, dest, sendTag, in, source, recvTag, engine.Waits, false).wait())
}

// Isendrecv starts a Sendrecv and returns; out and in belong to the request until Wait or a
// successful Test (MPI 4.1, section 3.7.7).
func Isendrecv[S, R any](c *Comm, out []S, dest, sendTag int, in []R, source, recvTag int) *Request {
	told := beginSendrecv(c, "Isendrecv", out, dest, sendTag, in, source, recvTag)
	return told.started(isendrecv(c, "Isendrecv", out, dest, sendTag, in, source, recvTag, engine.Computes, false))
}

// SendrecvReplace is Sendrecv with one buffer: what is received replaces what is sent (MPI 4.1,
// section 3.2.7). A message that cannot leave at once is copied first, without the gaps of a
// layout. Rank source may wait for its message to be received before it receives, and then both
// messages must be kept.
func SendrecvReplace[T any](c *Comm, buf []T, dest, sendTag, source, recvTag int) (Status, error) {
	const op = "SendrecvReplace"
	told := beginSendrecv(c, op, buf, dest, sendTag, buf, source, recvTag)
	if sendFirst(c, buf, dest, sendTag, buf, source, recvTag) {
		return told.received(recvSecond(c, op, buf, source, recvTag))
	}
	return told.received(isendrecv(c, op, buf, dest, sendTag, buf, source, recvTag, engine.Waits, true).wait())
}

// IsendrecvReplace starts a SendrecvReplace and returns; buf belongs to the request until Wait or a
// successful Test (MPI 4.1, section 3.7.7).
func IsendrecvReplace[T any](c *Comm, buf []T, dest, sendTag, source, recvTag int) *Request {
	told := beginSendrecv(c, "IsendrecvReplace", buf, dest, sendTag, buf, source, recvTag)
	return told.started(isendrecv(c, "IsendrecvReplace", buf, dest, sendTag, buf, source, recvTag, engine.Computes, true))
}

// sendFirst sends out, if both messages are of plain memory, and this one can leave at once. Then
// what is left to do is to receive.
func sendFirst[S, R any](c *Comm, out []S, dest, sendTag int, _ []R, source, recvTag int) bool {
	e := elemOf[S]()
	return c.sendsNow(e, dest, sendTag) && c.receivesNow(elemOf[R](), source, recvTag) && c.sendNow(e.class, bytesOf(out), dest, sendTag, engine.Returns)
}

// recvSecond receives what sendFirst has asked about.
func recvSecond[R any](c *Comm, op string, in []R, source, tag int) (st Status, err error) {
	e := elemOf[R]()
	if c.recvNow(e, bytesOf(in), source, tag, &st) {
		if st.isOfOtherKind(e) {
			return st, c.fail(mismatch(op, st, st.class.String(), e.name))
		}
		return st, nil
	}
	m := getMSO()
	c.recvMSO(m, source, tag)
	return finishRecv(c, op, m, e, in)
}

// isendrecv starts both; next is what the caller does, replace says that in is the
// memory of out.
func isendrecv[S, R any](c *Comm, op string, out []S, dest, sendTag int, in []R, source, recvTag int, next engine.Intent, replace bool) *Request {
	if err := c.checkSend(op, dest, sendTag); err != nil {
		return failedRequest(c, err)
	}
	if err := c.checkRecv(op, source, recvTag); err != nil {
		return failedRequest(c, err)
	}
	var p payload
	if err := fill(&p, c, op, out); err != nil {
		return failedRequest(c, err)
	}
	r := newRequest(c, op)
	if err := prepareRecv(r, in, source); err != nil {
		return failedRequest(c, err)
	}
	if replace && dest != ProcNull {
		if p.isBytes(modeStandard) && c.sendNow(p.class, p.b, dest, sendTag, engine.Computes) {
			dest = ProcNull // it is on its way
		} else {
			p = p.apart()
		}
	}
	if source == ProcNull {
		r.more().finish = func(*Request) (Status, *Error) { return procNullStatus(), nil }
	} else {
		c.recvMSO(r.mso(), source, recvTag)
		r.m = r.mso()
		r.m.Patient = next == engine.Computes
		c.job.engine.Post(r.m, next)
	}
	if dest != ProcNull {
		x := getMSO()
		r.more().extra = x
		callsite.Note(x.Origin[:])
		c.sendMSO(x, modeStandard, &p, dest, sendTag)
		c.job.engine.Post(x, next)
	}
	return r
}
