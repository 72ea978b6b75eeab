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

// identity is who this rank is, for the handshake.
func (d *driver) identity() *wire.Identity {
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

// dial starts a connection to a peer.
func (d *driver) dial(id PeerID) {
	s, err := netpoll.Dial(d.bridge[id].Addr, d.options())
	if err != nil {
		d.failPeer(id, fmt.Errorf("connect to %s (%s): %w", d.bridge[id].Host, d.bridge[id].Addr, err))
		return
	}
	d.e.stats.dials.Add(1)
	c, err := d.newConn(s, true)
	if err != nil {
		d.failPeer(id, err)
		return
	}
	c.peer, c.dialled, c.state = id, true, connConnecting
	d.conns[id] = c
}

// dialBroken: a connection of ours broke before it was open. A peer that does
// not make progress lets handshakes expire, so that is tried again.
func (c *conn) dialBroken(cause error) {
	d := c.d
	retry := c.state == connHandshaking && errors.Is(cause, io.ErrUnexpectedEOF)
	d.forget(c)
	if retry && d.redial(c.peer) {
		return
	}
	d.failPeer(c.peer, fmt.Errorf("connect to %s (%s): %w", d.bridge[c.peer].Host, d.bridge[c.peer].Addr, cause))
}

func (d *driver) redial(id PeerID) bool {
	if d.redials == nil {
		d.redials = make(map[PeerID]int)
	}
	if d.redials[id]++; d.redials[id] > maxRedials {
		return false
	}
	d.dial(id)
	return true
}

func (c *conn) startHandshake() {
	c.state = connHandshaking
	c.hs = wire.NewDialer(c.d.identity(), uint32(c.peer), nonce())
	c.writeHandshake()
}

// writeHandshake writes what the handshake has to say.
func (c *conn) writeHandshake() {
	c.out = append(c.out, c.hs.Output()...)
	for len(c.out) > 0 {
		n, err := c.sock.Write(c.out)
		if errors.Is(err, netpoll.ErrAgain) {
			c.block()
			return
		}
		if err != nil {
			c.broken(io.ErrUnexpectedEOF)
			return
		}
		c.out = c.out[n:]
	}
	c.settle()
}

// receiveHandshake reads and handles handshake bytes, never more than belong to
// it. It reports whether to go on reading.
func (c *conn) receiveHandshake() bool {
	n, err := c.sock.Read(c.d.staging[:handshakeRead])
	if n > 0 {
		return c.takeHandshake(c.d.staging[:n])
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
	n, reject := c.hs.Input(b)
	if reject != wire.RejectNone {
		c.rejected(reject)
		c.refuse(reject.Text())
		return false
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
// other at the same time keep the lower one's connection.
func (c *conn) judge(id PeerID) wire.Verdict {
	d := c.d
	old := d.conns[id]
	switch {
	case d.e.gone(id), d.saying.Load() && !d.pending(id):
		return wire.VerdictClosed
	case old == nil:
	case old.state != connOpen && wire.DialWins(uint32(id), uint32(d.e.cfg.Rank)):
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
	d.setAwait(id, 0)
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
			d.setAwait(c.peer, deadlineIn(awaitTime))
		}
		d.forget(c)
	case wire.VerdictClosed:
		d.endPeer(c.peer, errors.New("the peer takes no more connections"), true)
	default:
		c.refuse(v.String())
	}
}

// refuse closes a connection whose handshake failed. A peer that we dialled and
// that is not who it should be is as good as dead.
func (c *conn) refuse(why string) {
	d := c.d
	id, dialled := c.peer, c.dialled
	d.forget(c)
	if dialled {
		d.failPeer(id, fmt.Errorf("connect to %s (%s): handshake refused: %s", d.bridge[id].Host, d.bridge[id].Addr, why))
	}
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
