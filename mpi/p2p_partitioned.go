package mpi

import (
	"errors"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/callsite"
)

// parts is what a request of PsendInit or PrecvInit has beyond that of SendInit.
type parts struct {
	// Immutable after the request is made.
	p       *engine.Parts // nil: a receive from ProcNull
	send    bool
	count   int              // partitions at this end
	encode  partEncoder      // of a send of objects; else nil
	objects *incomingObjects // of a receive of objects; else nil
	sig     *signature       // of the whole message; nil unless types are checked

	kept keptParts   // of a send whose rank is checked
	told atomic.Bool // the user has been told of the round that was last, as delivered says; for callers that make partitions ready meanwhile
}

// partEncoder serialises one partition.
type partEncoder func(partition int) ([]byte, *Error)

// PsendInit makes a persistent send of buf in so many partitions, all equally long (MPI 4.1,
// section 4.2.1). Each Start begins a round. In it nothing is sent until the program says, with
// Pready, that a partition holds what is to be sent. That partition leaves at once, while others
// are still computed. Any goroutine may say so. Wait returns when all partitions are ready and have
// left.
//
// A partition is len(buf)/partitions elements; a length that is no multiple of partitions is an
// error of class [ErrCount]. Made through [Comm.WithType] a partition is one value of the datatype,
// and they follow each other in buf at its extent. For count values in each give Contiguous(count,
// t), for partitions that interleave, as columns do, a Resized one. Objects have no datatype, but
// may have partitions: each is serialised when it is made ready.
//
// The receive that matches is a PrecvInit of rank dest with the same communicator and tag. The data
// of all its partitions together must be of the same types in the same order. How many partitions
// they are, and which layout they have, is its own affair. Pairs are matched once, in the order in
// which both ranks make them, and never with other sends and receives. PsendInit does not wait;
// dest may be ProcNull. Bad arguments give a request that has already failed: Wait and Start tell.
func PsendInit[T any](c *Comm, buf []T, partitions, dest, tag int) *Request {
	return beginSend(c, "PsendInit", buf, dest, tag).started(psendInit(c, buf, partitions, dest, tag))
}

func psendInit[T any](c *Comm, buf []T, partitions, dest, tag int) *Request {
	const op = "PsendInit"
	r, err := partRequest(c, op, "destination", c.sendType, buf, partitions, dest, tag)
	if err != nil {
		return failedRequest(c, err)
	}
	p := r.rare.parts.p
	r.rare.parts.send, p.Send, p.Null = true, true, dest == ProcNull
	if p.Base, err = c.takePartTags(op, partitions); err != nil {
		return failedRequest(c, err)
	}
	if r.rare.parts.sig != nil {
		p.Note = r.rare.parts.sig[:]
	}
	if p.Object {
		r.rare.parts.encode = func(i int) ([]byte, *Error) {
			n := len(buf) / partitions
			var p payload
			err := fill(&p, c, "Pready", buf[i*n:(i+1)*n])
			return p.b, err
		}
	}
	r.rare.start = r.startParts
	r.rare.finish = func(r *Request) (Status, *Error) {
		if err := r.partsError(); err != nil {
			return emptyStatus(), err
		}
		return emptyStatus(), r.partsChanged()
	}
	c.job.engine.InitParts(p)
	return r
}

// PrecvInit makes a persistent receive into buf in so many partitions, all equally long, from a
// PsendInit of rank source (MPI 4.1, section 4.2.1). What a partition is, with a datatype and
// without, is as for PsendInit. Start begins a round. In it Parrived says whether a partition is
// there, and Wait returns when all are. Neither AnySource nor AnyTag is possible; source may be
// ProcNull. A sender whose partitions do not have as many data in all makes Wait return an error of
// class ErrCount. PrecvInit does not wait.
func PrecvInit[T any](c *Comm, buf []T, partitions, source, tag int) *Request {
	return beginRecv(c, "PrecvInit", buf, source, tag).started(precvInit(c, buf, partitions, source, tag))
}

func precvInit[T any](c *Comm, buf []T, partitions, source, tag int) *Request {
	const op = "PrecvInit"
	r, err := partRequest(c, op, "source", c.recvType, buf, partitions, source, tag)
	if err != nil {
		return failedRequest(c, err)
	}
	if source == ProcNull {
		r.rare.parts.p = nil
		r.rare.finish = func(*Request) (Status, *Error) { return procNullStatus(), nil }
		r.rare.start = func() *Error { return nil }
		return r
	}
	p, e := r.rare.parts.p, elemOf[T]()
	whole := Status{Source: source, Tag: tag, Count: len(buf), bytes: p.Total, class: e.class, decoded: p.Object}
	if p.Object {
		r.rare.parts.objects = newIncomingObjects(c.job.engine, p, buf)
	} else if c.recvType != nil {
		whole.Count = wholeCount(p.Total, e.wire)
	}
	r.rare.start = r.startParts
	r.rare.finish = func(r *Request) (Status, *Error) {
		if err := r.partsError(); err != nil {
			return emptyStatus(), err
		}
		if in := r.rare.parts.objects; in != nil {
			if err := in.decode(0, p.Blocks()); err != nil {
				return whole, opError(ErrType, r.op, err).with(source)
			}
		}
		return whole, nil
	}
	c.job.engine.InitParts(p)
	return r
}

// partRequest checks the arguments of an initialisation and makes the request, with t laid over buf
// for each partition, or if it is nil none.
func partRequest[T any](c *Comm, op, what string, t *Datatype, buf []T, partitions, peer, tag int) (*Request, *Error) {
	if err := c.usableWith(op, peer); err != nil {
		return nil, err
	}
	if err := c.checkPeer(op, what, peer, false); err != nil {
		return nil, err
	}
	if err := checkTag(op, tag, false); err != nil {
		return nil, err
	}
	e := elemOf[T]()
	switch {
	case e.err != nil:
		return nil, opError(ErrType, op, e.err)
	case !e.plain && t != nil:
		return nil, notLaid(op, e)
	case partitions < 1 || partitions > engine.MaxPartitions:
		return nil, opErrorf(ErrArg, op, "%d partitions: need 1 to %d", partitions, engine.MaxPartitions)
	case t == nil && len(buf)%partitions != 0:
		return nil, opErrorf(ErrCount, op, "%d elements are not %d partitions of equal length: give a multiple of %d", len(buf), partitions, partitions)
	}
	p, err := newParts(c, op, t, buf, partitions, peer, tag)
	if err != nil {
		return nil, err
	}
	r := newRequest(c, op)
	r.peer, r.delivered, r.held = int32(peer), true, true
	r.more().parts = &parts{p: p, count: partitions}
	callsite.Note(p.MSO.Origin[:])
	if c.job.checks {
		r.rare.parts.sig = objectSignature(e)
		if e.plain {
			r.rare.parts.sig = plainSignature(e, t, p.Total)
		}
	}
	return r, nil
}

func newParts[T any](c *Comm, op string, t *Datatype, buf []T, partitions, peer, tag int) (*engine.Parts, *Error) {
	e := elemOf[T]()
	p := &engine.Parts{Tag: engine.Tag(tag), Count: partitions, Elem: uint8(e.class), Hello: c.p2p | partitionedPurpose}
	p.Data = p.Hello | collectiveBit
	if peer != ProcNull {
		p.Peer = c.peers[peer]
	}
	if p.Object = !e.plain; p.Object {
		p.Total = len(buf)
		return p, nil
	}
	b, o, err := travelsTimes(c, op, t, partitions, buf)
	if err != nil {
		return nil, err
	}
	if p.Buf, p.Total = b, len(b); o != nil {
		p.Layout, p.Total = o, o.size
	}
	return p, nil
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
	if in := r.rare.parts.objects; in != nil {
		in.reset()
	}
	r.rare.parts.kept.reset()
	r.m = &r.rare.parts.p.MSO
	r.rare.parts.told.Store(false)
	r.c.job.engine.StartParts(r.rare.parts.p)
	return nil
}

// partsError is how a round has failed, nil if it has not.
func (r *Request) partsError() *Error {
	if err := r.m.Err; err != nil {
		return r.c.partsError(r.op, err, int(r.peer))
	}
	return r.partsMismatch(r.op)
}

// partsMismatch is the error of a receive whose buffer is of other types than the message, which is
// as long: unless types are checked, of another kind.
func (r *Request) partsMismatch(op string) *Error {
	ours, p := r.rare.parts.sig, r.rare.parts.p
	if r.rare.parts.send || !p.IsKnown() || p.Total == 0 {
		return nil
	}
	if ours == nil || p.GotNote() == nil {
		return r.partsKindMismatch(op)
	}
	theirs := (*signature)(p.GotNote())
	if theirs.hash() == ours.hash() || !p.Object && (theirs[sigFlags]|ours[sigFlags])&sigBytes != 0 {
		return nil
	}
	return mismatch(op, Status{Source: int(r.peer), Tag: int(p.Tag)}, theirs.text(), ours.text())
}

// partsKindMismatch is partsMismatch by what the header of the hello says.
func (r *Request) partsKindMismatch(op string) *Error {
	p := r.rare.parts.p
	theirs, ours := elemClass(p.GotElem()), elemClass(p.Elem)
	if theirs == ours || !theirs.isKind() || !ours.isKind() {
		return nil
	}
	return mismatch(op, Status{Source: int(r.peer), Tag: int(p.Tag)}, theirs.String(), ours.String())
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
