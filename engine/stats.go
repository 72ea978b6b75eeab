package engine

import (
	"sync/atomic"
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/core"
	"github.com/fitmpi/fitmpi/engine/internal/wire"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// counts are plain numbers, because the mutex is held anyway where they grow.
type counts struct {
	turns    uint64
	framesIn []uint64 // by peer, whole ones but for those that belong to a connection: until the last byte is there, a frame is on its way
	payload  uint64   // bytes of payload that have come by sockets and rings
	ringIn   uint64   // bytes from rings
	sockets  socketCounts
}

// socketCounts are what the driver counts of its sockets, in plain numbers of its own: additions to
// memory that others read cost more than one in a hundred short messages. Whenever it has the mutex
// anyway, it copies them to where others find them.
type socketCounts struct {
	reads, writes uint64 // system calls
	in            uint64 // bytes
}

// driverStats are the driver's counters: written by the holder of the progress
// right (wakes, waits, gaps and bells by anyone), read by anyone.
type driverStats struct {
	wakes                        atomic.Uint64
	waitsHolding, waitsBlocking  atomic.Uint64
	dials, accepts, acceptErrors atomic.Uint64
	failedDials                  atomic.Uint64
	reconnects                   atomic.Uint64
	duplicates, peersFailed      atomic.Uint64
	bells, visits                atomic.Uint64 // of peers of this host
	beatsIn, beatsOut            atomic.Uint64 // heartbeats; out also in shared memory
	suspicions                   atomic.Uint64
	failedBy                     [numFailCauses]atomic.Uint64 // by FailCause
	rejects                      [wire.RejectLast + 1]atomic.Uint64
	gaps                         timeHistogram
	worker                       threadTime
}

func (s *driverStats) reject(r wire.Reject) { s.rejects[r].Add(1) }

// Traffic is a number of messages, and of the bytes of their payloads.
type Traffic = core.Traffic

// SizeCounts counts messages by their size: class k ends at 4^k bytes. Those without payload are in
// the last.
type SizeCounts = core.SizeCounts

// PeerStats is the traffic with one peer.
type PeerStats struct {
	core.PeerStats
	Peer   PeerID
	Way    Way // of no meaning for the rank itself
	Waited PeerWait
	// FramesIn are those that have arrived whole, but for those that belong to a connection.
	FramesIn  uint64
	uncounted bool // what is counted with it is not for Stats.LiveFrames
}

// WayStats is the traffic with all peers that are reached in one way.
type WayStats struct {
	Peers     int
	Sent      [3]Traffic // by core.Protocol: short, eager, rendezvous
	Received  [2]Traffic // not announced (short or eager to the sender), rendezvous
	FramesIn  uint64     // that have arrived whole, but for those that belong to a connection
	FramesOut uint64     // that were put into streams, likewise
}

// Stats are the counters of an engine at one moment; messages with peers may be of a moment a
// little later than the rest.
type Stats struct {
	core.Stats

	Ways            [numWays]WayStats // by Way, without the rank itself
	Self            Traffic           // messages that the rank sent to itself
	SelfReceived    Traffic           // those that completed a receive
	Sizes           SizeCounts        // of messages sent
	Starved         int               // peers that have not granted credit for even the shortest message
	payloadIn       uint64            // bytes of payload that have come from peers
	asides          uint64            // frames that belong to a connection and were put into streams
	lostIn, lostOut uint64            // frames from and to peers that are gone, which are in Ways as well; see LiveFrames

	Waits   [numWaits]WaitStats // of callers, by WaitKind
	Waited  time.Duration       // for how long at least one caller waited
	Flights FlightStats         // of operations that callers did not wait for at once
	Gaps    TimeHistogram       // from being notified, asleep, of something to do, to running
	Worker  time.Duration       // that the worker's thread has run

	Turns         uint64 // rounds of the driver
	Reads, Writes uint64 // system calls on sockets
	Wakes         uint64 // times a call woke the sleeping worker, or a caller that sleeps in the poller
	WaitsHolding  uint64 // waits in the poller that kept the P
	WaitsBlocking uint64 // ordinary ones
	BytesIn       uint64 // from sockets, headers included
	BytesOut      uint64 // to sockets, without handshakes
	RingIn        uint64 // bytes from rings, headers included
	RingOut       uint64 // bytes to rings
	Dials         uint64
	FailedDials   uint64 // that led to no connection; mostly another follows
	Reconnects    uint64 // connections that went on with the streams of one that broke
	Accepts       uint64
	AcceptErrors  uint64
	Duplicates    uint64 // connections given up because both sides dialled
	PeersFailed   uint64
	FailedBy      map[string]uint64 // PeersFailed by cause, see FailCause
	Suspicions    uint64            // times a peer was found silent for too long
	BeatsIn       uint64            // heartbeats that came by connections
	BeatsOut      uint64            // those sent, and signs of life in shared memory
	Bells         uint64            // times a peer in another process of this host was woken
	Visits        uint64            // times the thread of a peer in this process delivered into our queues
	Connections   int               // open, being made or waited for
	Lanes         int               // peers of this host with which memory is shared and in use
	CallerTurns   uint64            // times a caller took the progress right (assist)

	Rejects map[string]uint64 // handshakes that failed, by reason
}

// Stats returns the counters of now. It may be called at any time, in a rank of many peers a few
// times a second.
func (e *Engine) Stats() Stats {
	var s Stats
	e.mu.Lock()
	s.Stats, s.Sizes, s.Flights = e.core.Stats(), e.core.Sizes(), e.flights.stats
	c := e.counts
	s.Waits, s.Waited = e.waits.byKind, e.waits.waited(sys.Nanotime())
	e.mu.Unlock()
	s.RingIn, s.Turns, s.payloadIn = c.ringIn, c.turns, c.payload
	s.Reads, s.Writes, s.BytesIn = c.sockets.reads, c.sockets.writes, c.sockets.in
	for p := range e.peers {
		s.add(e, &p)
	}
	s.driver(&e.stats)
	s.Connections, s.CallerTurns = int(e.drv.open.Load()), e.callers.Load()
	if e.local != nil {
		s.Lanes = int(e.local.open.Load())
	}
	return s
}

func (s *Stats) driver(d *driverStats) {
	s.Wakes, s.WaitsHolding, s.WaitsBlocking = d.wakes.Load(), d.waitsHolding.Load(), d.waitsBlocking.Load()
	s.Dials, s.FailedDials, s.Duplicates, s.Reconnects = d.dials.Load(), d.failedDials.Load(), d.duplicates.Load(), d.reconnects.Load()
	s.Accepts, s.AcceptErrors, s.PeersFailed = d.accepts.Load(), d.acceptErrors.Load(), d.peersFailed.Load()
	s.Bells, s.Visits = d.bells.Load(), d.visits.Load()
	s.Gaps, s.Worker = d.gaps.read(), d.worker.read()
	s.Suspicions, s.BeatsIn, s.BeatsOut = d.suspicions.Load(), d.beatsIn.Load(), d.beatsOut.Load()
	s.FailedBy = make(map[string]uint64, len(d.failedBy))
	for i := range d.failedBy {
		s.FailedBy[FailCause(i).String()] = d.failedBy[i].Load()
	}
	s.Rejects = make(map[string]uint64, len(d.rejects))
	for i := range d.rejects {
		if r := wire.Reject(i); r != wire.RejectNone {
			s.Rejects[r.String()] = d.rejects[i].Load()
		}
	}
}

// Moved is another number whenever anything has moved between this rank and others, but for what
// belongs to a connection: heartbeats go on for as long as there is one. It only grows, but for
// what a stream takes back that goes on another connection.
func (s *Stats) Moved() uint64 {
	n := s.payloadIn + s.BytesOut + s.RingOut - s.asides*wire.HeaderLen
	for _, w := range s.Ways {
		n += w.FramesIn + w.FramesOut
	}
	return n
}

// LiveFrames are the frames from and to ranks that are not gone, or parted. Of the frames of those
// that are it is not known whether they arrived. Of ranks of other jobs those count whose own
// counts are known, by Introduced.Counted.
func (s *Stats) LiveFrames() (in, out uint64) {
	for _, w := range s.Ways {
		in += w.FramesIn
		out += w.FramesOut
	}
	return in - s.lostIn, out - s.lostOut
}

// add adds what is counted for a peer.
func (s *Stats) add(e *Engine, p *PeerStats) {
	if int(p.Peer) == e.cfg.Rank {
		s.Self, s.SelfReceived = p.Sent[core.Short], p.Received[core.Unannounced]
		return
	}
	w := &s.Ways[p.Way]
	w.Peers++
	w.FramesIn += p.FramesIn
	w.FramesOut += p.FramesOut
	s.asides += p.Asides
	if p.Gone || p.uncounted {
		s.lostIn += p.FramesIn
		s.lostOut += p.FramesOut
	}
	if p.Way == TCP {
		s.BytesOut += p.BytesOut
	} else {
		s.RingOut += p.BytesOut
	}
	for i, t := range p.Sent {
		w.Sent[i].Messages += t.Messages
		w.Sent[i].Bytes += t.Bytes
	}
	for i, t := range p.Received {
		w.Received[i].Messages += t.Messages
		w.Received[i].Bytes += t.Bytes
	}
	if p.Starved && !p.Gone {
		s.Starved++
	}
}

// peersHeld is how many peers are looked at before the mutex is released.
const peersHeld = 256

// peers yields what is counted for each peer, in order of rank.
func (e *Engine) peers(yield func(PeerStats) bool) {
	var some [peersHeld]PeerStats
	for first, more := 0, true; more; first += peersHeld {
		e.mu.Lock()
		all := len(e.waits.byPeer)
		n := min(peersHeld, all-first)
		for i := range n {
			e.readPeerLocked(&some[i], PeerID(first+i))
		}
		e.mu.Unlock()
		for i := range n {
			if !yield(some[i]) {
				return
			}
		}
		more = first+n < all
	}
}

// readPeerLocked fills in what is counted for a peer.
func (e *Engine) readPeerLocked(p *PeerStats, id PeerID) {
	*p = PeerStats{PeerStats: e.core.PeerStats(id), Peer: id, Way: TCP, Waited: e.waits.byPeer[id]}
	p.FramesIn = e.counts.framesIn[id]
	if int(id) >= e.cfg.Size {
		o := &e.drv.origins[int(id)-e.cfg.Size]
		p.uncounted = !o.counts || o.parted
	}
	if e.drv.bridge != nil { // started
		p.Way = e.drv.bridge[id].Way
	}
}

// Peers returns the traffic with each peer, by rank, the rank itself included: its row of the
// matrix of how much each rank sends to each. Waits that are not over count up to now. It may be
// called at any time after Start.
func (e *Engine) Peers() []PeerStats {
	ps := make([]PeerStats, 0, e.cfg.Size)
	for p := range e.peers {
		ps = append(ps, p)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	now := sys.Nanotime()
	for i := range e.waits.slots {
		if w := &e.waits.slots[i]; w.since != 0 {
			if m := w.blamed(); m != nil && m.Peer >= 0 {
				ps[m.Peer].Waited.add(m, time.Duration(now-w.since))
			}
		}
	}
	return ps
}
