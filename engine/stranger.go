package engine

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/wire"
	"github.com/fitmpi/fitmpi/internal/strangers"
	"github.com/fitmpi/fitmpi/netpoll"
)

const (
	// maxStrangers bounds, beyond one for each rank, the connections that have not proved
	// themselves: one gives way to a new one.
	maxStrangers = 128
	// maxGreetings bounds, beyond one for each rank, the connections accepted in greetTime. More
	// wait at the listener: a handshake takes some 50 µs of the thread that serves the peers.
	maxGreetings = 256
	greetTime    = deafTime
	// handshakeTimeout bounds how long a stranger may hold a descriptor.
	handshakeTimeout = 10 * time.Second
)

// crowd is the accepted connections that have not proved themselves. It belongs to the holder of
// the progress right.
type crowd struct {
	all   []*conn              // the oldest first
	from  map[netip.Prefix]int // how many of all are from there, as strangers.PlaceOf has it
	log   strangers.Log
	since int64 // when begun was 0
	begun int   // connections accepted since then, at most greetTime ago
}

// mayGreet reports whether one more connection may be accepted now, and counts it.
func (d *driver) mayGreet(now int64) bool {
	w := &d.crowd
	if now-w.since >= int64(greetTime) {
		w.since, w.begun = now, 0
	}
	if w.begun >= maxGreetings+len(d.conns) {
		return false
	}
	w.begun++
	return true
}

// greet begins the handshake with the other end of a connection that has come.
func (d *driver) greet(s *netpoll.Socket) {
	d.makeRoom()
	c, err := d.newConn(s, false)
	if err != nil {
		d.warnOfStrangers("accept", "err", err)
		return
	}
	c.place, c.stranger = strangers.PlaceOf(s.RemoteAddr().Addr()), true
	d.crowd.all = append(d.crowd.all, c)
	d.crowd.from[c.place]++
	c.setDeadline(deadlineIn(handshakeTimeout))
	if d.home.identity != nil {
		c.startSecuring(nil)
	} else {
		c.startGreeting()
	}
}

// startGreeting waits for the other's hello.
func (c *conn) startGreeting() {
	c.state = connHandshaking
	r := c.d.home
	if c.tls != nil {
		r = c.d.realmNamed(c.tls.Name())
	}
	id := c.claim(r)
	id.Other = c.claimIn
	c.hs = wire.NewAcceptor(id, nonce())
}

// makeRoom drops a stranger if there are as many as there may be. It takes one from the place from
// which the most are, so that a host that floods us pushes out its own. Of those it takes one that
// has not even said hello, which ranks say at once, and of those the oldest.
func (d *driver) makeRoom() {
	if len(d.crowd.all) < maxStrangers+len(d.conns) {
		return
	}
	gone := d.crowd.givesWay()
	gone.rejected(wire.RejectCrowded)
	d.forget(gone)
}

// givesWay is the stranger that gives way; there is one.
func (w *crowd) givesWay() (gone *conn) {
	for _, c := range w.all {
		if gone == nil || w.isWorse(c, gone) {
			gone = c
		}
	}
	return gone
}

// isWorse reports whether c gives way rather than an older one.
func (w *crowd) isWorse(c, older *conn) bool {
	if n, m := w.from[c.place], w.from[older.place]; n != m {
		return n > m
	}
	return c.isSilent() && !older.isSilent()
}

// isSilent reports whether a stranger has said nothing yet that only a rank would say.
func (c *conn) isSilent() bool {
	return c.state == connSecuring || c.hs != nil && c.hs.State() == wire.StateAwaitHello
}

// known notes that an accepted connection has proved itself, or is gone.
func (c *conn) known() {
	if !c.stranger {
		return
	}
	c.stranger = false
	w := &c.d.crowd
	i := slices.Index(w.all, c)
	w.all = slices.Delete(w.all, i, i+1)
	if w.from[c.place]--; w.from[c.place] == 0 {
		delete(w.from, c.place)
	}
}

// rejected counts and logs a handshake that failed.
func (c *conn) rejected(r wire.Reject) {
	e := c.d.e
	e.stats.reject(r)
	if r == wire.RejectHangup { // a dial that gave way to ours ends so too
		e.cfg.Logger.Debug("connection dropped", "rank", e.cfg.Rank, "from", c.sock.RemoteAddr(), "reason", r.String())
		return
	}
	c.d.warnOfStrangers("connection dropped", "from", c.sock.RemoteAddr(), "reason", r.String())
}

// warnOfStrangers logs something that any process that reaches us can bring about as often as it
// likes.
func (d *driver) warnOfStrangers(what string, args ...any) {
	if !d.e.cfg.Logger.Enabled(context.Background(), slog.LevelWarn) {
		return
	}
	d.crowd.log.Warn(d.e.cfg.Logger, what, append([]any{"rank", d.e.cfg.Rank}, args...)...)
}
