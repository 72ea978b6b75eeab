package engine

import (
	"sync/atomic"

	"github.com/fitmpi/fitmpi/engine/internal/core"
	"github.com/fitmpi/fitmpi/internal/wire"
)

// driverStats are the driver's counters: written by the holder of the progress
// right (wakes by anyone), read by anyone.
type driverStats struct {
	turns, reads, writes, wakes  atomic.Uint64
	waitsHolding, waitsBlocking  atomic.Uint64
	bytesIn, bytesOut            atomic.Uint64
	dials, accepts, acceptErrors atomic.Uint64
	duplicates, peersFailed      atomic.Uint64
	bells, visits                atomic.Uint64 // of peers of this host
	rejects                      [wire.RejectLast + 1]atomic.Uint64
}

func (s *driverStats) reject(r wire.Reject) { s.rejects[r].Add(1) }

// Stats are the counters of an engine at one moment. The core's part is
// consistent in itself.
type Stats struct {
	core.Stats

	Turns         uint64 // rounds of the driver
	Reads, Writes uint64 // system calls on sockets
	Wakes         uint64 // times a call woke the sleeping worker, or a caller that sleeps in the poller
	WaitsHolding  uint64 // waits that kept the P
	WaitsBlocking uint64 // ordinary waits
	BytesIn       uint64 // from sockets and rings, headers included
	BytesOut      uint64 // to sockets, and by streams to rings
	FramesIn      uint64
	Dials         uint64
	Accepts       uint64
	AcceptErrors  uint64
	Duplicates    uint64 // connections given up because both sides dialled
	PeersFailed   uint64
	Bells         uint64 // times a peer in another process of this host was woken
	Visits        uint64 // times the thread of a peer in this process delivered into our queues
	Connections   int    // open, being made or waited for
	Lanes         int    // peers of this host with whom memory is shared and in use
	CallerTurns   uint64 // times a caller took the progress right (assist)

	Rejects map[string]uint64 // handshakes that failed, by reason
}

// Stats returns the counters of now. It may be called at any time.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	c, frames, ringIn := e.core.Stats(), e.frames, e.ringIn
	e.mu.Unlock()
	d := &e.stats
	s := Stats{
		Stats: c, Turns: d.turns.Load(), Reads: d.reads.Load(), Writes: d.writes.Load(), Wakes: d.wakes.Load(),
		WaitsHolding: d.waitsHolding.Load(), WaitsBlocking: d.waitsBlocking.Load(),
		BytesIn: d.bytesIn.Load() + ringIn, BytesOut: d.bytesOut.Load(), FramesIn: frames,
		Dials: d.dials.Load(), Accepts: d.accepts.Load(), AcceptErrors: d.acceptErrors.Load(),
		Duplicates: d.duplicates.Load(), PeersFailed: d.peersFailed.Load(),
		Bells: d.bells.Load(), Visits: d.visits.Load(),
		Connections: int(e.drv.open.Load()), CallerTurns: e.callers.Load(),
		Rejects: make(map[string]uint64, len(d.rejects)),
	}
	if e.near != nil {
		s.Lanes = int(e.near.open.Load())
	}
	for i := range d.rejects {
		if r := wire.Reject(i); r != wire.RejectNone {
			s.Rejects[r.String()] = d.rejects[i].Load()
		}
	}
	return s
}
