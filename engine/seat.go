package engine

import (
	"time"

	"github.com/fitmpi/fitmpi/netpoll"
)

// How the driver is slept in, woken and polled besides in turns.

// wait sleeps in a seat until something may have arrived, somebody wakes it or max
// has passed (max < 0: for ever).
func (d *driver) wait(s *netpoll.Seat, max time.Duration, hold bool) {
	var err error
	if hold {
		d.e.stats.waitsHolding.Add(1)
		err = s.WaitHolding(min(max, holdWait))
	} else {
		d.e.stats.waitsBlocking.Add(1)
		err = s.Wait(max)
	}
	if err != nil {
		d.e.cfg.Logger.Error("poll failed", "rank", d.e.cfg.Rank, "err", err)
	}
}

// arm makes the wait in a seat, or the next one, return when something arrives.
func (d *driver) arm(s *netpoll.Seat) {
	if err := s.Arm(); err != nil {
		d.e.cfg.Logger.Error("arming the poller", "rank", d.e.cfg.Rank, "err", err)
	}
}

func (d *driver) wake(s *netpoll.Seat) {
	if err := s.Wake(); err == nil {
		d.e.stats.wakes.Add(1)
	}
}

// peek is a turn of a caller that polls and has nothing to send: with one connection
// it reads from that, which finds a message sooner than asking the poller first.
// It reports whether it did, and what came.
//
// Preconditions:
//   - the caller holds the progress right.
func (e *Engine) peek() (moved, ok bool) {
	c := e.drv.only()
	if c == nil {
		return false, false
	}
	before := e.stats.bytesIn.Load()
	c.receive()
	moved = e.stats.bytesIn.Load() != before
	if moved {
		e.drv.runJobs()
	}
	return moved, true
}

// only is the open connection of a driver that has no other socket but its listener,
// nil if there is none.
func (d *driver) only() *conn {
	if d.open.Load() != 1 || d.timed > 0 {
		return nil
	}
	for i := range d.slots {
		if c := d.slots[i].c; c != nil && c.state == connOpen {
			return c
		}
	}
	return nil
}

// isMidway reports whether a long payload is on its way in or out.
func (d *driver) isMidway() bool {
	for _, s := range d.slots {
		if c := s.c; c != nil && c.state == connOpen && (c.blocked || c.rx.direct() != nil) {
			return true
		}
	}
	return false
}
