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
	bytesIn, bytesOut, framesIn  atomic.Uint64
	dials, accepts, acceptErrors atomic.Uint64
	duplicates, peersFailed      atomic.Uint64
	rejects                      [wire.RejectHangup + 1]atomic.Uint64
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
	BytesIn       uint64 // from sockets, headers included
	BytesOut      uint64
	FramesIn      uint64
	Dials         uint64
	Accepts       uint64
	AcceptErrors  uint64
	Duplicates    uint64 // connections given up because both sides dialled
	PeersFailed   uint64
	Connections   int    // open or being made
	CallerTurns   uint64 // times a caller took the progress right (assist)

	Rejects map[string]uint64 // handshakes that failed, by reason
}

// Stats returns the counters of now. It may be called at any time.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	c := e.core.Stats()
	e.mu.Unlock()
	d := &e.stats
	s := Stats{
		Stats: c, Turns: d.turns.Load(), Reads: d.reads.Load(), Writes: d.writes.Load(), Wakes: d.wakes.Load(),
		WaitsHolding: d.waitsHolding.Load(), WaitsBlocking: d.waitsBlocking.Load(),
		BytesIn: d.bytesIn.Load(), BytesOut: d.bytesOut.Load(), FramesIn: d.framesIn.Load(),
		Dials: d.dials.Load(), Accepts: d.accepts.Load(), AcceptErrors: d.acceptErrors.Load(),
		Duplicates: d.duplicates.Load(), PeersFailed: d.peersFailed.Load(),
		Connections: int(e.drv.open.Load()), CallerTurns: e.callers.Load(),
		Rejects: make(map[string]uint64, len(d.rejects)),
	}
	for i := range d.rejects {
		if r := wire.Reject(i); r != wire.RejectNone {
			s.Rejects[r.String()] = d.rejects[i].Load()
		}
	}
	return s
}
