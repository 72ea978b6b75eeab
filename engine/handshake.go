package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/fitmpi/fitmpi/internal/wire"
	"github.com/fitmpi/fitmpi/netpoll"
)

// claim is who this rank is, for the handshake.
func (d *driver) claim() *wire.Identity {
	cfg := &d.e.cfg
	return &wire.Identity{
		Job: cfg.Job, Secret: cfg.Secret, Rank: uint32(cfg.Rank), Size: uint32(cfg.Size),
		Window: uint64(d.e.core.Config().Window), BigEndian: d.bigEndian,
	}
}

// handshakeRead is how much is read at a time while a handshake goes on.
const handshakeRead = 4 << 10

func nonce() (n [32]byte) {
	rand.Read(n[:]) // never fails: it ends the program instead
	return n
}

func (c *conn) startHandshake() {
	c.state = connHandshaking
	c.hs = wire.NewDialer(c.d.claim(), uint32(c.peer), nonce())
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
		return !c.isEncrypted(c.d.staging[:n]) && c.takeHandshake(c.d.staging[:n])
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
	if reject == wire.RejectNone && c.hs.State() == wire.StateProven && c.wrongCertificate() {
		reject = wire.RejectStranger
	}
	if reject != wire.RejectNone {
		c.rejected(reject)
		c.refuse(reject.Text())
		return false
	}
	if c.hasProved() {
		c.setDeadline(0) // the peer may have accepted by now
	}
	if c.hs.State() == wire.StateProven {
		c.hs.Decide(c.judge(PeerID(c.hs.Peer())))
	}
	rest := append([]byte(nil), b[n:]...)
	c.writeHandshake()
	if len(rest) > 0 && c.state == connOpen {
		c.parse(rest)
	}
	return c.state == connHandshaking || c.state == connOpen
}

// judge decides about a peer that has proved itself: two ranks that dial each
// other at the same time keep the lower one's connection, unless that is not so far
// yet that it has given its proof: it may be on a way that leads nowhere.
func (c *conn) judge(id PeerID) wire.Verdict {
	d := c.d
	old := d.conns[id]
	switch {
	case d.e.gone(id), d.saying.Load() && !d.pending(id):
		return wire.VerdictClosed
	case old == nil:
	case old.state != connOpen && (!old.hasProved() || wire.DialWins(uint32(id), uint32(d.e.cfg.Rank))):
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
	d, id := c.d, PeerID(c.hs.Peer())
	if old := d.conns[id]; old != nil && old != c { // a dial begun since the verdict, which is written only now
		d.forget(old)
	}
	c.setDeadline(0)
	c.known()
	d.reached(id)
	c.peer, c.state = id, connOpen
	d.conns[id] = c
	window := int(c.hs.PeerWindow())
	c.hs = nil
	d.e.mu.Lock()
	d.e.core.PeerUp(id, window)
	d.e.unlock()
	if d.saying.Load() {
		c.sayBye()
	}
	c.write()
}

// refusedBy: the acceptor knows who we are and does not want this connection;
// or, on the acceptor's side, has said so.
func (c *conn) refusedBy(v wire.Verdict) {
	d := c.d
	if !c.dialled {
		d.e.stats.duplicates.Add(1)
		d.forget(c)
		return
	}
	switch v {
	case wire.VerdictDuplicate:
		if d.conns[c.peer] == c {
			d.reached(c.peer)
			d.setAwait(c.peer, deadlineIn(awaitTime))
		}
		d.forget(c)
	case wire.VerdictClosed:
		d.endPeer(c.peer, errors.New("the peer takes no more connections"), true)
	default:
		d.failPeer(c.peer, fmt.Errorf("connect to %s (%s): %w", d.bridge[c.peer].Host, c.sock.RemoteAddr(), refusalError(v.String())))
	}
}

// refuse closes a connection whose handshake failed. Where we dialled there is
// somebody who is not the peer.
func (c *conn) refuse(why string) {
	if c.dialled {
		c.dialBroken(refusalError(why))
		return
	}
	c.d.forget(c)
}

// rejected counts and logs a handshake that failed.
func (c *conn) rejected(r wire.Reject) {
	c.d.e.stats.reject(r)
	level := slog.LevelWarn
	if r == wire.RejectHangup { // a dial that gave way to ours ends so too
		level = slog.LevelDebug
	}
	c.d.e.cfg.Logger.Log(context.Background(), level, "connection dropped", "rank", c.d.e.cfg.Rank, "from", c.sock.RemoteAddr(), "reason", r.String())
}
