//go:build linux

package mpi

import (
	"errors"
	"fmt"

	"github.com/fitmpi/fitmpi/engine"
)

// parts is what a request of PsendInit or PrecvInit has beyond that of SendInit.
type parts struct {
	// Immutable after the request is made.
	p       *engine.Parts // nil: a receive from ProcNull
	send    bool
	count   int              // partitions at this end
	encode  partEncoder      // of a send of objects; else nil
	objects *incomingObjects // of a receive of objects; else nil
}

// partEncoder serialises one partition.
type partEncoder func(partition int) ([]byte, *Error)

// PsendInit makes a persistent send of buf in so many partitions, all equally long
// (MPI 4.1, section 4.2.1). Each Start begins a round, in which nothing is sent until
// the program says, with Pready, that a partition holds what is to be sent; that
// partition leaves at once, while others are still computed. Any goroutine may say so.
// Wait returns when all partitions are ready and have left.
//
// The receive that matches is a PrecvInit of rank dest with the same communicator and
// tag, which may have another number of partitions but must be as long in all. Pairs
// are matched once, in the order in which both ranks make them, and never with other
// sends and receives. PsendInit does not wait; dest may be ProcNull. Elements with
// padding travel with it.
func PsendInit[T any](c *Comm, buf []T, partitions, dest, tag int) *Request {
	const op = "PsendInit"
	r, e, err := partRequest(c, op, "destination", buf, partitions, dest, tag)
	if err != nil {
		return failedRequest(c, err)
	}
	p := newParts(c, e, buf, partitions, dest, tag)
	p.Send, p.Null = true, dest == ProcNull
	if p.Base, err = c.takePartTags(op, partitions); err != nil {
		return failedRequest(c, err)
	}
	r.parts = &parts{p: p, send: true, count: partitions}
	if !e.plain {
		r.parts.encode = func(i int) ([]byte, *Error) {
			n := len(buf) / partitions
			b, err := payloadOf(c, "Pready", buf[i*n:(i+1)*n])
			return b.b, err
		}
	}
	r.start = r.startParts
	r.finish = func(r *Request) (Status, *Error) { return emptyStatus(), r.partsError() }
	c.job.engine.InitParts(p)
	return r
}

// PrecvInit makes a persistent receive into buf in so many partitions, all equally
// long, from a PsendInit of rank source (MPI 4.1, section 4.2.1). In a round, which
// Start begins, Parrived says whether a partition is there; Wait returns when all are.
// Neither AnySource nor AnyTag is possible; source may be ProcNull. A sender whose
// partitions are not as long in all makes Wait return an error of class ErrCount.
// PrecvInit does not wait.
func PrecvInit[T any](c *Comm, buf []T, partitions, source, tag int) *Request {
	const op = "PrecvInit"
	r, e, err := partRequest(c, op, "source", buf, partitions, source, tag)
	if err != nil {
		return failedRequest(c, err)
	}
	r.parts = &parts{count: partitions}
	if source == ProcNull {
		r.finish = func(*Request) (Status, *Error) { return procNullStatus(), nil }
		r.start = func() *Error { return nil }
		return r
	}
	p := newParts(c, e, buf, partitions, source, tag)
	r.parts.p = p
	if !e.plain {
		r.parts.objects = newIncomingObjects(p, buf)
	}
	whole := Status{Source: source, Tag: tag, Count: len(buf), bytes: p.Total, class: e.class, decoded: !e.plain}
	r.start = r.startParts
	r.finish = func(r *Request) (Status, *Error) {
		if err := r.partsError(); err != nil {
			return emptyStatus(), err
		}
		if in := r.parts.objects; in != nil {
			if err := in.decode(0, p.Blocks()); err != nil {
				return whole, opError(ErrType, r.op, err).with(source)
			}
		}
		return whole, nil
	}
	c.job.engine.InitParts(p)
	return r
}

// partRequest checks the arguments of an initialisation.
func partRequest[T any](c *Comm, op, what string, buf []T, partitions, peer, tag int) (*Request, *elem, *Error) {
	if err := c.usableWith(op, peer); err != nil {
		return nil, nil, err
	}
	if err := c.checkPeer(op, what, peer, false); err != nil {
		return nil, nil, err
	}
	if err := checkTag(op, tag, false); err != nil {
		return nil, nil, err
	}
	e := elemOf[T]()
	switch {
	case e.err != nil:
		return nil, nil, opError(ErrType, op, e.err)
	case c.sendType != nil || c.recvType != nil:
		return nil, nil, opErrorf(ErrType, op, "partitions are parts of a buffer, and have no layout: use the communicator without WithType")
	case e.plain && c.job.swaps && e.wire > 1:
		return nil, nil, opErrorf(ErrUnsupportedOperation, op, "the job has ranks of both byte orders, between which partitions of %s are not converted: send them in messages of their own", e.name)
	case partitions < 1 || partitions > engine.MaxPartitions:
		return nil, nil, opErrorf(ErrArg, op, "%d partitions: need 1 to %d", partitions, engine.MaxPartitions)
	case len(buf)%partitions != 0:
		return nil, nil, opErrorf(ErrCount, op, "%d elements are not %d partitions of equal length: give a multiple of %d", len(buf), partitions, partitions)
	}
	r := newRequest(c, op)
	r.peer, r.delivered = peer, true
	return r, e, nil
}

func newParts[T any](c *Comm, e *elem, buf []T, partitions, peer, tag int) *engine.Parts {
	p := &engine.Parts{Tag: engine.Tag(tag), Count: partitions, Elem: uint8(e.class), Hello: c.p2p | partitionedPurpose}
	p.Data = p.Hello | collectiveBit
	if peer != ProcNull {
		p.Peer = c.peers[peer]
	}
	if p.Object = !e.plain; p.Object {
		p.Total = len(buf)
	} else {
		p.Buf = bytesOf(buf)
		p.Total = len(p.Buf)
	}
	return p
}

// takePartTags returns the first of n tags that no other partition has that this rank
// sends in c. They are not used again: a receive may come late.
func (c *comm) takePartTags(op string, n int) (engine.Tag, *Error) {
	end := c.partTag.Add(uint64(n))
	if end > TagUB+1 {
		return 0, opErrorf(ErrOther, op, "this rank has made %d partitions in the communicator, as many as there are tags: keep requests and start them again, or go on in a Dup", TagUB)
	}
	return engine.Tag(end - uint64(n)), nil
}

// startParts begins a round.
func (r *Request) startParts() *Error {
	if in := r.parts.objects; in != nil {
		in.reset()
	}
	r.m = &r.parts.p.MSO
	r.c.job.engine.StartParts(r.parts.p)
	return nil
}

// partsError is how a round has failed, nil if it has not.
func (r *Request) partsError() *Error {
	if err := r.m.Err; err != nil {
		return r.c.partsError(r.op, err, r.peer)
	}
	return nil
}

func (c *Comm) partsError(op string, err error, peer int) *Error {
	if u, ok := errors.AsType[*engine.UnequalError](err); ok {
		class := ErrCount
		if u.TheirObjects != u.OurObjects {
			class = ErrType
		}
		return opErrorf(class, op, "%w: give both ends buffers of equal length and type", u).with(peer)
	}
	return c.engineError(op, err, peer, 0, 0)
}

// Pready says that a partition of a send made by PsendInit holds what is to be sent in
// this round (MPI 4.1, section 4.2.2). It leaves now, and belongs to the request until
// Wait. Pready does not wait; goroutines may make different partitions ready at once,
// also while another waits for the request. It is an error if the request is not
// active, or the partition ready already.
func (r *Request) Pready(partition int) error {
	const op = "Pready"
	return r.preadyRange(op, partition, partition)
}

// PreadyRange is Pready of the partitions from low to high, both included
// (MPI 4.1, section 4.2.2), at less cost.
func (r *Request) PreadyRange(low, high int) error {
	const op = "PreadyRange"
	if low > high {
		return r.partFail(opErrorf(ErrArg, op, "partitions %d to %d: the first is after the last", low, high))
	}
	return r.preadyRange(op, low, high)
}

func (r *Request) preadyRange(op string, low, high int) error {
	if err := r.checkPart(op, true, low, high); err != nil {
		return r.partFail(err)
	}
	return r.ready(op, high-low+1, func(i int) int { return low + i })
}

// PreadyList is Pready of each partition in the list (MPI 4.1, section 4.2.2), at less
// cost.
func (r *Request) PreadyList(partitions ...int) error {
	const op = "PreadyList"
	for _, i := range partitions {
		if err := r.checkPart(op, true, i, i); err != nil {
			return r.partFail(err)
		}
	}
	return r.ready(op, len(partitions), func(i int) int { return partitions[i] })
}

// ready makes n partitions ready, those that at names.
func (r *Request) ready(op string, n int, at func(int) int) error {
	if r.parts.encode != nil {
		return r.readyObjects(op, n, at)
	}
	i, err := r.c.job.engine.Ready(r.parts.p, n, at)
	if err != nil {
		return r.partFail(r.readyError(op, i, err))
	}
	return nil
}

// readyObjects serialises each partition, in the caller's thread.
func (r *Request) readyObjects(op string, n int, at func(int) int) error {
	for k := range n {
		b, serr := r.parts.encode(at(k))
		if serr != nil {
			return r.partFail(serr.with(r.peer))
		}
		if err := r.c.job.engine.ReadyObject(r.parts.p, at(k), b); err != nil {
			return r.partFail(r.readyError(op, at(k), err))
		}
	}
	return nil
}

// readyError says why a partition cannot be made ready.
func (r *Request) readyError(op string, partition int, err error) *Error {
	switch {
	case errors.Is(err, engine.ErrInactive) || !r.active():
		return opErrorf(ErrRequest, op, "partition %d: the request is not active: call Start first", partition).with(r.peer)
	case errors.Is(err, engine.ErrReadyAlready):
		return opErrorf(ErrRequest, op, "partition %d was made ready before in this round", partition).with(r.peer)
	}
	return r.c.partsError(op, fmt.Errorf("partition %d: %w", partition, err), r.peer)
}

// Parrived reports whether a partition of a receive made by PrecvInit is there
// (MPI 4.1, section 4.2.2): its elements may be read from then on, until the next
// Start. It does not wait and does not complete the request; goroutines may ask at
// once. Of a request that is not active every partition is there. An error says that
// the partition will not come.
func (r *Request) Parrived(partition int) (bool, error) {
	const op = "Parrived"
	if err := r.checkPart(op, false, partition, partition); err != nil {
		return false, r.partFail(err)
	}
	p := r.parts.p
	if p == nil {
		return true, nil
	}
	ok, err := r.c.job.engine.Arrived(p, partition)
	if err != nil {
		return false, r.partFail(r.c.partsError(op, err, r.peer))
	}
	if in := r.parts.objects; ok && in != nil && p.IsKnown() {
		if err := in.decode(p.Overlap(partition)); err != nil {
			return false, r.partFail(opError(ErrType, op, err).with(r.peer))
		}
	}
	return ok, nil
}

// checkPart says that r has no partitions low to high to send, or to receive.
func (r *Request) checkPart(op string, send bool, low, high int) *Error {
	maker := "PrecvInit"
	if send {
		maker = "PsendInit"
	}
	switch {
	case r == nil:
		return opErrorf(ErrRequest, op, "the request is nil")
	case r.parts == nil || r.parts.send != send:
		return opErrorf(ErrRequest, op, "the request of %s is not one of %s", r.op, maker)
	case low < 0 || high >= r.parts.count:
		bad := low
		if low >= 0 {
			bad = high
		}
		return opErrorf(ErrArg, op, "partition %d: need 0 to %d", bad, r.parts.count-1)
	}
	return nil
}

// partFail is fail, for requests that may be nil.
func (r *Request) partFail(err *Error) error {
	if r == nil {
		return err
	}
	return r.c.fail(err)
}
