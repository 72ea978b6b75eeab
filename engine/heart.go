package engine

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// Heartbeats: now and then the goroutine that makes progress shows the peers that have a connection
// that this rank lives, and looks for the same of all peers. A pacer shows it to the peers of other
// processes that share memory with us. Nothing is done for a message: what it adds to counters
// anyway is looked at when the beat is due. Threads of this process share our fate, so no rank
// looks after them. Why so: docs/decisions/0032-who-is-dead.md.

// heart is a rank's part in it.
type heart struct {
	shows bool // this rank promises signs of life to the peers that share memory with it; immutable
	beats bool // and over connections; immutable

	due   atomic.Int64                // when the next beat is, 0 if there is no peer to look after. Written by the holder of the progress right, read by any goroutine
	held  atomic.Pointer[func() bool] // in place of a look at this process's tracer, for tests; nil otherwise
	asked atomic.Bool                 // the holder of the right was notified that it is due

	metronome // owned by the holder of the progress right
}

// connBeat is what a connection knows of the signs of life of both sides. It belongs to the holder
// of the progress right.
type connBeat struct {
	in, out  uint64 // bytes that have come and gone
	opened   uint64 // bytes that were in whole records of TLS
	lastOut  uint64 // out at the last beat
	paused   bool   // what our last heartbeat has said
	promised int64  // nanoseconds between the heartbeats that the peer promises, 0 if it promises none
	pulse    pulse
	records  pulse // of opened
	acks     pulse // of what the peer has acknowledged, when we have said goodbye
}

func (h *heart) init(c *Config) {
	h.metronome = newMetronome(c.Heartbeat, c.HeartbeatTimeout)
	h.shows = h.every > 0 && c.Heartbeat > 0
	h.beats = h.shows && c.Progress != Caller // under caller a rank that computes writes nothing to a connection
}

// promise is how many milliseconds lie between our heartbeats, for the handshake.
func (h *heart) promise() uint32 {
	if !h.beats {
		return 0
	}
	return uint32(max(time.Duration(h.every).Milliseconds(), 1))
}

// lookAfter begins to beat, if it is not done yet: there is a peer to look after.
//
// Preconditions:
//   - the caller holds the progress right, as for all that follows unless it says otherwise.
func (d *driver) lookAfter() {
	h := &d.heart
	if h.every == 0 || h.due.Load() != 0 {
		return
	}
	h.next = deadlineIn(time.Duration(h.every))
	h.due.Store(h.next)
	d.e.kick(true) // the worker may sleep for longer than that
}

// untilBeat shortens a wait to the next beat. Any goroutine may call it.
func (h *heart) untilBeat(most time.Duration) time.Duration {
	due := h.due.Load()
	if due == 0 || most >= 0 && most <= holdWait {
		return most
	}
	left := time.Duration(max(due-sys.Nanotime(), 0))
	if most < 0 || left < most {
		return left
	}
	return most
}

// isDue reports whether a beat is due. Any goroutine may call it.
func (h *heart) isDue(now int64) bool {
	due := h.due.Load()
	return due != 0 && now >= due
}

// maybeBeat beats if that is due.
func (e *Engine) maybeBeat(now int64) {
	if e.drv.heart.isDue(now) {
		e.drv.beat(now)
		e.drv.flushAll()
	}
}

// askBeat is maybeBeat by a worker that does not hold the right.
func (e *Engine) askBeat() {
	h := &e.drv.heart
	if h.due.Load() != 0 && h.isDue(sys.Nanotime()) && !h.asked.Swap(true) {
		e.command(command{kind: cmdBeat})
	}
}

// beat shows every peer that we live, and looks whether they do.
func (d *driver) beat(now int64) {
	h := &d.heart
	h.asked.Store(false)
	if !h.isDue(now) {
		return // another goroutine was faster
	}
	late, somebody := h.tick(now), false
	held := h.beats && h.isHeld()
	for i := range d.slots {
		if c := d.slots[i].c; c != nil && c.state == connOpen {
			somebody = true
			c.showLife(held)
			c.guard()
			c.lookForLife(now, late)
		}
	}
	if n := d.e.local; n != nil && n.beat(now, late) {
		somebody = true
	}
	h.due.Store(0)
	if somebody {
		h.due.Store(h.next)
	}
}

// isHeld reports whether a debugger may stop this process at any moment, or has.
func (h *heart) isHeld() bool {
	switch f := h.held.Load(); {
	case !h.shows:
		return false
	case f != nil:
		return (*f)()
	}
	return sys.Tracer() != 0
}

// showLife sends a heartbeat, unless the peer has heard of us since the last one. Whether we are
// held in a debugger, and so may be silent at any moment from now on, is said whatever it has
// heard. On a stream that is full nothing is added: it is full because the peer has not read, and
// as soon as it does it finds bytes, which are as good a sign.
func (c *conn) showLife(held bool) {
	b, d := &c.beat, c.d
	news := held != b.paused
	if d.heart.beats && !c.session.saidBye && (news || b.out == b.lastOut) {
		d.e.mu.Lock()
		said := d.e.core.Heartbeat(c.peer, held, news)
		d.e.unlock()
		if said {
			b.paused = held
			d.e.stats.beatsOut.Add(1)
		}
	}
	if c.fills() {
		c.fill()
	}
	b.lastOut = b.out
}

// guard has the system find out that the peer's host is dead, for when no goroutine here looks: the
// rank computes under the policy caller, or its worker does. A look by a goroutine comes first:
// fitrun can say more, and a peer that is suspected may be heard again.
func (c *conn) guard() {
	h := &c.d.heart
	if h.every == 0 {
		return
	}
	timeout := guardTimeouts * time.Duration(h.patience(c.beat.promised))
	if c.d.e.cfg.OnSuspect != nil {
		timeout += judging
	}
	c.sock.Guard(timeout)
}

const (
	// guardTimeouts is after how many times the patience that ranks have with a peer the system
	// ends the connection.
	guardTimeouts = 2
	// judging is how much later it does so where suspects are reported to a launcher: more than the
	// 20 s after which the launcher gives up a host of which it hears nothing, and names it.
	judging = 30 * time.Second
)

// resendWithin is after how long at most a host sends again what was not acknowledged (TCP_RTO_MAX
// of Linux).
const resendWithin = int64(2 * time.Minute)

// lookForLife looks whether the peer shows signs of life, and whether its host does.
//
// A rank that looks late has not read meanwhile. If the stream was full, our host may have dropped
// what it had no memory for. The peer's host sends that again after a pause, which has grown with
// that time, whatever is read now. So the peer may be silent for as long again.
func (c *conn) lookForLife(now, late int64) {
	b, h := &c.beat, &c.d.heart
	excused, patience := b.promised == 0 || c.rx.paused || c.session.saidBye || c.d.e.IsExcused(c.peer), h.patience(b.promised)
	f, quiet := b.pulse.look(now, b.in, late > 0, excused, patience)
	if f == seemsAlive {
		if why := c.stuck(now, late > 0, int64(quiet) < patience/4*3, patience); why != nil {
			c.broken(why)
			return
		}
	}
	b.pulse.allow(min(late, resendWithin))
	why := silentFor(quiet)
	if f == isSilent || int64(quiet) >= h.timeout/beatsPerTimeout { // the host of a peer that may be silent may not
		switch mute := c.sock.Unanswered(); { // as of when it was asked first
		case int64(quiet) >= h.timeout && int64(mute) >= h.timeout, f == isSilent && int64(mute) >= h.timeout/2: // what it should have acknowledged was said a little later
			f, why = isSilent, fmt.Sprintf("%sfor %v it has acknowledged nothing", Unreachable, mute.Round(time.Millisecond))
		case h.beats && int64(mute) < h.timeout/beatsPerTimeout: // it was sent a beat lately at the least
			why += Answers
		}
	}
	if f == isSilent {
		b.pulse.suspect(now)
	}
	c.d.declare(c.peer, f, why)
}

// Unreachable begins the reason why a peer is held to be dead if its host is the cause, and its
// process may well run.
const Unreachable = "its host is unreachable: "

// Answers ends the reason why a peer is held to be dead if its host answers for it.
const Answers = ", but its host acknowledges what it is sent"

func silentFor(quiet time.Duration) string {
	return fmt.Sprintf("nothing was heard of it for %v", quiet.Round(time.Millisecond))
}

// beat is the part of a beat that is about shared memory. It reports whether there is a peer to
// look after.
func (n *local) beat(now int64, late int64) (somebody bool) {
	for _, l := range n.inUse { // which declare may replace, and does not change
		if l.thread != nil || l.ended {
			continue
		}
		somebody = true
		word := l.block.Beat.Load()
		excused := word == 0 || word&1 != 0 || l.saidBye || n.e.IsExcused(l.peer)
		f, quiet := l.pulse.look(now, word, late > 0, excused, n.e.drv.heart.timeout)
		if f == isSilent {
			l.pulse.suspect(now)
		}
		n.e.drv.declare(l.peer, f, silentFor(quiet))
	}
	return somebody
}

// firstBeat is what the word is at first: even, and not 0, which is no promise.
const firstBeat = 2

// promise promises processes of this host signs of life, and begins to show them.
func (n *local) promise() error {
	h := &n.e.drv.heart
	if !h.shows || n.e.cfg.Segment == nil {
		return nil
	}
	if err := n.pacer.begin(time.Duration(h.every), n.showLife); err != nil {
		return fmt.Errorf("engine: showing that rank %d lives: %w", n.e.cfg.Rank, err)
	}
	n.block.Beat.Store(firstBeat)
	return nil
}

// showLife changes the word by which processes of this host see that we live. It stays odd as long
// as we are held in a debugger.
func (n *local) showLife() {
	word := n.block.Beat.Load()&^1 + 2
	if n.e.drv.heart.isHeld() {
		word |= 1
	}
	n.block.Beat.Store(word)
	n.e.stats.beatsOut.Add(1)
}

// declare acts on what was found of a peer. A launcher can find out more, and can make sure that
// the peer is dead. Where there is one it is asked, and its answer comes by FailPeer.
func (d *driver) declare(id PeerID, f finding, why string) {
	e := d.e
	switch f {
	case seemsAlive:
	case isBack:
		e.cfg.Logger.Info("a peer that was silent is heard again", "rank", e.cfg.Rank, "peer", id)
		if e.cfg.OnSuspect != nil {
			e.cfg.OnSuspect(id, "")
		}
	case isSilent:
		e.stats.suspicions.Add(1)
		e.cfg.Logger.Info("a peer is silent", "rank", e.cfg.Rank, "peer", id, "host", d.bridge[id].Host, "why", why)
		if e.cfg.OnSuspect == nil || !e.cfg.OnSuspect(id, why) {
			d.failPeer(id, &SilentError{d.bridge[id].Host, why})
		}
	}
}

// SilentError is the cause of a PeerError when the peer was held to be dead because nothing was
// heard of it.
type SilentError struct {
	Host string
	Why  string // what was found, a sentence without its end
}

func (e *SilentError) Error() string { return e.Host + ": " + e.Why }
