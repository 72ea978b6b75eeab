package mpi

import (
	"fmt"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/shm"
	"github.com/fitmpi/fitmpi/internal/trace"
)

// recorder notes what a rank does in the memory that the launcher has given it for that. It goes
// along with the tools of the rank, and observes the engine.
type recorder struct {
	// immutable after newRecorder
	ring *trace.Ring
	base int64 // of sys.Nanotime on the clock of events
	// number is that by which the launcher knows a peer. It takes no lock. Changed before the rank
	// begins only.
	number func(engine.PeerID) int

	regions atomic.Uint32 // how many have begun

	// guarded by the engine's mutex
	last  trace.Event // of a message, that was noted last
	at    uint64      // its number
	comms map[engine.ContextID]uint16

	// owned by the worker
	turn   trace.Event // the last; Span is 0 before the first
	turnAt uint64      // its number
}

// newRecorder makes the recorder of a rank, nil if no trace is wanted. The memory stays mapped for
// as long as the process lives: its goroutines may be inside a call still when the job is left.
func newRecorder(info boot.Info) (*recorder, error) {
	if info.Trace == nil {
		return nil, nil
	}
	mem, err := shm.MapFile(info.Trace)
	if err != nil {
		return nil, err
	}
	ring, err := trace.Open(mem, info.Rank, info.Size)
	if err != nil {
		return nil, err
	}
	ring.OfJob(info.Kin.Name, info.Kin.First)
	home := func(p engine.PeerID) int { return info.Kin.First + int(p) }
	return &recorder{number: home, ring: ring, base: ring.Base(), comms: make(map[engine.ContextID]uint16)}, nil
}

// noted is what a Call remembers for the recorder.
type noted struct {
	open trace.OpenCall
	name uint16
	peer int
}

// begin notes that a call begins.
func (r *recorder) begin(k *Call) {
	k.noted.name = r.ring.Name(k.Op)
	k.noted.peer = k.worldPeer()
	k.noted.open = r.ring.Begin(k.noted.name, k.noted.peer, int64(max(k.SendBytes, k.RecvBytes, 0)))
}

// end notes that it ends.
func (r *recorder) end(k *Call) {
	bytes := max(k.SendBytes, k.RecvBytes, 0)
	if n := k.Status.bytes; n > 0 {
		bytes = max(k.SendBytes, n)
	}
	if k.noted.peer == trace.NoPeer && k.Source == AnySource {
		k.noted.peer = k.Comm.worldRank(k.Status.Source)
	}
	r.ring.End(k.noted.open, k.noted.name, k.noted.peer, int64(bytes))
}

// worldPeer is the number of the rank that k sends to or receives from, or else the root,
// trace.NoPeer if there is none.
func (k *Call) worldPeer() int {
	for _, rank := range []int{k.Dest, k.Source, k.Root} {
		if p := k.Comm.worldRank(rank); p != trace.NoPeer {
			return p
		}
	}
	return trace.NoPeer
}

// worldRank is the number of a rank of c among all that the launcher runs, trace.NoPeer if there is
// no such rank.
func (c *Comm) worldRank(rank int) int {
	if c == nil || c.comm == nil || rank < 0 || rank >= len(c.peers) {
		return trace.NoPeer
	}
	return traced(c.job.numberOf(c.peers[rank]))
}

// traced is the number of a rank as events have it.
func traced(number int) int { return min(number, trace.Beyond) }

// Message implements engine.Observer.
func (r *recorder) Message(m engine.MessageEvent) {
	switch m.Kind {
	case engine.EventSent:
		r.note(trace.Posted, &m, r.ring.Now(), 0)
	case engine.EventArrived:
		flags := uint8(trace.Expected)
		if m.Unexpected {
			flags = 0
		}
		r.note(trace.Arrived, &m, r.ring.Now(), flags)
	case engine.EventSendDone:
		r.complete(trace.Posted, trace.Sent, &m)
	case engine.EventReceived, engine.EventWithdrawn:
		r.complete(trace.Arrived, trace.Received, &m)
	case engine.EventMatched: // what matters is when the message came, and when its receiver had it
	}
}

// note notes an event of a message.
func (r *recorder) note(kind trace.Kind, m *engine.MessageEvent, now int64, flags uint8) {
	peer := traced(r.number(m.Peer))
	switch m.Protocol {
	case engine.Eager:
		flags |= trace.ByEager
	case engine.Rendezvous:
		flags |= trace.ByRendezvous
	}
	if _, use := useOf(m.Ctx); use != UsePointToPoint {
		flags |= trace.OfCollective
	}
	if m.Err != nil || m.Cancelled || m.Kind == engine.EventWithdrawn {
		flags |= trace.Failed
	}
	r.last = trace.Event{
		Kind: kind, Track: flags, Name: r.comm(m.Ctx), Time: now,
		Seq: uint32(m.Number), Tag: int32(m.Tag), Peer: peer, Bytes: int64(m.Bytes),
	}
	r.at = r.ring.Note(&r.last)
}

// complete notes that a message is complete, which began with an event of the kind begin: in that,
// if it is complete at once, as most short ones are. So they take half the room, and half the time.
func (r *recorder) complete(begin, kind trace.Kind, m *engine.MessageEvent) {
	l := &r.last
	if m.Whole && l.Kind == begin && l.Seq == uint32(m.Number) && l.Peer == traced(r.number(m.Peer)) && m.Err == nil {
		l.Track |= trace.Whole
		if r.ring.Amend(r.at, l) {
			return
		}
	}
	r.note(kind, m, r.ring.Now(), 0)
}

// comm is the name of the communicator of a context.
func (r *recorder) comm(id engine.ContextID) uint16 {
	if name, ok := r.comms[id]; ok {
		return name
	}
	if len(r.comms) >= trace.MaxNames {
		return r.ring.Name("(other)")
	}
	text := ""
	switch context, use := useOf(id); {
	case use == UseAgreement:
		text = "agreement about a new communicator"
	case context == uint64(contextID(0, contextWorld)):
		text = "world"
	default:
		text = fmt.Sprintf("communicator %#x", context)
	}
	name := r.ring.Name(text)
	r.comms[id] = name
	return name
}

// turnGap is how far the worker's turns may be apart to be noted as one, in nanoseconds.
const turnGap = 2000

// Turn implements engine.TurnObserver. What a caller does of the worker's is part of its call.
func (r *recorder) Turn(t engine.TurnEvent) {
	if t.By != engine.ByWorker {
		return
	}
	e := trace.Event{Kind: trace.Turn, Time: t.Begin + r.base, Span: t.End - t.Begin, Peer: trace.NoPeer}
	if t.Slept {
		e.Kind = trace.Slept
		r.ring.Note(&e)
		return
	}
	l := &r.turn
	if end := l.Time + l.Span; l.Span > 0 && e.Time-end < turnGap {
		l.Span = e.Time + e.Span - l.Time
		if r.ring.Amend(r.turnAt, l) {
			return
		}
	}
	r.turn, r.turnAt = e, r.ring.Note(&e)
}

// Schedule implements engine.ScheduleObserver.
func (r *recorder) Schedule(s *engine.Schedule, ended bool) {
	now := r.ring.Now()
	if !ended {
		s.Began = now
		return
	}
	r.ring.Note(&trace.Event{Kind: trace.Collective, Name: r.ring.Name(s.Op), Time: s.Began, Span: now - s.Began, Peer: trace.NoPeer})
}

// noteRegion notes in the recording that a phase of the program begins; what it returns notes the
// end. ts may be nil.
func (ts *toolchain) noteRegion(name string) (end func()) {
	if ts == nil || ts.rec == nil {
		return func() {}
	}
	r := ts.rec
	begun := trace.Event{Kind: trace.RegionBegun, Name: r.ring.Name(name), Time: r.ring.Now(), Seq: r.regions.Add(1), Peer: trace.NoPeer}
	r.ring.Note(&begun)
	return func() {
		r.ring.Note(&trace.Event{
			Kind: trace.Region, Name: begun.Name, Time: begun.Time, Span: r.ring.Now() - begun.Time, Bytes: int64(begun.Seq), Peer: trace.NoPeer,
		})
	}
}

// observers tells the recorder and tools.
type observers struct {
	*recorder
	tools engine.Observer
}

// Message implements engine.Observer.
func (o observers) Message(m engine.MessageEvent) {
	o.recorder.Message(m)
	o.tools.Message(m)
}

// Turn implements engine.TurnObserver.
func (o observers) Turn(t engine.TurnEvent) {
	o.recorder.Turn(t)
	if tools, ok := o.tools.(engine.TurnObserver); ok {
		tools.Turn(t)
	}
}
