package mpi

import (
	"math"

	"github.com/fitmpi/fitmpi/engine"
)

// Probe waits for a message that a Recv with the same arguments would receive and says what it is,
// leaving it there (MPI 4.1, section 3.8.1). Count is in bytes; GetCount gives elements. Where
// several goroutines receive, another may take the message after the Probe: use Mprobe there.
func Probe(c *Comm, source, tag int) (st Status, err error) {
	defer c.beginProbe("Probe", source, tag).endStatus(&st, &err)
	_, st, err = c.probe("Probe", engine.KindProbe, source, tag)
	return st, err
}

// Mprobe is Probe that takes the message: only Mrecv of it receives it
// (MPI 4.1, section 3.8.2).
func Mprobe(c *Comm, source, tag int) (*Message, Status, error) {
	told := c.beginProbe("Mprobe", source, tag)
	msg, st, err := c.probe("Mprobe", engine.KindMprobe, source, tag)
	told.received(st, err)
	return msg, st, err
}

func (c *Comm) probe(op string, kind engine.Kind, source, tag int) (*Message, Status, error) {
	if err := c.checkRecv(op, source, tag); err != nil {
		return nil, emptyStatus(), c.fail(err)
	}
	if source == ProcNull {
		return MessageNoProc, procNullStatus(), nil
	}
	m := getMSO()
	c.recvMSO(m, source, tag)
	m.Kind = kind
	c.job.engine.Post(m, engine.Waits)
	ended := c.wait(m)
	err, st := m.Err, c.statusOf(m)
	var msg *Message
	if m.Message != nil {
		msg = &Message{c: c, m: m.Message}
	}
	if !ended {
		putMSO(m)
	}
	if err != nil {
		return nil, emptyStatus(), c.fail(c.engineError(op, err, source, 0, 0))
	}
	return msg, st, nil
}

// Iprobe is Probe that does not wait; ok says whether there is a message
// (MPI 4.1, section 3.8.1).
func Iprobe(c *Comm, source, tag int) (st Status, ok bool, err error) {
	defer c.beginProbe("Iprobe", source, tag).endTest(&st, &ok, &err)
	if err := c.checkRecv("Iprobe", source, tag); err != nil {
		return emptyStatus(), false, c.fail(err)
	}
	if source == ProcNull {
		return procNullStatus(), true, nil
	}
	env, ok := c.job.engine.Iprobe(c.p2p, c.peerOf(source), engineTag(tag))
	if !ok {
		return emptyStatus(), false, c.reportLost("Iprobe", source)
	}
	return c.envelopeStatus(env), true, nil
}

// Improbe is Mprobe that does not wait; msg is nil if there is no message
// (MPI 4.1, section 3.8.2).
func Improbe(c *Comm, source, tag int) (msg *Message, st Status, err error) {
	defer c.beginProbe("Improbe", source, tag).endStatus(&st, &err)
	if err := c.checkRecv("Improbe", source, tag); err != nil {
		return nil, emptyStatus(), c.fail(err)
	}
	if source == ProcNull {
		return MessageNoProc, procNullStatus(), nil
	}
	m, env := c.job.engine.Improbe(c.p2p, c.peerOf(source), engineTag(tag))
	if m == nil {
		return nil, emptyStatus(), c.reportLost("Improbe", source)
	}
	return &Message{c: c, m: m}, c.envelopeStatus(env), nil
}

// lost is the error of a probe that has found nothing and, of failures, may never find anything;
// nil if it may.
func (c *Comm) reportLost(op string, source int) error {
	err := c.job.engine.Lost(c.p2p, c.peerOf(source), c.member)
	if err == nil {
		return nil
	}
	e := c.engineError(op, err, source, 0, 0)
	if source == AnySource && e.Class == ErrProcFailed {
		e.Class = ErrProcFailedPending
	}
	return c.fail(e)
}

func (c *Comm) envelopeStatus(env engine.Envelope) Status {
	n, class := unsigned(env.Length, env.Elem)
	return Status{Source: c.rankOf(env.Source), Tag: int(env.Tag), Count: n, bytes: n, class: class}
}

// Message is a message that a matched probe took (MPI 4.1, section 3.8.2). It
// is received once, by Mrecv, Imrecv or MrecvNew.
type Message struct {
	c *Comm
	m *engine.MSO // nil once received
}

// MessageNoProc is what a matched probe of ProcNull gives: a message without
// elements that may be received any number of times (MPI 4.1, section 3.8.2).
var MessageNoProc = &Message{}

// take hands the message to the receive r.
func (msg *Message) take(r *Request) {
	c := msg.c
	c.recvMSO(r.mso(), AnySource, AnyTag)
	r.mso().Message, msg.m = msg.m, nil
	r.m = r.mso()
	c.job.engine.Post(r.m, engine.Computes)
}

// Mrecv receives a message that a matched probe took; otherwise it is Recv (MPI 4.1, section
// 3.8.3). A nil message, or one that was received already, is an error of class [ErrRequest].
func Mrecv[T any](msg *Message, buf []T) (Status, error) {
	return beginMessage(msg, "Mrecv", buf).received(imrecv(msg, "Mrecv", buf).wait())
}

// Imrecv starts an Mrecv and returns. buf belongs to the request until Wait or a successful Test
// (MPI 4.1, section 3.8.3).
func Imrecv[T any](msg *Message, buf []T) *Request {
	return beginMessage(msg, "Imrecv", buf).started(imrecv(msg, "Imrecv", buf))
}

func imrecv[T any](msg *Message, op string, buf []T) *Request {
	if r := msg.unusable(op); r != nil {
		return r
	}
	r := newRequest(msg.c, op)
	if err := prepareRecv(r, buf, AnySource); err != nil {
		return failedRequest(msg.c, err)
	}
	msg.take(r)
	return r
}

// MrecvNew receives a message that a matched probe took into a new slice, as
// RecvNew does (MPI 4.1, section 3.8.3).
func MrecvNew[T any](msg *Message) (data []T, st Status, err error) {
	const op = "MrecvNew"
	defer beginMessage(msg, op, []T(nil)).endStatus(&st, &err)
	if r := msg.unusable(op); r != nil {
		st, err := r.wait()
		return nil, st, err
	}
	r := &Incoming[T]{Request: newRequest(msg.c, op)}
	if err := r.prepare(AnySource); err != nil {
		return nil, emptyStatus(), msg.c.fail(err)
	}
	msg.take(r.Request)
	st, err = r.wait()
	return r.Data(), st, err
}

// unusable returns the request of a message that cannot be received.
func (msg *Message) unusable(op string) *Request {
	switch {
	case msg == nil:
		r := newRequest(nil, op)
		r.collected, r.more().err = true, opErrorf(ErrRequest, op, "the message is nil: there was none to receive")
		r.status = emptyStatus()
		return r
	case msg == MessageNoProc:
		r := &Request{collected: true}
		r.status = procNullStatus()
		return r
	case msg.m == nil:
		return failedRequest(msg.c, opErrorf(ErrRequest, op, "the message was received already"))
	}
	return nil
}

// Special ranks, tags and numbers. All are negative and no two are equal, so that swapped arguments
// are caught.
const (
	// AnySource as the source of a receive or probe matches messages of every rank (MPI 4.1,
	// section 3.2.4).
	AnySource = -1
	// AnyTag as the tag of a receive or probe matches every tag (MPI 4.1, section 3.2.4).
	AnyTag = -2
	// ProcNull as source or destination makes the communication do nothing, successfully (MPI 4.1,
	// section 3.10).
	ProcNull = -3
	// Root is the root argument of the root itself in a rooted collective over an intercommunicator
	// (MPI 4.1, section 6.2.3).
	Root = -4
	// Undefined is a count that is no whole number, a rank outside a group, or a color that takes
	// no part (MPI 4.1, sections 3.2.5, 7.3.1 and 7.4.2).
	Undefined = -5

	// TagUB is the largest tag; tags start at 0 (MPI 4.1, section 9.1.2).
	TagUB = math.MaxInt32
)

// Status says what a receive received, or what a probe found (MPI 4.1, section 3.2.5).
type Status struct {
	Source int // rank of the sender; ProcNull after communication with ProcNull; AnySource if there was no message
	Tag    int // tag of the message; AnyTag if there was none
	// Count is the length of the message. After a receive it is in elements of the receive's T;
	// Undefined if the message was no whole number of them. After a probe, which has no T, it is in
	// bytes: GetCount has elements.
	Count     int
	Cancelled bool // the operation was cancelled; the other fields mean nothing then

	// In an order without gaps: there is a Status for each message.
	decoded bool      // Count is a number of objects: the message has been deserialised
	class   elemClass // of the message, as its sender says
	bytes   int       // length of the message's data as it travelled
}

// GetCount returns the number of elements of T in the message that s is about (MPI 4.1, section
// 3.2.5, MPI_Get_count). It is [Undefined] if the message is no whole number of them, and if the
// message is of objects (a T with pointers) and has only been probed: their number shows when they
// are decoded.
func GetCount[T any](s Status) int {
	e := elemOf[T]()
	switch {
	case s.bytes == 0:
		return 0
	case e.plain != (s.class != classObject):
		return Undefined
	case !e.plain:
		if s.decoded {
			return s.Count
		}
		return Undefined
	case e.wire == 0 || s.bytes%e.wire != 0:
		// "If the number of bytes transferred is greater than zero, MPI_UNDEFINED is returned" for
		// a type without size.
		return Undefined
	default:
		return s.bytes / e.wire
	}
}

// emptyStatus is the status of an operation that received nothing because there was nothing to wait
// for (MPI 4.1, section 3.7.3: "a status set to return tag = MPI_ANY_TAG, source =
// MPI_ANY_SOURCE").
func emptyStatus() Status { return Status{Source: AnySource, Tag: AnyTag} }

// procNullStatus is the status of a receive from ProcNull (MPI 4.1, section 3.10: "source =
// MPI_PROC_NULL, tag = MPI_ANY_TAG and count = 0").
func procNullStatus() Status { return Status{Source: ProcNull, Tag: AnyTag} }
