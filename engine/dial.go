package engine

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/wire"
	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/netpoll"
)

// Route is one way to connect to a peer.
type Route struct {
	Addr netip.AddrPort
	// Preamble makes the bytes that go before everything else, anew for each try: what a gateway at
	// Addr asks for. nil if the peer itself is there.
	Preamble func() []byte
	// Refusal reads what comes back first on a connection that began with a preamble: why the
	// gateway refuses, if it says so; and, with "", whether more must come before that is known.
	// What it says is shown and decides nothing: it may be a stranger's. nil if gateways say
	// nothing.
	Refusal func(preamble, answer []byte) (why string, more bool)
}

// Direct are the routes to a peer that listens at addrs itself.
func Direct(addrs ...netip.AddrPort) []Route {
	rs := make([]Route, len(addrs))
	for i, a := range addrs {
		rs[i].Addr = a
	}
	return rs
}

const (
	// firstPause and lastPause bound the time between two rounds over the routes of a peer.
	firstPause = 100 * time.Millisecond
	lastPause  = 2 * time.Second
	// maxRounds bounds, under the caller policy, the rounds over a peer that takes connections of
	// which none comes to stand: the clock does not give up such a peer. Rounds in which it was
	// mute do not count, as it may compute.
	maxRounds = 64
	// overRounds is how often everything that answers for a peer must refuse or close our
	// connections before we believe that the peer is gone, if we have only to say goodbye to it.
	overRounds = 3
	// maxLonger bounds how often the time for an answer is doubled.
	maxLonger = 5
)

var (
	errNoAnswer = errors.New("no answer")
	errNewer    = errors.New("it says again that there is a newer connection, and there is none")
)

// attempt is what is known of a peer that we have begun to dial and have not reached. The routes
// are tried in turn, and again after a pause, until one leads to the peer or the time is over. A
// host that refuses says little: it may be a firewall that reloads, or a gateway that restarts.
// That a process is dead is the launcher's to say.
type attempt struct {
	until      int64         // when the peer is given up
	refusable  int64         // when it is given up if the system refuses every connection
	route      int           // the one that is tried, or will be
	rounds     int           // that are over; under the caller policy but for those that longer counts
	longer     int           // rounds that are over in which a peer was mute
	pause      time.Duration // before the next round
	open       bool          // in this round not every address was taken by something other than the peer
	unrefused  bool          // in this round there was an answer other than a refusal by the system, or none
	heard      bool          // in this round a connection was taken
	mute       bool          // in this round one was taken, and nothing said until the time was over
	renumbered bool          // it was dialled once more at once, with a number beyond that of which it knew
	lost       bool          // in this round nothing was heard of a route until the time was over
	causes     []error       // by route: why the last try failed
}

func (d *driver) attempt(id PeerID) *attempt {
	a := d.attempts[id]
	if a == nil {
		a = &attempt{until: deadlineIn(d.e.cfg.Connect), pause: firstPause, causes: make([]error, len(d.bridge[id].Routes))}
		if d.isBroken(id) {
			a.until = d.sessions[id].until
		}
		a.refusable = min(a.until, deadlineIn(d.e.cfg.Reconnect))
		if d.attempts == nil {
			d.attempts = make(map[PeerID]*attempt)
		}
		d.attempts[id] = a
	}
	return a
}

// note keeps why a try of the route has failed. That there was no answer at last, perhaps as there
// was no time for one, does not replace what was said before.
func (a *attempt) note(cause error) {
	switch before := a.causes[a.route]; {
	case before == nil || !errors.Is(cause, errNoAnswer):
		a.causes[a.route] = cause
	case !errors.Is(before, errNoAnswer):
		a.causes[a.route] = fmt.Errorf("%w; then %w", before, cause)
	}
}

// dial starts a connection to a peer.
func (d *driver) dial(id PeerID) {
	if len(d.bridge[id].Routes) == 0 {
		d.failPeer(id, fmt.Errorf("connect to %s: no address is known", d.bridge[id].Host))
		return
	}
	a := d.attempt(id)
	s, err := netpoll.Dial(d.bridge[id].Routes[a.route].Addr, d.options())
	if err != nil {
		d.tryNext(id, err)
		return
	}
	d.e.stats.dials.Add(1)
	c, err := d.newConn(s, true)
	if err != nil {
		d.tryNext(id, err)
		return
	}
	c.peer, c.dialled, c.state = id, true, connConnecting
	d.conns[id] = c
	c.setDeadline(d.patience(id, a))
}

// patience is until when a route is tried: not for long if there is another, or the same one has
// led to the peer before.
func (d *driver) patience(id PeerID, a *attempt) int64 {
	if len(d.bridge[id].Routes) > 1 || d.isBroken(id) {
		return min(deadlineIn(d.e.cfg.Try), max(a.until, deadlineIn(firstPause)))
	}
	return max(a.until, deadlineIn(firstPause))
}

// answerTime is until when what took a connection may say nothing. That connection may be gone at
// the other end alone, or lead to another process than the peer, so it is tried once more. Each try
// lasts twice as long as in the round before, as a busy peer takes its time to answer. Where an
// outage has to end in time, a try lasts as long as that of any route.
func (d *driver) answerTime(id PeerID, a *attempt) int64 {
	until := deadlineIn(d.e.cfg.Try << min(a.longer, maxLonger))
	switch {
	case d.e.cfg.Progress == Caller: // a peer may compute as long as it likes before it makes progress
		return until
	case d.isBroken(id):
		return d.patience(id, a)
	}
	return min(until, max(a.until, deadlineIn(firstPause)))
}

// verdictTime is until when a peer that has our proof may say nothing, before a connection with it
// has stood. The peer may have accepted, and would take no other dial of ours then, so it may be
// silent for as long as it likes. A connection that resumes gives way to the next dial.
func (c *conn) verdictTime() int64 {
	if d := c.d; c.hs.PeerSession().Resume && d.mayResume(c.peer) {
		return d.answerTime(c.peer, d.attempt(c.peer))
	}
	return 0
}

// connected begins to talk to the process that took our connection.
func (c *conn) connected() {
	d := c.d
	a := d.attempt(c.peer)
	a.heard = true
	c.setDeadline(d.answerTime(c.peer, a))
	var first []byte
	if r := &d.bridge[c.peer].Routes[a.route]; r.Preamble != nil {
		first = r.Preamble()
		if r.Refusal != nil {
			c.asked = &asked{preamble: first, refusal: r.Refusal}
		}
	}
	if d.home.identity != nil {
		c.startSecuring(first)
		return
	}
	c.out = append(c.out, first...)
	c.startHandshake()
}

// late ends a connection whose time is over.
func (c *conn) late() {
	if c.state == connClosing {
		c.d.forget(c)
		return
	}
	if c.dialled {
		a := c.d.attempt(c.peer)
		a.mute, a.lost = a.mute || c.state != connConnecting, true
		c.broken(errNoAnswer)
		return
	}
	c.rejected(wire.RejectTimeout)
	c.d.forget(c)
}

// hasProved reports whether the peer of this dial may have accepted it: we have given our proof.
func (c *conn) hasProved() bool {
	return c.dialled && c.hs != nil && c.hs.State() != wire.StateAwaitChallenge
}

// dialBroken: a connection of ours broke before it was open.
func (c *conn) dialBroken(cause error) {
	c.d.goOn(func() {
		c.d.forget(c)
		c.d.tryNext(c.peer, cause)
	})
}

// refusalError is the refusal by something at a peer's address that is not the peer.
type refusalError string

func (e refusalError) Error() string { return "handshake refused: " + string(e) }

// isTaken reports whether cause, of a try of r, says that something else is where the peer should
// be.
func (r *Route) isTaken(cause error) bool {
	_, refused := errors.AsType[refusalError](cause)
	return r.Preamble == nil && refused
}

// isRefused reports whether cause, of a try of r, is that the system of the peer's host, or
// something on the way there, refuses.
func (r *Route) isRefused(cause error) bool { return r.Preamble == nil && netpoll.IsRefused(cause) }

// tryNext goes on to the next route after one has failed.
func (d *driver) tryNext(id PeerID, cause error) {
	a, routes := d.attempt(id), d.bridge[id].Routes
	if errors.Is(cause, io.ErrUnexpectedEOF) {
		cause = errors.New("the connection was closed before the handshake was finished")
		if routes[a.route].Preamble != nil {
			cause = fmt.Errorf("%w; the gateway has not said why, its log may tell", cause)
		}
	}
	if netpoll.IsExhausted(cause) {
		cause = &filesError{sys.NoFile(), d.e.cfg.Size, cause}
	}
	a.note(cause)
	a.open = a.open || !routes[a.route].isTaken(cause)
	a.unrefused = a.unrefused || !routes[a.route].isRefused(cause)
	d.e.stats.failedDials.Add(1)
	d.e.cfg.Logger.Debug("no way to a peer", "rank", d.e.cfg.Rank, "peer", id, "address", routes[a.route].Addr, "err", cause)
	if a.route++; a.route < len(routes) {
		d.dial(id)
		return
	}
	a.route = 0
	if a.mute {
		a.longer++
	}
	if !a.mute || d.e.cfg.Progress != Caller {
		a.rounds++
	}
	if d.isLastRound(id, a) {
		if err := (&unreachableError{d.bridge[id].Host, routes, a.causes}); d.isBroken(id) {
			d.unresumed(id, err)
		} else {
			d.endPeer(id, err, d.e.IsExcused(id))
		}
		return
	}
	until := a.until
	if !a.unrefused {
		until = a.refusable
	}
	a.open, a.unrefused, a.heard, a.mute, a.lost = false, false, false, false, false
	d.setAwait(id, min(deadlineIn(a.pause), max(until, sys.Nanotime()+1)))
	a.pause = min(2*a.pause, lastPause)
}

// isLastRound reports whether a peer is given up after the round over its routes that has ended.
func (d *driver) isLastRound(id PeerID, a *attempt) bool {
	now := sys.Nanotime()
	switch {
	case !a.open:
		return true
	case !a.unrefused && (now >= a.refusable || d.e.IsExcused(id)):
		return true
	case !a.unrefused && a.rounds >= overRounds && d.saying.Load() && !d.isBroken(id):
		return true // all ranks have met since: it is through, or wants no more than others have said
	case !a.lost && a.rounds >= overRounds && d.isOver(id):
		return true
	case a.heard && d.e.cfg.Progress == Caller: // it may compute, and the clock says nothing of it
		return a.rounds >= maxRounds
	}
	return now >= a.until
}

// reached forgets how hard it was: there is a connection, or the peer wants none.
func (d *driver) reached(id PeerID) {
	d.setAwait(id, 0)
	delete(d.attempts, id)
}

// unreachableError says why there is no connection to a peer.
type unreachableError struct {
	host   string
	routes []Route
	causes []error // by route
}

func (e *unreachableError) Error() string {
	if len(e.routes) == 1 {
		return fmt.Sprintf("connect to %s (%s): %v", e.host, e.routes[0].name(), e.causes[0])
	}
	var b strings.Builder
	fmt.Fprintf(&b, "connect to %s", e.host)
	for i, r := range e.routes {
		sep := "; "
		if i == 0 {
			sep = ": "
		}
		fmt.Fprintf(&b, "%s%s: %v", sep, r.name(), e.causes[i])
	}
	return b.String()
}

func (e *unreachableError) Unwrap() []error { return e.causes }

func (r *Route) name() string {
	if r.Preamble != nil {
		return "gateway " + r.Addr.String()
	}
	return r.Addr.String()
}
