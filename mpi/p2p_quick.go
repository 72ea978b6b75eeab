//go:build linux

package mpi

import "github.com/fitmpi/fitmpi/engine"

// Most messages are short, of plain memory, between two ranks of which nothing is to be considered.
// For these the calls that send and receive ask one question and have one call of the engine to
// make. Where the answer is no they begin anew, with everything that there may be to consider.

// sendsQuick reports whether a message of elements of e from c to dest is such a one.
func (c *Comm) sendsQuick(e *elem, dest, tag int) bool {
	return c.isOpen() && uint(dest) < uint(len(c.peers)) && uint(tag) <= TagUB && c.sendType == nil && e.whole && !c.job.formal
}

// receivesQuick is the same of a receive from source, which is no wildcard.
func (c *Comm) receivesQuick(e *elem, source, tag int) bool {
	return c.isOpen() && uint(source) < uint(len(c.peers)) && (uint(tag) <= TagUB || tag == AnyTag) && c.recvType == nil && e.whole && !c.job.formal
}

// sendQuick sends b, elements of e for which sendsQuick is true.
func (c *Comm) sendQuick(op string, e *elem, b []byte, dest, tag int) error {
	if c.sendNow(e.class, b, dest, tag, true) {
		return nil
	}
	if err := c.sendPosted(op, modeStandard, &payload{b: b, class: e.class}, dest, tag); err != nil {
		return c.fail(err)
	}
	return nil
}

// isendQuick starts a send of b, elements of e for which sendsQuick is true.
func (c *Comm) isendQuick(op string, e *elem, b []byte, dest, tag int) *Request {
	if r := c.isendNow(madeIsend, e.class, b, dest, tag); r != nil {
		return r
	}
	r := briefRequest(c, op, madeIsend)
	r.peer = int32(dest)
	m := r.own
	c.sendMSO(m, modeStandard, &payload{b: b, class: e.class}, dest, tag)
	r.m = m
	c.job.engine.Post(m)
	return r
}

// sendNow sends a message that is short enough to be complete at once. blocking is as in
// engine.SendNow.
func (c *Comm) sendNow(class elemClass, b []byte, dest, tag int, blocking bool) bool {
	var m engine.ShortMessage // filled in where it is: a literal is made elsewhere and copied, and the processor waits for its parts
	m.Peer, m.Tag, m.Ctx = c.peers[dest], engine.Tag(tag), c.p2p
	m.Elem, m.Object, m.Buf = uint8(class), class == classObject, b
	return c.job.engine.SendNow(&m, blocking)
}

// isendNow is sendNow of a nonblocking operation, and returns its request; nil if nothing was sent.
func (c *Comm) isendNow(made maker, class elemClass, b []byte, dest, tag int) *Request {
	var m engine.ShortMessage // as in sendNow
	m.Peer, m.Tag, m.Ctx = c.peers[dest], engine.Tag(tag), c.p2p
	m.Elem, m.Object, m.Buf = uint8(class), class == classObject, b
	if !c.job.engine.SendNow(&m, false) {
		return nil
	}
	r := c.job.shortRequest(m.Ordinal)
	r.c, r.made, r.collected = c, made, true
	r.status.Source, r.status.Tag = AnySource, AnyTag
	return r
}

// recvNow receives a message that is short and there, or as good as there. The status is that of a
// receive. Whether the message is of the kind of e is the caller's to ask.
func (c *Comm) recvNow(e *elem, b []byte, source, tag int, st *Status) bool {
	var r engine.ShortReceipt // as in sendNow
	r.Peer, r.Tag, r.Ctx, r.Buf = c.peers[source], engineTag(tag), c.p2p, b
	if !c.job.engine.RecvNow(&r) {
		return false
	}
	st.receive(&r, e, source)
	return true
}

// irecvQuick starts a receive of n elements of e into b, for which receivesQuick is true.
func (c *Comm) irecvQuick(op string, e *elem, b []byte, n, source, tag int) *Request {
	if r := c.irecvNow(e, b, source, tag); r != nil {
		return r
	}
	r := briefRequest(c, op, madeIrecv)
	r.peer, r.elem, r.bufLen = int32(source), e, n
	m := r.own
	m.Buf = b
	c.recvMSO(m, source, tag)
	m.Patient = true
	r.m = m
	c.job.engine.Post(m)
	return r
}

// irecvNow receives a message that is short and there, and returns the request of that; nil if
// there is none.
func (c *Comm) irecvNow(e *elem, b []byte, source, tag int) *Request {
	var got engine.ShortReceipt // as in sendNow
	got.Peer, got.Tag, got.Ctx, got.Buf = c.peers[source], engineTag(tag), c.p2p, b
	if !c.job.engine.TakeNow(&got) {
		return nil
	}
	r := c.job.shortRequest(got.Ordinal)
	r.c, r.made, r.collected = c, madeIrecv, true
	r.status.receive(&got, e, source)
	if r.status.isOfOtherKind(e) {
		r.refuse(madeIrecv.name(), e)
	}
	return r
}

// refuse makes r, whose message was received, fail because that is of another kind than e.
func (r *Request) refuse(op string, e *elem) {
	r.engage(op)
	r.more().err = r.c.fail(mismatch(op, r.status, r.status.class.String(), e.name))
}

// receive makes st, which is zero, the status of a receive. Field by field, where it stays: as in
// sendNow.
func (st *Status) receive(r *engine.ShortReceipt, e *elem, source int) {
	st.Source, st.Tag, st.Count = source, int(r.GotTag), wholeCount(r.Length, e.size)
	st.bytes, st.class = r.Length, elemClass(r.Elem)
}
