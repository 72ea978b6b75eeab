package mpi

import "github.com/fitmpi/fitmpi/engine"

// Most messages are short and of plain memory. What the engine can complete at once needs no MSO:
// the calls that send and receive ask for that first, by one question each.

// sendsNow reports whether a message of elements of e from c to dest may be one of these.
func (c *Comm) sendsNow(e *elem, dest, tag int) bool {
	return c.isOpen() && uint(dest) < uint(len(c.peers)) && uint(tag) <= TagUB && c.sendType == nil && e.whole && !c.job.formal
}

// receivesNow is the same of a receive from source, which may be AnySource.
func (c *Comm) receivesNow(e *elem, source, tag int) bool {
	return c.isOpen() && (uint(source) < uint(len(c.peers)) || source == AnySource) && (uint(tag) <= TagUB || tag == AnyTag) && c.recvType == nil && e.whole && !c.job.formal
}

// sendNow sends a message that is short enough to be complete at once.
func (c *Comm) sendNow(class elemClass, b []byte, dest, tag int, next engine.Intent) bool {
	var m engine.Message // filled in where it is: a literal is made elsewhere and copied, and the processor waits for its parts
	m.Peer, m.Tag, m.Ctx = c.peers[dest], engine.Tag(tag), c.p2p
	m.Elem, m.Object, m.Buf = uint8(class), class == classObject, b
	return c.job.engine.Send(&m, next)
}

// isendNow is sendNow of a nonblocking operation, and returns its request; nil if nothing was sent.
func (c *Comm) isendNow(made maker, class elemClass, b []byte, dest, tag int) *Request {
	var m engine.Message // as in sendNow
	m.Peer, m.Tag, m.Ctx = c.peers[dest], engine.Tag(tag), c.p2p
	m.Elem, m.Object, m.Buf = uint8(class), class == classObject, b
	if !c.job.engine.Send(&m, engine.Computes) {
		return nil
	}
	r := c.job.shortRequest(m.Ordinal)
	r.c, r.made, r.collected = c, made, true
	r.status.Source, r.status.Tag = AnySource, AnyTag
	return r
}

// recvNow receives a message that is short and there, or as good as there. The status is that of a
// receive. Whether the message is of the kind of e is the caller's to ask.
//
// Preconditions:
//   - receivesNow.
func (c *Comm) recvNow(e *elem, b []byte, source, tag int, st *Status) bool {
	var r engine.Message // as in sendNow
	r.Tag, r.Ctx, r.Buf = engineTag(tag), c.p2p, b
	if r.Any = source == AnySource; !r.Any {
		r.Peer = c.peers[source]
	}
	if !c.job.engine.Recv(&r, engine.Waits) {
		return false
	}
	if r.Any {
		source = c.rankOf(r.Peer)
	}
	st.receive(source, r.GotTag, r.Length, r.Elem, e)
	return true
}

// irecvNow receives a message that is short and there, and returns the request of that; nil if
// there is none.
//
// Preconditions:
//   - receivesNow.
func (c *Comm) irecvNow(e *elem, b []byte, source, tag int) *Request {
	var got engine.Message // as in sendNow
	got.Tag, got.Ctx, got.Buf = engineTag(tag), c.p2p, b
	if got.Any = source == AnySource; !got.Any {
		got.Peer = c.peers[source]
	}
	if !c.job.engine.Recv(&got, engine.Computes) {
		return nil
	}
	if got.Any {
		source = c.rankOf(got.Peer)
	}
	r := c.job.shortRequest(got.Ordinal)
	r.c, r.made, r.collected = c, madeIrecv, true
	r.status.receive(source, got.GotTag, got.Length, got.Elem, e)
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

// receive makes st, which is zero, the status of a receive of elements of e. Field by field, where
// it stays: as in sendNow.
func (st *Status) receive(source int, tag engine.Tag, bytes int, class uint8, e *elem) {
	st.Source, st.Tag, st.Count = source, int(tag), wholeCount(bytes, e.wire)
	st.bytes, st.class = bytes, elemClass(class)
}
