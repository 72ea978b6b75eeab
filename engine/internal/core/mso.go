package core

import (
	"fmt"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/engine/internal/wire"
)

// PeerID numbers the peers of an engine: their rank in the world communicator.
type PeerID int32

// AnyPeer and AnyTag are the wildcards of a receive or a probe.
const (
	AnyPeer PeerID = -1
	AnyTag  Tag    = -1
)

// Tag is a message tag: 0 or more, or AnyTag in a receive.
type Tag int32

// ContextID separates the messages of communicators (MPI 4.1, section 6.1.2).
type ContextID uint64

// Kind says what a user asked for, or what the engine holds.
type Kind uint8

// The kinds of MSO.
const (
	KindSend    Kind = iota // a message to a peer
	KindRecv                // a receive into Buf, or into what Alloc gives
	KindProbe               // waits for a matching message and leaves it queued
	KindMprobe              // waits for a matching message and takes it off the event queue
	KindArrival             // a message that arrived before a receive (event queue)
	KindSched               // a schedule: done when its last step is
	KindGeneral             // completed by its owner (generalised requests)
	KindParts               // a round of a partitioned message: done when its partitions are
	KindNotice              // a signal, or the end of a peer (Err), to be delivered to the engine's owner: never Done
)

// Mode is the communication mode of a send (MPI 4.1, section 3.4).
type Mode uint8

// The modes. Ready sends are standard sends here: the receiver needs no help.
const (
	Standard Mode = iota
	Synchronous
)

// State is the state of an MSO.
//
//	        post            match, CTS, Ack
//	Idle ────────▶ Queued ────────────────▶ Moving ────▶ Done ──▶ Idle (restart)
//	                 │                         ▲           ▲
//	                 └──▶ Awaiting ────────────┘           │
//	                        └── cancelled, withdrawn ──────┘
type State uint32

// The states. Only the core moves an MSO from one to the next, with the mutex held.
const (
	Idle     State = iota // with its owner: never posted, or fetched after Done
	Queued                // a receive or probe on the request queue; an arrival complete on the event queue
	Awaiting              // a send whose RTS or synchronous Eager frame is out: CTS, Ack or cancel moves it on; an arrival known by its RTS
	Moving                // its payload is being written or received
	Done                  // the engine has let go of it: results and buffer are the owner's
)

func (s State) String() string {
	switch s {
	case Idle:
		return "idle"
	case Queued:
		return "queued"
	case Awaiting:
		return "awaiting"
	case Moving:
		return "moving"
	case Done:
		return "done"
	default:
		panic(fmt.Sprintf("core: state %d does not exist: a bug of ours", uint32(s)))
	}
}

// owner says where a block of memory goes back to.
type owner uint8

const (
	ownUser   owner = iota // the user's memory, or the garbage collector's
	ownPool                // the library send buffer
	ownAttach              // a buffer attached for Bsend: see batch
	ownSlab                // the receive slabs
	ownEarly               // what has come early
)

// MSO is a message state object: all that the engine knows of one operation.
//
// Life cycle: the owner fills in the request fields and posts it; from then
// until it is Done it belongs to the engine, and so does the memory of Buf.
// The result fields are valid once IsDone is true. A Done MSO may be reset
// and posted again (persistent requests).
type MSO struct {
	// The first line of the cache: request fields, set by the owner before posting, immutable
	// after, but for those of the core that have room there.
	state   State         // guarded by the engine's mutex from the post until Done, then the owner's
	done    atomic.Uint32 // wordDone: state is Done; read by anyone. See revoke.go
	Kind    Kind
	Mode    Mode
	Patient bool  // receive with a wildcard: it outlives failures, see IsStirred
	Object  bool  // the payload is a serialised object
	Elem    uint8 // element class announced in the frame, 0 = none
	Stays   bool  // send: a caller with a core of its own waits for it; set by the engine
	plain   bool  // arrival: nothing but the first two lines is used; see freeArrival
	Peer    PeerID
	Tag     Tag
	mark    uint32 // the last round of Operations that has seen it
	Ctx     ContextID
	Buf     []byte // what to send, or where to receive

	// The second line: the rest of what a message needs that has arrived before its receive.
	Length  int      // result: bytes of the message, which is more than fit when Err is a truncation
	seq     uint64   // order of posting; of what has arrived, and of a receive that has its message, order of arrival
	remote  uint64   // the peer's id for this message
	next    *MSO     // free list, transfer list
	own     owner    // of Buf
	via     Protocol // goes with number
	sync    bool     // arrival: the sender wants an Ack
	ended   bool     // abandoned by its owner: see abandonRecv; of an arrival: no receive gets it any more, or its connection broke while a matched probe held it; its payload is dropped
	fetch   bool     // arrival, receive: we may fetch the payload
	detach  bool     // no caller waits for it: a send from the library buffer, or a receive that swallows a payload
	givenUp bool     // goes with detach: its owner has given it up, and it need not arrive
	GotElem uint8    // result
	links   [4]link  // in the queues of match.go; the first is in this line

	// Request fields that few use.
	Layout Layout             // in place of Buf, if it is not one piece of memory; else nil
	Alloc  func(n int) []byte // receive of unknown length: memory for n bytes; Buf is set to it
	Member func(PeerID) bool  // wildcard receives: whose failure concerns them; nil = everyone's
	User   any                // the owner's; the engine does not look
	Origin Origin             // where it was begun
	_      [0]func()          // not comparable: identity is the pointer

	// Result fields, as Length and GotElem: written by the core before Done.
	Err       error
	Source    PeerID
	GotTag    Tag
	GotObject bool
	Cancelled bool
	Waited    int64 // of a collective: for how long callers waited for it, in nanoseconds, where the engine timed that
	Message   *MSO  // of a Mprobe: the message taken off the queue

	// Engine fields: guarded by the engine's mutex.
	id        uint64   // entry in the table of ids, 0 if none
	moved     int      // bytes handed to the stream, or received
	total     int      // bytes that will move (approved by the receiver)
	wants     pending  // what a send still waits for
	asked     bool     // a cancel request is out
	refused   bool     // send: its receiver will not take it; our own Shut, or the failure that is behind it, ends it
	offered   bool     // send: the peer may fetch Buf
	announced bool     // send: it is counted as an announced one
	packing   bool     // send: a job packs the next chunk of Layout
	allocs    bool     // receive: a job gives it memory, and then its sender is answered
	partner   *MSO     // receive <-> arrival while a payload is on its way; arrival -> local send
	step      stepRef  // the schedule that this MSO is a step of
	parts     *Parts   // the partitioned message that this MSO is a partition of, or the hello
	service   *Service // whose receive it is, or whose handler has posted it
	waiter    *Waiter  // is woken when it is done
	watch     *Watch   // goes along
	batch     *batch   // of a message in an attached buffer: its batch; of a flush: the last one that it waits for
	number    uint64   // of the message, for the observer; 0 if there is none, or it has seen the last event
}

// pending is a set of events that a send waits for.
type pending uint8

const (
	wantWrite pending = 1 << iota // all bytes handed to the kernel
	wantAck                       // the receiver matched it
)

// State returns the state. While m is with the engine the mutex guards it.
func (m *MSO) State() State { return m.state }

// IsDone reports whether the engine has let go of m: one atomic load, for anyone.
func (m *MSO) IsDone() bool { return m.done.Load() == wordDone }

// setState stores the state. Only Done is published: a store that others see costs
// more than all the rest.
func (m *MSO) setState(s State) {
	m.state = s
	if s == Done {
		m.done.Store(wordDone)
	}
}

// Reset makes a Done or new MSO ready to be posted again; the request fields stay.
func (m *MSO) Reset() {
	if s := m.State(); s != Done && s != Idle {
		panic("core: Reset of an MSO that is " + s.String() + ": a bug of ours")
	}
	m.Err, m.Source, m.GotTag, m.Length, m.Message, m.Waited = nil, 0, 0, 0, nil, 0
	m.GotElem, m.GotObject, m.Cancelled = 0, false, false
	m.id, m.remote, m.moved, m.total, m.wants = 0, 0, 0, 0, 0
	m.asked, m.ended, m.partner, m.waiter = false, false, nil, nil
	m.fetch, m.refused, m.allocs, m.number = false, false, false, 0
	m.state = Idle
	if m.done.Load() != wordOpen {
		m.done.Store(wordOpen)
	}
}

// Clear makes a Done or new MSO as good as new, holding on to nothing. It costs less
// than a new value: the engine has left its queues empty.
//
// Preconditions:
//   - no operation posted m that is not done.
func (m *MSO) Clear() {
	m.Reset()
	m.Buf, m.Layout, m.Alloc, m.Member, m.User = nil, nil, nil, nil, nil
	m.Kind, m.Mode, m.Patient, m.Object, m.Elem, m.Stays, m.Peer, m.Tag, m.Ctx = 0, 0, false, false, 0, false, 0, 0, 0
	m.own, m.detach, m.givenUp, m.sync, m.offered = ownUser, false, false, false, false
	m.step, m.parts, m.service, m.seq, m.next = stepRef{}, nil, nil, 0, nil
	m.Origin[0] = 0
}

// complete is the only way to Done.
func (c *Core) complete(m *MSO, err error) {
	if m.Err == nil {
		m.Err = err
	}
	if m.id != 0 {
		c.withdrawOffer(m)
		c.dropID(m)
	}
	if m.packing {
		c.dropPack(m)
	}
	c.done++
	m.partner = nil
	if m.Kind == KindGeneral {
		c.generals.remove(m)
	}
	w, step, parts, service := m.waiter, m.step, m.parts, m.service // from Done on m may be the owner's
	m.waiter = nil
	if o := m.watch; o != nil {
		m.watch, o.next, c.ended = nil, c.ended, o
	}
	if m.detach {
		c.freeMSO(m)
		if c.stats.Detached--; c.stats.Detached == 0 {
			c.wakeRoom()
		}
		return
	}
	m.setState(Done)
	if service != nil {
		c.served(service, m)
	}
	if w != nil {
		c.met1(w, m)
	}
	if step.sched != nil {
		c.stepDone(step, m.Err)
	}
	if parts != nil {
		c.partDone(parts, m)
	}
}

// dropID takes m out of the table of ids, and off the count of those that are there for a
// rendezvous.
func (c *Core) dropID(m *MSO) {
	c.ids.drop(m.id)
	m.id = 0
	switch {
	case m.announced:
		m.announced = false
		c.stats.RendezvousSends--
		if m.detach {
			c.peers[m.Peer].parked--
		}
	case m.Kind == KindRecv || m.Kind == KindArrival:
		c.stats.RendezvousReceives--
	}
}

// newMSO takes an MSO off the free list.
func (c *Core) newMSO(k Kind) *MSO {
	m := c.free
	if m == nil {
		m = new(MSO)
	} else {
		c.free, m.next = m.next, nil
		c.spare--
	}
	m.Kind = k
	return m
}

// freeMSO puts m back, holding on to nothing. After a flood most go to the garbage collector.
func (c *Core) freeMSO(m *MSO) {
	if m.Kind == KindArrival && m.state == Awaiting {
		c.announced--
	}
	if c.spare >= maxSpare {
		*m = MSO{}
		return
	}
	*m = MSO{next: c.free}
	c.free = m
	c.spare++
}

// freeArrival is freeMSO of a message that has arrived and is not on the event queue any more. Of a
// plain one it clears what that has used. Where many have waited, the rest of each would be brought
// to the cache for nothing.
func (c *Core) freeArrival(u *MSO) {
	if !u.plain {
		c.freeMSO(u)
		return
	}
	u.state, u.Kind, u.Object, u.Elem, u.plain = 0, 0, false, 0, false
	u.Peer, u.Tag, u.Ctx, u.Buf = 0, 0, 0, nil
	u.Length, u.seq, u.remote, u.own, u.via = 0, 0, 0, ownUser, 0
	u.sync, u.ended, u.fetch = false, false, false
	if c.spare < maxSpare {
		u.next, c.free = c.free, u
		c.spare++
	}
}

func (m *MSO) header(k wire.Kind) wire.Header {
	h := wire.Header{Kind: k, Elem: m.Elem, Tag: int32(m.Tag), Context: uint64(m.Ctx), Length: uint64(m.Size())}
	if m.Object {
		h.Flags |= wire.FlagObject
	}
	return h
}
