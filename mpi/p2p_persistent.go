package mpi

import "github.com/fitmpi/fitmpi/engine"

import "errors"

// SendInit makes a persistent standard send of buf: each Start sends what buf holds then, each Wait
// completes it (MPI 4.1, section 3.9). dest and tag are those of Send. buf belongs to the request
// from Start to Wait. SendInit does not block. Bad arguments give a request that has already
// failed: Wait and Start tell.
func SendInit[T any](c *Comm, buf []T, dest, tag int) *Request {
	return beginSend(c, "SendInit", buf, dest, tag).started(sendInit(c, "SendInit", modeStandard, buf, dest, tag))
}

// SsendInit makes a persistent synchronous send: it is SendInit of an Ssend (MPI 4.1, section 3.9).
func SsendInit[T any](c *Comm, buf []T, dest, tag int) *Request {
	return beginSend(c, "SsendInit", buf, dest, tag).started(sendInit(c, "SsendInit", modeSync, buf, dest, tag))
}

// BsendInit makes a persistent buffered send: it is SendInit of a Bsend (MPI 4.1, section 3.9).
func BsendInit[T any](c *Comm, buf []T, dest, tag int) *Request {
	return beginSend(c, "BsendInit", buf, dest, tag).started(sendInit(c, "BsendInit", modeBuffered, buf, dest, tag))
}

// RsendInit makes a persistent ready send: it is SendInit of an Rsend (MPI 4.1, section 3.9).
func RsendInit[T any](c *Comm, buf []T, dest, tag int) *Request {
	return beginSend(c, "RsendInit", buf, dest, tag).started(sendInit(c, "RsendInit", modeReady, buf, dest, tag))
}

func sendInit[T any](c *Comm, op string, mode sendMode, buf []T, dest, tag int) *Request {
	if err := c.checkSend(op, dest, tag); err != nil {
		return failedRequest(c, err)
	}
	if e := elemOf[T](); e.err != nil {
		return failedRequest(c, opError(ErrType, op, e.err))
	}
	r := newRequest(c, op)
	r.peer, r.delivered = int32(dest), true
	r.mso() // now, since this is where it comes from
	r.more().start = func() *Error {
		var p payload
		err := fill(&p, c, op, buf)
		if err != nil || dest == ProcNull {
			return err
		}
		c.sendMSO(r.mso(), mode, &p, dest, tag)
		if x := r.rare.checked; x != nil && mode != modeBuffered {
			x.sent = sentOf(p)
		}
		if mode == modeBuffered {
			m := getMSO()
			c.sendMSO(m, mode, &p, dest, tag)
			return c.bsend(op, m, dest)
		}
		r.post()
		return nil
	}
	return r
}

// RecvInit makes a persistent receive into buf: each Start starts a receive, each Wait completes it
// (MPI 4.1, section 3.9). source and tag are those of Recv. It is otherwise as SendInit.
func RecvInit[T any](c *Comm, buf []T, source, tag int) *Request {
	return beginRecv(c, "RecvInit", buf, source, tag).started(recvInit(c, buf, source, tag))
}

func recvInit[T any](c *Comm, buf []T, source, tag int) *Request {
	const op = "RecvInit"
	if err := c.checkRecv(op, source, tag); err != nil {
		return failedRequest(c, err)
	}
	r := newRequest(c, op)
	if err := prepareRecv(r, buf, source); err != nil {
		return failedRequest(c, err)
	}
	r.delivered = true
	if source == ProcNull {
		r.more().finish = func(*Request) (Status, *Error) { return procNullStatus(), nil }
		r.rare.start = func() *Error { return nil }
		return r
	}
	c.recvMSO(r.mso(), source, tag)
	r.mso().Patient = true
	r.more().start = func() *Error {
		r.post()
		return nil
	}
	return r
}

// post starts the MSO of a persistent request once more.
func (r *Request) post() {
	r.m = r.mso()
	r.m.Reset()
	r.c.job.engine.Post(r.m, engine.Computes)
}

// Start starts a persistent request and returns (MPI 4.1, section 3.9). A request that is active or
// not persistent is an error of class [ErrRequest].
func (r *Request) Start() (err error) {
	defer r.begin("Start").endAt(&err)
	return r.startAgain()
}

func (r *Request) startAgain() error {
	if r == nil {
		return opErrorf(ErrRequest, "Start", "the request is nil: make it with SendInit, RecvInit or their like")
	}
	if !r.isPersistent() {
		if err := r.failure(); err != nil {
			r.heard()
			return err
		}
		return r.c.fail(opErrorf(ErrRequest, "Start", "the request is %s, not persistent: make it with SendInit, RecvInit or their like", r.maker()))
	}
	if err := r.c.usable("Start"); err != nil {
		return r.c.fail(err)
	}
	if !r.delivered {
		return r.c.fail(opErrorf(ErrRequest, "Start", "the request of %s is active: complete it with Wait or Test first", r.op))
	}
	r.collected, r.rare.err = false, nil
	r.deliver(false)
	r.status = emptyStatus()
	if err := r.rare.start(); err != nil {
		r.m, r.collected = nil, true
		r.deliver(true)
		r.rare.err = r.c.fail(err)
		return r.rare.err
	}
	return nil
}

// StartAll is Start of each of rs (MPI 4.1, section 3.9). A request that cannot be started does not
// keep the others from it. The error joins those of the requests.
func StartAll(rs ...*Request) (err error) {
	defer beginRequests("StartAll", rs).endAt(&err)
	var errs []error
	for _, r := range rs {
		if err := r.startAgain(); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
