package engine

import (
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/core"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// How long nonblocking operations are in flight, from the post to completion, and for how much of
// that no caller of the rank waited: the communication that is hidden behind computation. Two
// readings of the clock for each would be a good part of what a short message costs. So of the
// short ones one in shortSample is measured, chosen at random, and stands for as many. Collectives,
// and messages beyond the limit for short ones, are all measured. Operations that are complete when
// the call that posts them returns were never in flight.

// shortSample is how many short messages a measured one stands for. At 64 each window of 64 short
// receives had a measured one, whose clocks, with that of the wait for it, cost 2 % of the rate.
const shortSample = 512

// flights are the operations that are measured.
type flights struct {
	skip  uint32         // short operations until the next that is measured
	free  []*core.Watch  // recycled
	stats FlightStats    // of those that have landed
	up    atomic.Int32   // that have not landed; read by anyone
	dice  func() float64 // from 0 to 1; nil: the process's random numbers; tests have others
}

// FlightStats is about operations that a caller did not wait for at once.
type FlightStats struct {
	Count  uint64        // of them; an estimate, as the others, where short ones are among them
	Flight time.Duration // from post to completion, all in all
	Hidden time.Duration // the part of it in which no caller waited
}

// takeOffLocked begins to measure m, which was just posted, unless it is done, or short and not
// chosen.
func (e *Engine) takeOffLocked(m *MSO) {
	f := &e.flights
	weight := int64(1)
	if m.Kind == KindGeneral {
		return // no communication
	}
	if m.Kind <= KindRecv && len(m.Buf) <= e.shortMax && m.Layout == nil {
		if f.skip > 0 {
			f.skip--
			return
		}
		f.skip, weight = f.gap(), shortSample
	}
	if m.IsDone() || m.IsWatched() {
		return
	}
	w, now := f.watch(), sys.Nanotime()
	w.Since, w.Waited, w.Weight = now, int64(e.waits.waited(now)), weight
	e.core.Watch(m, w)
	f.up.Add(1)
}

// watch takes one off the list of those that are free.
func (f *flights) watch() *core.Watch {
	n := len(f.free)
	if n == 0 {
		return new(core.Watch)
	}
	w := f.free[n-1]
	f.free = f.free[:n-1]
	return w
}

// gap is how many short operations are not measured before the next one that is. Each is measured
// with the same chance, whatever happened to those before it, so that no rhythm of the program's
// meets that of the measurement.
func (f *flights) gap() uint32 {
	dice := f.dice
	if dice == nil {
		dice = rand.Float64
	}
	return uint32(math.Log1p(-dice()) / math.Log1p(-1.0/shortSample))
}

// landLocked takes note of measured operations that are done.
func (e *Engine) landLocked() {
	f, now := &e.flights, sys.Nanotime()
	waited := e.waits.waited(now)
	for w := e.core.TakeEnded(); w != nil; w = e.core.TakeEnded() {
		flight := max(time.Duration(now-w.Since), 0)
		hidden := max(flight-(waited-time.Duration(w.Waited)), 0)
		f.stats.Count += uint64(w.Weight)
		f.stats.Flight += flight * time.Duration(w.Weight)
		f.stats.Hidden += hidden * time.Duration(w.Weight)
		f.up.Add(-1)
		f.free = append(f.free, w)
	}
}
