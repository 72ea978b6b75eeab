package engine

import (
	"errors"

	"github.com/fitmpi/fitmpi/engine/internal/jobtls"
	"github.com/fitmpi/fitmpi/engine/internal/wire"
)

// What is found of a connection that stands, whose ends both live, and that is of no use all the
// same.

var (
	errNoRecord = errors.New("TLS: what comes makes no whole record")
	errUnheard  = errors.New("the peer does not receive what we say")
)

// stuck returns why a connection is of no use though both its ends live, nil if it is of use. lives
// says that the peer was heard lately: a peer that is silent may be stopped in the middle of
// anything, and its silence decides.
func (c *conn) stuck(now int64, late, lives bool, patience int64) error {
	b := &c.beat
	if c.tls != nil && b.isChoked(now, late, c.mayPause(lives) || !c.tls.IsPartial(), patience) {
		return errNoRecord
	}
	if !c.session.saidBye || !c.session.resumes {
		return nil
	}
	// We show no life any more, so a peer that waits for the rest of what we have said takes us for
	// dead before long.
	c.d.e.mu.Lock()
	acked, _ := c.d.e.core.Acked(c.peer)
	kept := c.d.e.core.Kept(c.peer)
	c.d.e.mu.Unlock()
	if f, _ := b.acks.look(now, acked, late, b.promised == 0 || !lives || kept == 0, patience/2); f == isSilent {
		return errUnheard
	}
	return nil
}

// mayPause reports whether the peer may stop amid a record for as long as it likes: it is held, or
// computes and promises no heartbeats. If its stream is resumed it is asked to begin the record
// again: a peer that computes answers when it is through, and under caller is waited for.
func (c *conn) mayPause(lives bool) bool {
	if c.beat.promised == 0 {
		return !c.session.resumes || c.d.e.cfg.Progress != Caller
	}
	return c.rx.paused || !lives
}

// isChoked reports whether a record of TLS was not whole for as long as the patience. Then its
// length was damaged on its way, and all that comes, heartbeats at the least, is taken for the rest
// of it. That is up to 16 KiB, for which heartbeats alone would take many minutes.
func (b *connBeat) isChoked(now int64, late, excused bool, patience int64) bool {
	f, _ := b.records.look(now, b.opened, late, excused, patience)
	return f == isSilent
}

// fills reports whether the peer cannot find by its clock that a record of ours is not whole,
// because we promise no heartbeats: see mayPause.
func (c *conn) fills() bool {
	return c.tls != nil && !c.d.heart.beats && (!c.session.resumes || c.d.e.cfg.Progress != Caller)
}

// fill writes enough at each beat to make whole, within the timeout, a record that the peer waits
// for in vain, however long damage has made it. The record does not open, and that ends the
// connection. A rank that computes under caller comes to no beat, and may be in the middle of a
// record then.
func (c *conn) fill() {
	b, e := &c.beat, c.d.e
	want := c.d.heart.share(jobtls.MaxRecord)
	if c.session.saidBye || b.out-b.lastOut >= uint64(want) {
		return
	}
	e.mu.Lock()
	defer e.unlock()
	for n, must := 0, false; n < want && e.core.Heartbeat(c.peer, false, must); n += wire.HeaderLen {
		must = true
		e.stats.beatsOut.Add(1)
	}
}

// finalReport ends our direction once all is written and goodbye is said. It does so where no
// heartbeat may follow, and the peer would have no other sign that what it waits for does not come.
func (c *conn) finalReport() {
	if c.tls != nil && c.session.saidBye && !c.session.resumes {
		if err := c.sock.CloseWrite(); err != nil {
			c.d.e.cfg.Logger.Debug("the end of a stream is not told", "rank", c.d.e.cfg.Rank, "peer", c.peer, "err", err)
		}
	}
}
