package engine

import (
	"errors"
	"net/netip"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/engine/internal/core"
	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/netpoll"
)

const (
	stagingSize = 256 << 10 // bytes received by one system call at most, besides payload
	maxBufs     = 64        // spans written by one system call
	maxWrites   = 8         // system calls for one peer in one turn
	maxReads    = 8
	fetchTurn   = 1 << 20 // bytes fetched from peers of this host in one turn
)

// driver owns the sockets of a rank. All of it belongs to the holder of the
// progress right, except what is marked otherwise.
type driver struct {
	e      *Engine
	poller *netpoll.Poller // its own waiter is the worker's, or under caller that of the caller that drives
	doze   *netpoll.Waiter // of the caller that dozes; nil unless callers do
	bridge []PeerInfo      // where each peer is; after Start it grows with the progress right and the mutex held, so either is enough to read it

	home    *realm   // of the job; immutable after newDriver
	realms  []*realm // all, home first; as bridge
	origins []origin // of the peers beyond those of the job; as bridge

	listeners []*netpoll.Listener // immutable after newDriver; at least one, if there are sockets

	plain []byte // bytes of encrypted connections, decrypted; nil before the first

	bigEndian bool // immutable after Start: the byte order of all payloads

	conns        []*conn        // by peer: the connection in use or being made, nil if none
	sessions     []*peerSession // by peer: what outlives a connection; nil until there is something
	slots        []slot         // by token: every connection, strangers included
	free         []uint32
	await        []int64 // by peer: until when we wait for the peer's dial, to which ours gave way, or before we dial again; 0 if we do not
	staging      []byte
	bufs         [][]byte
	events       []netpoll.Event
	timed        int   // deadlines: of connections, of await, of deaf, of answersUntil
	acks         int   // deadlines of acknowledgements
	looked       int64 // when the deadlines were looked at
	tested       int64 // when a test looked at the sockets
	deaf         int64 // until when the listener is not polled, for want of descriptors; 0 if it is
	answersUntil int64 // until when we answer dials though all is said, see closing.go; 0 if we need not. Counted in open
	crowd        crowd // connections accepted that have not proved themselves

	hands    *hands // nil unless there are several workers; immutable after Start
	byWorker bool   // the worker drives

	aside        *aside // of the caller, or visitor, that runs jobs; nil before the first that is foreign
	workersAside *aside // of the worker, until it ends; nil before the first

	heart    heart
	sockets  socketCounts
	sent     uint64 // bytes of streams that have left, to sockets and rings
	jobsLeft bool   // the last runJobs has left some
	freshAck bool   // there is a deadline of an acknowledgement that a sleeping worker may not know

	calledAt [2]atomic.Int64 // of the poller's own waiter and of doze; see called. Written by anyone

	attempts map[PeerID]*attempt // to reach peers without a connection

	open   atomic.Int32  // connections that are open, being made, waited for or left; read by anyone
	abroad atomic.Int32  // open ones to peers of other hosts; read by anyone
	broken atomic.Int32  // pairs whose streams wait for another connection; read by anyone
	saying atomic.Bool   // goodbye was asked for; read by anyone
	quiet  chan struct{} // capacity 1: isQuiet may have become true
}

// slot is a place in the table of connections; its generation tells events of a
// connection from those of its successor.
type slot struct {
	c   *conn
	gen uint32
}

const (
	listenerToken = ^uint64(0) - 1 - iota
	bellToken
)

func newDriver(e *Engine) (*driver, error) {
	d := &driver{
		e: e, conns: make([]*conn, e.cfg.Size), sessions: make([]*peerSession, e.cfg.Size), await: make([]int64, e.cfg.Size),
		staging: make([]byte, stagingSize), bufs: make([][]byte, 0, maxBufs),
		events: make([]netpoll.Event, 64), quiet: make(chan struct{}, 1), crowd: crowd{from: make(map[netip.Prefix]int)},
	}
	d.heart.init(&e.cfg)
	var err error
	if d.home, err = newRealm(Meeting{e.cfg.Job, e.cfg.Secret, e.cfg.Rank, e.cfg.Size}, e.cfg.TLS); err != nil {
		return nil, err
	}
	d.realms = []*realm{d.home}
	if d.poller, err = netpoll.NewPoller(); err != nil {
		return nil, err
	}
	d.poller.Brisk = e.cfg.Progress == Worker
	if e.cfg.Progress == Assist && e.cfg.Doze > 0 {
		if d.doze, err = d.poller.NewWaiter(); err != nil {
			return nil, errors.Join(err, d.poller.Close())
		}
	}
	if err := d.openListeners(); err != nil {
		return nil, errors.Join(err, d.closeListeners(), d.closePoller())
	}
	return d, nil
}

func (d *driver) options() netpoll.Options {
	return netpoll.Options{
		NoDelay: true, KeepAlive: true, Congestion: d.e.cfg.Congestion,
		SendBuffer: d.e.cfg.SocketBuffer, ReceiveBuffer: d.e.cfg.SocketBuffer,
	}
}

// turn is one bounded round: commands, output, arrivals, jobs, output. It
// reports whether anything happened.
//
// Preconditions:
//   - the caller holds the progress right.
func (e *Engine) turn() bool { return e.round(true) }

// round is turn; without sockets it leaves out what only the poller finds.
func (e *Engine) round(sockets bool) bool {
	d, begin := e.drv, e.turnBegins()
	e.mu.Lock()
	e.counts.turns++
	e.counts.sockets = d.sockets
	cmds, out, jobs := len(e.cmds) > 0, e.core.HasOutput(), e.core.HasJobs()
	e.mu.Unlock()
	if cmds {
		e.runCommands()
	}
	if out {
		d.flushAll()
	}
	near := e.local != nil && e.local.turn()
	n := 0
	if sockets {
		n = d.poll()
	}
	if jobs || near || n > 0 {
		d.runJobs()
	}
	moved := e.deliver() || cmds || out || jobs || near || n > 0
	if moved {
		e.maybeTurned(begin)
	}
	return moved
}

// poll handles what the poller finds, and reports how much that was.
func (d *driver) poll() (n int) {
	n, err := d.poller.Poll(d.events)
	if err != nil {
		d.e.cfg.Logger.Error("poll failed", "rank", d.e.cfg.Rank, "err", err)
	}
	d.handle(d.events[:n])
	return n
}

func (d *driver) handle(evs []netpoll.Event) {
	if d.hands != nil {
		d.readTogether(evs)
	}
	for i := range evs {
		ev := &evs[i]
		if ev.Token == listenerToken {
			d.accept()
			continue
		}
		if ev.Token == bellToken {
			d.e.local.heard()
			continue
		}
		if c := d.connOf(ev); c != nil {
			c.ready(ev)
		}
	}
	if d.timed+d.acks > 0 {
		d.maybeExpire(sys.Nanotime())
	}
}

// runJobs does the long work that arrivals left, as much as one turn is to, and sends what came of
// it.
func (d *driver) runJobs() {
	e := d.e
	e.mu.Lock()
	for fetched := 0; fetched < fetchTurn; {
		j, ok := e.core.NextJob()
		if !ok {
			break
		}
		fetched += j.Fetched()
		e.runJob(&j)
	}
	d.endAside()
	out := e.core.HasOutput()
	d.jobsLeft = e.core.HasJobs()
	e.unlock()
	if out {
		d.flushAll()
	}
}

// flushAll writes to every peer that has something queued.
func (d *driver) flushAll() {
	// A peer that is dirty again after its share of system calls waits for the next turn.
	for range len(d.conns) + 1 {
		bufs := d.bufs[:0]
		d.e.mu.Lock()
		id, ok := d.e.core.NextDirty()
		kept := ok && d.isKept(d.conns[id])
		ready := ok && d.conns[id].canWrite() && !kept
		if ready {
			bufs = d.e.core.Gather(id, bufs)
		}
		d.e.mu.Unlock()
		switch {
		case !ok:
			if !d.writeTogether() {
				return
			}
		case kept:
			d.writeTogether()
			d.flush(id)
		case d.e.laneTo(id) != nil:
			if l := d.e.laneTo(id); !l.blocked {
				l.write()
			}
		case ready && d.hands != nil && d.writeLater(d.conns[id], bufs):
		case ready:
			d.conns[id].writeGathered(bufs)
		default:
			d.flush(id)
		}
	}
	d.writeTogether()
}

// flush writes to one peer, dialling it first if there is no connection.
func (d *driver) flush(id PeerID) {
	c := d.conns[id]
	switch {
	case c == nil:
		if d.await[id] == 0 {
			d.dial(id)
		}
	case c.canWrite():
		c.write()
	}
}

// newConn enters a connection in the table.
func (d *driver) newConn(s *netpoll.Socket, writable bool) (*conn, error) {
	i := uint32(len(d.slots))
	if n := len(d.free); n > 0 {
		i = d.free[n-1]
		d.free = d.free[:n-1]
	} else {
		d.slots = append(d.slots, slot{})
	}
	sl := &d.slots[i]
	c := &conn{d: d, sock: s, token: uint64(sl.gen)<<32 | uint64(i), peer: noPeer, blocked: writable}
	if err := d.poller.Add(s, c.token, writable); err != nil {
		d.free = append(d.free, i)
		return nil, errors.Join(err, s.Close())
	}
	sl.c = c
	d.open.Add(1)
	return c, nil
}

// forget takes a connection out of every table and closes its socket.
func (d *driver) forget(c *conn) {
	if c.state == connClosed {
		return
	}
	c.setDeadline(0)
	c.dropAck()
	c.known()
	if c.tls != nil {
		c.tls.Close()
	}
	c.notAbroad()
	c.state = connClosed
	i := uint32(c.token)
	d.slots[i].c = nil
	d.slots[i].gen = (d.slots[i].gen + 1) & (1<<31 - 1) // tokens near the top are the listener's and the poller's
	d.free = append(d.free, i)
	if c.peer != noPeer && d.conns[c.peer] == c {
		d.conns[c.peer] = nil
	}
	if err := errors.Join(d.poller.Remove(c.sock), c.sock.Close()); err != nil {
		d.e.cfg.Logger.Warn("closing a connection", "rank", d.e.cfg.Rank, "peer", c.peer, "err", err)
	}
	d.open.Add(-1)
	d.maybeQuiet()
}

// notAbroad: an open connection that leaves this host is open no more.
func (c *conn) notAbroad() {
	if c.isAbroad {
		c.isAbroad = false
		c.d.abroad.Add(-1)
	}
}

// sink is the payload that is being received from a peer, nil if there is no connection.
func (d *driver) sink(id PeerID) *core.Sink {
	if p := d.sessions[id]; p != nil {
		return &p.rx.sink
	}
	if l := d.e.laneTo(id); l != nil {
		return &l.rx.sink
	}
	return nil
}
