package mpi

import (
	"fmt"

	"github.com/fitmpi/fitmpi/engine"
)

// Send sends buf to rank dest of c, in standard mode (MPI 4.1, section 3.2.1).
//
// It blocks until buf may be reused: the message has been handed to the kernel, or, if the receiver
// is late or the network slow, copied to the library send buffer. Without room there it blocks
// until the message has been sent. dest is a rank of c, of the other group if c is an
// intercommunicator, or ProcNull, with which nothing is sent; tag is 0 to TagUB.
//
// A T without pointers travels as memory. Any other T is serialised (encoding.BinaryAppender or
// BinaryMarshaler if it has them, else gob, which sends exported fields only). The error is of
// class [ErrRank] for a dest that is no rank, [ErrTag] for a tag out of range, and [ErrType] for a
// T that can do neither.
func Send[T any](c *Comm, buf []T, dest, tag int) error {
	told := beginSend(c, "Send", buf, dest, tag)
	if e := elemOf[T](); c.sendsNow(e, dest, tag) && c.sendNow(e.class, bytesOf(buf), dest, tag, engine.Returns) {
		return told.end(nil)
	}
	return told.end(sendWhole(c, "Send", modeStandard, buf, dest, tag))
}

// Ssend is a synchronous Send: it blocks until the receive that matches has started (MPI 4.1,
// section 3.4).
func Ssend[T any](c *Comm, buf []T, dest, tag int) error {
	return send(c, "Ssend", modeSync, buf, dest, tag)
}

// Bsend copies buf to the buffer attached to c (Comm.AttachBuffer) and returns without waiting for
// the receiver (MPI 4.1, sections 3.4 and 3.6). If c has no buffer, that of its session serves
// (Session.AttachBuffer), and if there is none either, that of the job (AttachJobBuffer). The error
// is of class ErrBuffer when there is no room, or no buffer.
func Bsend[T any](c *Comm, buf []T, dest, tag int) error {
	return send(c, "Bsend", modeBuffered, buf, dest, tag)
}

// Rsend is a Send by a caller that knows that the receive is posted (MPI 4.1, section 3.4). Here
// that makes no difference.
func Rsend[T any](c *Comm, buf []T, dest, tag int) error {
	return send(c, "Rsend", modeReady, buf, dest, tag)
}

func send[T any](c *Comm, op string, mode sendMode, buf []T, dest, tag int) error {
	return beginSend(c, op, buf, dest, tag).end(sendWhole(c, op, mode, buf, dest, tag))
}

// sendWhole is send without a word to tools.
func sendWhole[T any](c *Comm, op string, mode sendMode, buf []T, dest, tag int) error {
	err := c.checkSend(op, dest, tag)
	if err == nil {
		var p payload
		if err = fill(&p, c, op, buf); err == nil && dest != ProcNull {
			err = c.send(op, mode, &p, dest, tag)
		}
	}
	if err != nil {
		return c.fail(err)
	}
	return nil
}

func (c *Comm) checkSend(op string, dest, tag int) *Error {
	if c.isOpen() && uint(dest) < uint(len(c.peers)) && uint(tag) <= TagUB {
		return nil // which is all that mostly is to be asked
	}
	if err := c.usableWith(op, dest); err != nil {
		return err
	}
	if err := c.checkPeer(op, "destination", dest, false); err != nil {
		return err
	}
	return checkTag(op, tag, false)
}

// send is a blocking send of checked arguments.
func (c *Comm) send(op string, mode sendMode, p *payload, dest, tag int) *Error {
	if p.isBytes(mode) && c.sendNow(p.class, p.b, dest, tag, engine.Returns) {
		return nil
	}
	return c.sendPosted(op, mode, p, dest, tag)
}

// sendPosted is send of a message that the engine cannot send at once.
func (c *Comm) sendPosted(op string, mode sendMode, p *payload, dest, tag int) *Error {
	m := getMSO()
	c.sendMSO(m, mode, p, dest, tag)
	if mode == modeBuffered {
		return c.bsend(op, m, dest)
	}
	c.job.engine.Post(m, engine.Returns)
	ended := c.wait(m)
	err := m.Err
	if !ended {
		putMSO(m)
	}
	if err != nil {
		return c.engineError(op, err, dest, 0, 0)
	}
	return nil
}

// Isend starts a Send and returns; buf belongs to the request until Wait or a
// successful Test (MPI 4.1, section 3.7.2). Bad arguments give a request that
// has already failed: Wait tells. A standard send may wait for its receive
// (section 3.4): one of more than FITMPI_EAGER_MAX does, to this rank itself, too.
func Isend[T any](c *Comm, buf []T, dest, tag int) *Request {
	told := beginSend(c, "Isend", buf, dest, tag)
	if e := elemOf[T](); c.sendsNow(e, dest, tag) {
		if r := c.isendNow(madeIsend, e.class, bytesOf(buf), dest, tag); r != nil {
			return told.started(r)
		}
	}
	return told.started(isend(c, "Isend", modeStandard, buf, dest, tag))
}

// Issend starts an Ssend and returns; it is otherwise as Isend (MPI 4.1, section 3.7.2).
func Issend[T any](c *Comm, buf []T, dest, tag int) *Request {
	return beginSend(c, "Issend", buf, dest, tag).started(isend(c, "Issend", modeSync, buf, dest, tag))
}

// Ibsend starts a Bsend, which is complete at once (MPI 4.1, section 3.7.2).
func Ibsend[T any](c *Comm, buf []T, dest, tag int) *Request {
	return beginSend(c, "Ibsend", buf, dest, tag).started(isend(c, "Ibsend", modeBuffered, buf, dest, tag))
}

// Irsend starts an Rsend and returns; it is otherwise as Isend (MPI 4.1, section 3.7.2).
func Irsend[T any](c *Comm, buf []T, dest, tag int) *Request {
	return beginSend(c, "Irsend", buf, dest, tag).started(isend(c, "Irsend", modeReady, buf, dest, tag))
}

func isend[T any](c *Comm, op string, mode sendMode, buf []T, dest, tag int) *Request {
	if err := c.checkSend(op, dest, tag); err != nil {
		return failedRequest(c, err)
	}
	var p payload
	if err := fill(&p, c, op, buf); err != nil {
		return failedRequest(c, err)
	}
	if dest == ProcNull {
		return overRequest(c, maker(mode)+1)
	}
	if p.isBytes(mode) {
		if r := c.isendNow(maker(mode)+1, p.class, p.b, dest, tag); r != nil {
			return r
		}
	}
	r := briefRequest(c, op, maker(mode)+1)
	r.peer = int32(dest)
	if mode == modeBuffered {
		return r.settled(emptyStatus(), c.send(op, mode, &p, dest, tag))
	}
	r.m = r.mso()
	c.sendMSO(r.m, mode, &p, dest, tag)
	c.job.engine.Post(r.m, engine.Computes)
	return r
}

// sendMode is the communication mode of a send (MPI 4.1, section 3.4).
type sendMode uint8

const (
	modeStandard sendMode = iota
	modeSync
	modeBuffered
	modeReady // a standard send: being sure of the receiver buys nothing here
)

// peerCause says which process is gone, where it was, and why.
type peerCause struct {
	who  string
	host string
	gone *engine.PeerError
}

func (p *peerCause) Error() string {
	lost := ""
	if m := p.gone.Lost; m != nil {
		n, _ := unsigned(m.Length, m.Elem)
		lost = fmt.Sprintf("; its message of %d bytes with tag %d was on its way, and is lost", n, m.Tag)
	}
	if p.gone.Left {
		return fmt.Sprintf("%s on %s has finalized%s", p.who, p.host, lost)
	}
	return fmt.Sprintf("%s on %s failed: %v%s", p.who, p.host, p.gone.Cause, lost)
}

func (p *peerCause) Unwrap() error { return p.gone }
