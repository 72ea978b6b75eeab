package core

import (
	"math/bits"

	"github.com/fitmpi/fitmpi/engine/internal/wire"
)

// Stats counts what the core did; plain numbers, read under the mutex. What belongs to a peer is in
// PeerStats.
type Stats struct {
	Unexpected     uint64 // messages that arrived before their receive
	Early          uint64 // of them those that were announced, and asked for before their receive
	CreditStalls   uint64 // sends that became rendezvous for want of credit
	Refused        uint64 // sends that were not copied because too many wait for that receiver already
	Detached       int    // sends that live on in the library buffer after their call returned
	StepsRun       uint64 // local steps of schedules
	Cancelled      uint64
	FetchedBytes   uint64 // payload copied from the memory of peers of this host
	FetchesRefused uint64 // messages that could not be fetched and were asked for
	Resent         uint64 // bytes of streams that went on another connection once more

	RendezvousSends    int // announced, and not complete
	RendezvousReceives int // approved, and not complete

	// Filled in by Core.Stats.
	RequestMatches, EventMatches                                       uint64 // searches of the two queues, by arrivals and by posts
	Posted, EventQueue, Active                                         int
	Begun, Done                                                        uint64 // operations that were posted, and those of them that are complete, parts of others among them
	BufferUsed, BufferHighWater, BufferBudget, BufferStalls, SlabsUsed int
	EarlyUsed                                                          int // bytes of messages that have come early, or are coming
	BufferKept, SlabsKept                                              int // bytes of blocks that wait to be used again
	Unsent                                                             int // bytes on streams that the kernel, or the ring, has not taken
}

// Traffic is a number of messages, and of the bytes of their payloads.
type Traffic struct{ Messages, Bytes uint64 }

// PeerStats is what the core counts for each peer.
type PeerStats struct {
	Sent      [3]Traffic // by Protocol; to oneself all under Short
	Received  [2]Traffic // those that completed a receive: without an announcement, and by rendezvous
	FramesOut uint64     // without Asides
	Asides    uint64     // frames for it that belong to a connection: heartbeats, acknowledgements
	BytesOut  uint64     // that the kernel, or the ring, has taken, headers included; for a peer that is gone also those that were dropped
	Unsent    int        // bytes on the stream
	Starved   bool       // it has granted less credit than the shortest message needs
	Gone      bool       // it failed or left
}

// The indices of PeerStats.Received: a receiver does not see whether the sender copied a message
// that follows its header.
const (
	Unannounced = iota
	Announced
)

// Protocol is how a message travels.
type Protocol uint8

// The protocols, as indices of PeerStats.
const (
	Short Protocol = iota
	Eager
	Rendezvous
)

func (p Protocol) String() string { return [...]string{"short", "eager", "rendezvous"}[p] }

// SizeCounts counts messages by SizeClass.
type SizeCounts [SizeClasses]uint64

// SizeClasses is the number of classes.
const SizeClasses = 33

// SizeClass is the class of a message of n bytes: class k ends at 4^k bytes. Messages without
// payload are in the last, so that none needs a branch.
func SizeClass(n int) int { return (bits.Len64(uint64(n)-1) + 1) >> 1 }

// Stats returns a copy of the counters and the gauges of now.
func (c *Core) Stats() Stats {
	s := c.stats
	s.RequestMatches, s.EventMatches = c.posted.searches, c.events.searches
	s.Posted, s.EventQueue, s.Active, s.Begun = c.posted.len(), c.events.len(), c.Active(), c.begun
	s.Done = c.done
	s.BufferUsed, s.BufferHighWater = c.pool.Used(), c.pool.HighWater()
	s.BufferBudget, s.BufferStalls = c.pool.Budget(), c.pool.Stalls()
	s.SlabsUsed, s.Unsent = c.slabs.Used(), c.unsent
	if c.early != nil {
		s.EarlyUsed = c.early.Used()
	}
	s.BufferKept, s.SlabsKept = c.pool.Kept(), c.slabs.Kept()
	return s
}

// Sizes returns how many messages of which size were sent.
func (c *Core) Sizes() SizeCounts { return c.sizes }

// PeerStats returns the counters of a peer.
func (c *Core) PeerStats(id PeerID) PeerStats {
	p := c.peers[id]
	s := PeerStats{Sent: p.sent, Received: p.received, Unsent: p.queued, Starved: p.credit < wire.EagerCost, Gone: p.gone != nil}
	if id == c.cfg.Self {
		return s
	}
	short := p.sent[Short]
	s.FramesOut = short.Messages + p.frames
	s.Asides = p.asides
	s.BytesOut = (s.FramesOut+s.Asides)*wire.HeaderLen + short.Bytes + p.spans - uint64(p.queued)
	if p.kept != nil {
		s.BytesOut += uint64(p.kept.resent) // less than 0 at times, and then it wraps twice
	}
	return s
}

// countSend counts a message of n bytes to p.
func (c *Core) countSend(p *Peer, by Protocol, n int) {
	t := &p.sent[by]
	t.Messages++
	t.Bytes += uint64(n)
	c.sizes[SizeClass(n)]++
}

// countReceived counts a message of n bytes from p that completes a receive.
func (p *Peer) countReceived(how, n int) {
	t := &p.received[how]
	t.Messages++
	t.Bytes += uint64(n)
}

// Watch goes along with an operation, for a caller that wants to know how long it took. The core
// only notes that it is over.
type Watch struct {
	Since, Waited, Weight int64 // the owner's

	next *Watch
}

// Watch lets w go along with m, which TakeEnded returns when m is done.
//
// Preconditions:
//   - m is posted and not done, and nothing goes along with it.
func (c *Core) Watch(m *MSO, w *Watch) { m.watch = w }

// IsWatched reports whether something goes along with m.
func (m *MSO) IsWatched() bool { return m.watch != nil }

// HasEnded reports whether TakeEnded would return something.
func (c *Core) HasEnded() bool { return c.ended != nil }

// TakeEnded returns what went along with an operation that is done, nil if there is no more.
func (c *Core) TakeEnded() *Watch {
	w := c.ended
	if w != nil {
		c.ended, w.next = w.next, nil
	}
	return w
}
