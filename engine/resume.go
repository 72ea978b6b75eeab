package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/wire"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// Resume says between which ranks streams outlive their connections: one that breaks is made again,
// and both go on where the other has received them to. It takes both sides.
type Resume uint8

// The modes.
const (
	ResumeAuto Resume = iota // with ranks of other hosts; under caller, where nothing reconnects while the user computes, with none
	ResumeOn                 // with every rank that is reached by TCP
	ResumeOff
)

var resumeNames = [...]string{"auto", "on", "off"}

func (r Resume) String() string { return resumeNames[r] }

// ParseResume is the inverse of String.
func ParseResume(s string) (Resume, error) {
	for i, n := range resumeNames {
		if n == s {
			return Resume(i), nil
		}
	}
	return 0, fmt.Errorf("resuming %q: choose auto, on or off", s)
}

// peerSession is what there is of a peer beyond one connection to it. It belongs to the holder of
// the progress right.
//
//	          first stands            breaks              another stands
//	(not up) ─────────────▶ standing ────────▶ broken ──────────────────▶ standing ...
//
// Only if both sides resume there is a broken one; else the peer has failed then, or left.
type peerSession struct {
	up      bool  // a connection has stood
	resumes bool  // both sides resume; known when it is up
	saidBye bool  // our goodbye is on the stream
	rx      input // what comes, wherever a connection breaks off

	number uint32 // the greatest that a connection was given, by us or by the peer
	stood  uint32 // that of the last connection that stood, or that a verdict let the peer use
	proved uint32 // the greatest for which we have given proof

	// Of a broken pair.
	broke int64         // when; 0 unless it is broken: see setBroke
	until int64         // when it is given up
	cause error         // why it broke
	pause time.Duration // before the dial, if the last connection has brought nothing
	moved [2]uint64     // positions of the two streams when the last connection broke
	since int64         // when the last connection stood
}

func (d *driver) sessionOf(id PeerID) *peerSession {
	if d.sessions[id] == nil {
		d.sessions[id] = new(peerSession)
	}
	return d.sessions[id]
}

// isBroken reports whether a peer's streams wait for another connection.
func (d *driver) isBroken(id PeerID) bool { return d.sessions[id] != nil && d.sessions[id].broke != 0 }

// setBroke notes when a pair broke, or with 0 that it is not broken any more.
func (d *driver) setBroke(p *peerSession, when int64) {
	switch {
	case p.broke == 0 && when != 0:
		d.broken.Add(1)
	case p.broke != 0 && when == 0:
		d.broken.Add(-1)
	}
	p.broke = when
}

// mayResume reports whether we mean to go on after a connection with a peer breaks.
func (d *driver) mayResume(id PeerID) bool {
	cfg, p := &d.e.cfg, &d.bridge[id]
	switch {
	case p.Way != TCP:
		return false
	case cfg.Resume == ResumeAuto:
		return cfg.Progress != Caller && p.Remote
	}
	return cfg.Resume == ResumeOn
}

// wireSession is what we say of the pair's streams to the rank to which this connection may lead.
// It is called once.
func (c *conn) wireSession(id PeerID) wire.Session {
	d := c.d
	if id == noPeer || !d.mayResume(id) {
		return wire.Session{}
	}
	if c.dialled {
		p := d.sessionOf(id)
		p.number++
		c.number, c.said = p.number, p.rx.received()
		return wire.Session{Resume: true, Received: c.said, Connection: c.number}
	}
	s := wire.Session{Resume: true}
	if p := d.sessions[id]; p != nil {
		c.said = p.rx.received()
		if s.Received, s.Connection = c.said, p.stood; d.conns[id] == nil || d.conns[id].session != nil {
			s.Connection = max(p.stood, p.proved) // no dial of ours is under way that would be given up for a greater one
		}
	}
	return s
}

// isResumable reports whether an open connection that breaks is to be made again. What a peer has
// sent that it must not send stays sent, on any connection. A stream that has come to its end,
// goodbye included, needs no connection.
func (c *conn) isResumable(cause error) bool {
	d, p := c.d, c.session
	if !p.resumes || d.e.stopping.Load() || d.e.IsExcused(c.peer) {
		return false
	}
	if _, rude := errors.AsType[*ProtocolError](cause); rude {
		return false
	}
	return !p.saidBye || d.isUnheard(c.peer)
}

// isUnheard reports whether a peer may not have received all that was said to it.
func (d *driver) isUnheard(id PeerID) bool {
	d.e.mu.Lock()
	defer d.e.mu.Unlock()
	return d.e.core.Kept(id)+d.e.core.Pending(id) > 0
}

// interrupted: an open connection broke; we dial, and so may the peer.
func (c *conn) interrupted(cause error) {
	d, id, p := c.d, c.peer, c.session
	d.e.cfg.Logger.Info("connection broken", "rank", d.e.cfg.Rank, "peer", id, "host", d.bridge[id].Host, "err", cause)
	cause = fmt.Errorf("connection to %s (%s): %w", d.bridge[id].Host, c.from(), cause)
	d.goOn(func() {
		d.forget(c)
		switch d.lost(id, cause); {
		case sys.Nanotime() > p.until:
			d.unresumed(id, errors.New("no connection since has brought anything"))
		case p.pause > 0:
			d.setAwait(id, deadlineIn(p.pause))
		default:
			d.dial(id)
		}
	})
}

// steadyTime is how long a connection must stand to be worth something though nothing came by it.
const steadyTime = time.Second

// lost notes that the connection of a pair is gone. A pair whose connections bring nothing is given
// up as one that gets none.
func (d *driver) lost(id PeerID, cause error) {
	p := d.sessions[id]
	p.rx.cut()
	d.e.mu.Lock()
	d.e.core.Broken(id)
	acked, _ := d.e.core.Acked(id)
	d.e.mu.Unlock()
	now, moved := sys.Nanotime(), [2]uint64{p.rx.received(), acked}
	if p.until == 0 || moved != p.moved || now-p.since > int64(steadyTime) {
		p.until, p.pause = now+int64(d.e.cfg.Reconnect), 0
	} else {
		p.pause = min(max(2*p.pause, firstPause), lastPause)
	}
	d.setBroke(p, now)
	p.cause, p.moved = cause, moved
}

// unresumed gives a broken pair up.
func (d *driver) unresumed(id PeerID, why error) {
	p := d.sessions[id]
	if p.broke != 0 && (p.saidBye || d.saying.Load() || d.e.IsExcused(id)) { // the peer may have heard it, or been idle, and have gone
		d.endPeer(id, why, true)
		return
	}
	if p.broke == 0 {
		d.failPeer(id, fmt.Errorf("connect to %s: %w", d.bridge[id].Host, why))
		return
	}
	after := time.Duration(sys.Nanotime() - p.broke).Round(time.Millisecond)
	err := fmt.Errorf("%w, and was not resumed in %v: %w", p.cause, after, why)
	d.e.cfg.Logger.Info("peer failed", "rank", d.e.cfg.Rank, "peer", id, "host", d.bridge[id].Host, "err", err)
	d.failPeer(id, err)
}

// isOver reports whether there is nothing left to say to the peer of a broken pair but goodbye, for
// the first time or again. If something then answers in the peer's place and does not have the
// peer, the peer is gone.
func (d *driver) isOver(id PeerID) bool {
	if !d.isBroken(id) || !d.saying.Load() {
		return false
	}
	most := 0
	if d.sessions[id].saidBye {
		most = wire.HeaderLen
	}
	d.e.mu.Lock()
	defer d.e.mu.Unlock()
	return d.e.core.Kept(id)+d.e.core.Pending(id) <= most
}

// decideResuming decides about the dial of a peer when both sides resume, by the numbers of
// connections: of two dials the one of the greater number wins, of equal ones the lower rank's. We
// must not take one that is not beyond what we have given proof of. The peer may yet see that
// proof. It would take that old dial of ours, which knows nothing of what has come since, for a new
// one.
func (c *conn) decideResuming(id PeerID, his wire.Session) wire.Verdict {
	d, p, n := c.d, c.d.sessionOf(id), his.Connection
	if n <= p.stood || n < p.proved || n == p.proved && d.wins(id) {
		return wire.VerdictDuplicate
	}
	if err := d.canResume(id, his); err != nil {
		d.failPeer(id, fmt.Errorf("%s dials again: %w", d.bridge[id].Host, err))
		return wire.VerdictClosed
	}
	d.goOn(func() {
		old := d.conns[id]
		if old == nil {
			return
		}
		d.forget(old)
		if old.session != nil { // it stood: the peer has noticed before us that it does not any more
			d.lost(id, errors.New("the peer has dialled again"))
		}
	})
	p.stood, p.number = n, max(p.number, n)
	if p.up {
		d.setAwait(id, deadlineIn(d.e.cfg.Try)) // then we dial, if nothing comes of this
	}
	return wire.VerdictAccept
}

// maxConnection is more than the number of any connection of a pair.
const maxConnection = 1 << 31

// canResume returns why we cannot go on with a peer that says this, nil if we can.
func (d *driver) canResume(id PeerID, his wire.Session) error {
	p := d.sessionOf(id)
	switch {
	case his.Connection > maxConnection:
		return fmt.Errorf("it speaks of %d connections of this pair", his.Connection)
	case p.up && !his.Resume:
		return errors.New("it has forgotten the connection before")
	case p.up && !p.resumes:
		return errors.New("it wants to go on with streams that were to end with the connection before")
	case !p.up && his.Received > 0:
		return errors.New("it speaks of a connection before that we know nothing of")
	case !p.up:
		return nil
	}
	d.e.mu.Lock()
	defer d.e.mu.Unlock()
	return d.e.core.CanResume(id, his.Received)
}

// goOnWith lets the streams of a pair begin, or go on, with a connection that stands. It reports
// false if that ends the connection.
//
// Preconditions:
//   - c is the pair's connection, and open.
func (d *driver) goOnWith(c *conn, his wire.Session, window int) bool {
	id, p := c.peer, c.session
	if err := d.canResume(id, his); err != nil {
		d.unresumed(id, err)
		return false
	}
	p.number = max(p.number, his.Connection)
	if !p.up {
		p.up, p.resumes, p.stood = true, his.Resume && d.mayResume(id), c.number
		p.rx.peer, p.rx.keeps = id, p.resumes
		d.e.mu.Lock()
		if p.resumes {
			d.e.core.Keep(id)
		}
		d.e.core.PeerUp(id, window)
		d.e.unlock()
		return true
	}
	d.e.mu.Lock()
	again := d.e.core.Resume(id, his.Received, c.said)
	d.e.unlock()
	p.stood, p.rx.skip, p.rx.paused = max(p.stood, c.number), p.rx.received()-c.said, false
	d.e.stats.reconnects.Add(1)
	after := time.Duration(sys.Nanotime() - p.broke).Round(time.Microsecond)
	d.e.cfg.Logger.Info("connection resumed", "rank", d.e.cfg.Rank, "peer", id, "host", d.bridge[id].Host, "after", after, "again", again, "err", p.cause)
	d.setBroke(p, 0)
	p.cause, p.since = nil, sys.Nanotime()
	return true
}

// ackTime is how long what has come of a peer's stream may be unacknowledged when nothing more
// comes. The deadlines are looked at every tick, so it may be as much longer.
const ackTime = 50 * time.Millisecond

// oweAck sees to it that the peer hears soon how far it was received.
func (c *conn) oweAck() {
	if c.ackAt == 0 {
		c.ackAt = deadlineIn(ackTime)
		c.d.acks++
		c.d.freshAck = true
	}
}

func (c *conn) dropAck() {
	if c.ackAt != 0 {
		c.ackAt = 0
		c.d.acks--
	}
}

// acknowledge sends the peer now the position up to which it was received.
func (c *conn) acknowledge() {
	c.dropAck()
	e := c.d.e
	e.mu.Lock()
	owed := e.core.Acknowledge(c.peer, c.rx.received(), true)
	e.unlock()
	if owed {
		c.oweAck()
	}
	if c.canWrite() {
		c.write()
	}
}

// takeFreshAck reports whether there is a deadline that a sleeping worker may not know.
func (d *driver) takeFreshAck() bool {
	fresh := d.freshAck
	d.freshAck = false
	return fresh
}

// sayReceived acknowledges the peer's goodbye: the end of its stream, for whose acknowledgement it
// may wait. It is best effort; a peer that does not hear it dials, and gets the verdict that we are
// through.
func (c *conn) sayReceived() {
	if !c.session.resumes {
		return
	}
	e := c.d.e
	e.mu.Lock()
	e.core.Acknowledge(c.peer, c.rx.received(), true)
	bufs := e.core.Gather(c.peer, c.d.bufs[:0])
	e.mu.Unlock()
	if len(bufs) > 0 {
		c.send(bufs)
	}
}

// noteSealed says that of what TLS has encrypted and could not write at once a part may have been
// written.
func (c *conn) noteSealed() {
	if c.tls == nil || !c.session.resumes {
		return
	}
	e := c.d.e
	e.mu.Lock()
	e.core.Sealed(c.peer, c.tls.Sealed())
	e.unlock()
}

// received is the position in the peer's stream up to which it has come.
func (p *input) received() uint64 { return p.pos - uint64(p.headN) }

// cut forgets what came of a header that a connection that is gone has cut off.
func (p *input) cut() {
	p.pos -= uint64(p.headN)
	p.headN, p.skip, p.owes = 0, 0, false
}

// pass takes off b what had come by the connection before. When all of that has come again it may
// be acknowledged, which this rank has not done yet by this connection.
func (p *input) pass(b []byte) []byte {
	n := min(p.skip, uint64(len(b)))
	p.skip -= n
	p.owes = p.skip == 0
	return b[n:]
}

// noted acknowledges what has come, if it is time; it is called with the mutex.
func (p *input) noted(e *Engine) { p.owes = e.core.Acknowledge(p.peer, p.received(), false) }

// proved notes that this dial has given its proof.
func (c *conn) proved() {
	if c.dialled && c.number > 0 {
		p := c.d.sessionOf(c.peer)
		p.proved = max(p.proved, c.number)
	}
}
