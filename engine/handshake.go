package engine

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/wire"
	"github.com/fitmpi/fitmpi/netpoll"
)

// claim is what we say of ourselves to the rank to which this connection may lead, as a rank of r.
func (c *conn) claim(r *realm) *wire.Identity {
	c.realm = r
	return &wire.Identity{
		Job: r.Job, Secret: r.Secret, Rank: uint32(r.Rank), Size: uint32(r.Size),
		Window: uint64(c.d.e.core.Config().Window), BigEndian: c.d.bigEndian, Beat: c.d.heart.promise(),
		Session: func(rank uint32) wire.Session { return c.wireSession(r.peer(rank)) },
	}
}

// claimIn is claim in the realm that a hello is for; nil if this rank is not in it, or TLS has
// settled that another is meant.
func (c *conn) claimIn(job [16]byte) *wire.Identity {
	if c.tls != nil {
		return nil
	}
	for _, r := range c.d.realms {
		if r.Job == job {
			return c.claim(r)
		}
	}
	return nil
}

// proven is the peer that has proved itself, or that we dial; noPeer if this rank does not know it.
func (c *conn) proven() PeerID { return c.realm.peer(c.hs.Peer()) }

// handshakeRead is how much is read at a time while a handshake goes on.
const handshakeRead = 4 << 10

func nonce() (n [32]byte) {
	rand.Read(n[:]) // never fails: it ends the program instead
	return n
}

func (c *conn) startHandshake() {
	c.state = connHandshaking
	o := c.d.originOf(c.peer)
	c.hs = wire.NewDialer(c.claim(o.realm), uint32(o.rank), nonce())
	c.writeHandshake()
}

// writeHandshake writes what the handshake has to say.
func (c *conn) writeHandshake() {
	c.out = append(c.out, c.hs.Output()...)
	err := c.flushHandshake()
	switch {
	case errors.Is(err, netpoll.ErrAgain):
		c.block()
	case err != nil:
		c.broken(io.ErrUnexpectedEOF)
	default:
		c.settle()
	}
}

// flushHandshake writes out, and what of it is encrypted already.
func (c *conn) flushHandshake() error {
	if c.tls != nil {
		out := c.out
		if c.out = nil; len(out) > 0 {
			if err := c.tls.Write(out); err != nil {
				return err
			}
		}
		return c.tls.Flush(c.writeSock)
	}
	for len(c.out) > 0 {
		n, err := c.sock.Write(c.out)
		if err != nil {
			return err
		}
		c.out = c.out[n:]
	}
	return nil
}

// receiveHandshake reads and handles handshake bytes, never more than belong to
// it. It reports whether to go on reading.
func (c *conn) receiveHandshake() bool {
	n, err := c.sock.Read(c.d.staging[:handshakeRead])
	if n > 0 && c.tls != nil {
		c.tls.Feed(c.d.staging[:n])
		c.readSecure()
		return c.state == connHandshaking || c.state == connOpen
	}
	if n > 0 {
		b := c.pastGateway(c.d.staging[:n])
		if len(b) == 0 {
			return c.asked != nil
		}
		return !c.isEncrypted(b) && c.takeHandshake(b)
	}
	switch {
	case err == nil, errors.Is(err, netpoll.ErrAgain):
		return false
	case c.dialled:
		c.broken(io.ErrUnexpectedEOF)
	default:
		c.rejected(wire.RejectHangup)
		c.d.forget(c)
	}
	return false
}

// takeHandshake feeds b to the handshake; what follows it are frames.
func (c *conn) takeHandshake(b []byte) bool {
	c.heard = true
	n, reject := c.hs.Input(b)
	if reject == wire.RejectNone && c.hs.State() == wire.StateProven && (c.proven() == noPeer || c.wrongCertificate()) {
		reject = wire.RejectStranger
	}
	if reject != wire.RejectNone {
		c.rejected(reject)
		c.refuse(reject.Text())
		return false
	}
	if c.hasProved() {
		c.proved()
	}
	if c.hasProved() && !c.d.isBroken(c.peer) {
		c.setDeadline(c.verdictTime())
	}
	if c.hs.State() == wire.StateProven {
		c.hs.Decide(c.decide(c.proven()))
	}
	rest := append([]byte(nil), b[n:]...)
	c.writeHandshake()
	if len(rest) > 0 && c.state == connOpen {
		c.parse(rest)
	}
	return c.state == connHandshaking || c.state == connOpen
}

// decide returns the verdict on a peer that has proved itself. Two ranks that dial each other at
// the same time keep the lower one's connection. The exception is a connection of ours on which we
// have not given our proof yet: it may be on a way that leads nowhere.
func (c *conn) decide(id PeerID) wire.Verdict {
	d := c.d
	old, p, his := d.conns[id], d.sessions[id], c.hs.PeerSession()
	c.number = his.Connection
	again := p != nil && p.resumes
	switch {
	case d.e.gone(id), !again && d.isParting(id) && !d.pending(id):
		return wire.VerdictClosed
	case again || his.Resume && d.mayResume(id):
		return c.decideResuming(id, his)
	case old == nil:
	case old.state != connOpen && (!old.hasProved() || !d.wins(id)):
		d.forget(old)
	default:
		return wire.VerdictDuplicate
	}
	return wire.VerdictAccept
}

func (e *Engine) gone(id PeerID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.core.PeerGone(id) != nil
}

// settle acts on the end of the handshake, once its last bytes are written.
func (c *conn) settle() {
	switch s := c.hs.State(); s {
	case wire.StateEstablished:
		c.opened()
	case wire.StateRefused:
		c.refusedBy(c.hs.Verdict())
	case wire.StateFailed:
		c.refuse(c.hs.Reject().Text())
	case wire.StateAwaitChallenge, wire.StateAwaitVerdict, wire.StateAwaitHello, wire.StateAwaitProof, wire.StateProven:
	default:
		panic("engine: handshake in state " + s.String() + ": a bug of ours")
	}
}

func (c *conn) opened() {
	d, id := c.d, c.proven()
	p := d.sessionOf(id)
	if c.number < p.stood { // the peer has dialled once more since
		d.forget(c)
		return
	}
	if old := d.conns[id]; old != nil && old != c { // a dial begun since the verdict, which is written only now
		d.forget(old)
	}
	c.setDeadline(0)
	c.known()
	d.reached(id)
	c.peer, c.state, c.session, c.rx = id, connOpen, p, &p.rx
	d.conns[id] = c
	if c.isAbroad = c.sock.LocalAddr().Addr() != c.sock.RemoteAddr().Addr(); c.isAbroad {
		d.abroad.Add(1)
	}
	c.rx.paused = false // that is said by each connection
	his, window := c.hs.PeerSession(), int(c.hs.PeerWindow())
	c.beat.promised = int64(c.hs.PeerBeat()) * int64(time.Millisecond)
	c.hs = nil
	if !d.goOnWith(c, his, window) {
		return
	}
	c.guard()
	d.lookAfter()
	if d.isParting(id) {
		c.sayBye()
	}
	c.write()
}

// refusedBy: the acceptor knows which rank we are and does not want this connection; or, on the
// acceptor's side, has said so.
func (c *conn) refusedBy(v wire.Verdict) {
	d := c.d
	if !c.dialled {
		d.e.stats.duplicates.Add(1)
		d.forget(c)
		return
	}
	switch v {
	case wire.VerdictDuplicate:
		if last := c.hs.PeerSession().Connection; last >= c.number && last > 0 && last < maxConnection && d.conns[c.peer] == c { // it knows of connections that we do not
			d.sessionOf(c.peer).number = last
			a := d.attempt(c.peer)
			if a.renumbered { // it should know no more than that
				c.dialBroken(errNewer)
				return
			}
			a.renumbered = true
			d.goOn(func() {
				d.forget(c)
				d.dial(c.peer)
			})
			return
		}
		if d.conns[c.peer] == c {
			d.reached(c.peer)
			d.setAwait(c.peer, deadlineIn(d.awaitTime(c.peer)))
		}
		d.forget(c)
	case wire.VerdictClosed:
		err := errors.New("the peer takes no more connections")
		if d.isBroken(c.peer) {
			d.unresumed(c.peer, err)
		} else {
			d.endPeer(c.peer, err, true)
		}
	default:
		d.failPeer(c.peer, fmt.Errorf("connect to %s (%s): %w", d.bridge[c.peer].Host, c.sock.RemoteAddr(), refusalError(v.String())))
	}
}

// refuse closes a connection whose handshake failed. Where we dialled, something other than the
// peer is there. The exception is a peer that was there before, and whose stream is to go on: then
// something between us may have damaged what was said, as it broke the connection. The next try
// shows which it is.
func (c *conn) refuse(why string) {
	switch {
	case !c.dialled:
		c.d.forget(c)
	case c.d.isBroken(c.peer):
		c.dialBroken(errors.New(refusalError(why).Error()))
	default:
		c.dialBroken(refusalError(why))
	}
}
