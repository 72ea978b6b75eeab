package engine

import (
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
)

const (
	// tick is how often the deadlines are looked at while there are any.
	tick = 100 * time.Millisecond
	// deafTime is how long listening pauses when there is no descriptor for one more connection: it
	// would stay readable, and the poller never sleep.
	deafTime = tick
	// awaitTime bounds the wait for a dial that our own gave way to.
	awaitTime = 5 * time.Second
)

// awaitTime is how long we wait for a dial that our own gave way to.
func (d *driver) awaitTime(id PeerID) time.Duration {
	if d.isBroken(id) {
		return min(awaitTime, d.e.cfg.Try)
	}
	return awaitTime
}

func deadlineIn(t time.Duration) int64 { return sys.Nanotime() + int64(t) }

// setTimer changes one deadline of many, keeping count of those that are set.
func (d *driver) setTimer(t *int64, when int64) {
	if *t != 0 {
		d.timed--
	}
	if *t = when; when != 0 {
		d.timed++
	}
}

func (c *conn) setDeadline(when int64) { c.d.setTimer(&c.deadline, when) }

// setAwait says until when we do not dial a peer though we have something for it; 0 ends that. A
// rank that closes waits for it as for a connection.
func (d *driver) setAwait(id PeerID, when int64) {
	was := d.await[id]
	d.setTimer(&d.await[id], when)
	switch {
	case was == 0 && when != 0:
		d.open.Add(1)
	case was != 0 && when == 0:
		d.open.Add(-1)
		d.maybeQuiet()
	}
}

// endAwait dials a peer for which we have waited long enough.
func (d *driver) endAwait(id PeerID) {
	d.goOn(func() {
		d.setAwait(id, 0)
		d.flush(id)
	})
}

// goOn runs f, which ends one try to reach a peer and begins another: a rank that closes must not
// think, between the two, that all is done.
func (d *driver) goOn(f func()) {
	d.open.Add(1)
	f()
	d.open.Add(-1)
	d.maybeQuiet()
}

// bounded shortens a wait to the next look at the deadlines.
func (d *driver) bounded(most time.Duration) time.Duration {
	if d.timed+d.acks > 0 && (most < 0 || most > tick) {
		return tick
	}
	return most
}

func (d *driver) maybeExpire(now int64) {
	if now-d.looked >= int64(tick)/2 {
		d.looked = now
		d.expire(now)
	}
}

// expire drops each connection that is late with its handshake, and goes on where a way to a peer
// leads nowhere. It dials where a dial of the peer's did not come or a pause is over, and it
// listens again after a pause.
func (d *driver) expire(now int64) {
	for _, s := range d.slots {
		if c := s.c; c != nil && c.deadline != 0 && now > c.deadline {
			c.late()
		}
		if c := s.c; c != nil && c.ackAt != 0 && now > c.ackAt {
			c.acknowledge()
		}
	}
	for id := range d.await {
		if when := d.await[id]; when != 0 && now > when {
			d.endAwait(PeerID(id))
		}
	}
	if d.deaf != 0 && now > d.deaf {
		d.listen()
	}
	if d.answersUntil != 0 && now > d.answersUntil {
		d.endAnswers()
	}
}

// pauseListening stops polling the listeners for a while.
func (d *driver) pauseListening() {
	for _, l := range d.listeners {
		if err := d.poller.RemoveListener(l); err != nil {
			d.e.cfg.Logger.Error("pausing the listener", "rank", d.e.cfg.Rank, "err", err)
		}
	}
	d.setTimer(&d.deaf, deadlineIn(deafTime))
}

func (d *driver) listen() {
	d.setTimer(&d.deaf, 0)
	for _, l := range d.listeners {
		if err := d.poller.AddListener(l, listenerToken); err != nil {
			d.e.cfg.Logger.Error("listening again", "rank", d.e.cfg.Rank, "err", err)
			d.setTimer(&d.deaf, deadlineIn(deafTime))
		}
	}
}
