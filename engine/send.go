package engine

import (
	"runtime"
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/core"
	"github.com/fitmpi/fitmpi/internal/sys"
)

const (
	// copyStep is how much of a payload a direct send copies between two looks at
	// the sockets.
	copyStep = 32 << 10
	// firstPatience is how long a direct send whose payload is on its way waits for the socket to
	// take more before it begins to copy. patience is the same between two steps, so that a slow
	// network does not keep the caller for long.
	firstPatience = 100 * time.Microsecond
	patience      = 20 * time.Microsecond
	// answerPatience bounds how long it waits for the receiver's answer before it
	// begins to copy; less for a payload that is copied in less time.
	answerPatience = 30 * time.Microsecond
	// localPatience is the least of that where the receiver shares memory.
	localPatience = time.Microsecond
	// settleTries is how often a send beside a caller that drives yields before it sleeps for
	// settlePause at a time.
	settleTries = 100
	settlePause = 100 * time.Microsecond
)

// Send sends m in standard mode if its message is complete at once: it is short, and there is
// credit and room for a copy of it. It reports false if it is not, or if there is an error. Then
// nothing has happened, and Post is the way. It does not block.
func (e *Engine) Send(m *Message, next Intent) bool {
	if len(m.Buf) > e.shortMax {
		return false
	}
	e.mu.Lock()
	switch {
	case e.stopping.Load() || !e.core.TryShort(m):
		e.mu.Unlock()
		return false
	case e.isIdleLocked(): // it is in the ring
		e.unlockIdle()
	case next == Returns:
		e.unlockPosted(returns, nil)
		e.settle(m.Peer)
	default:
		e.unlockPosted(done, nil)
	}
	e.lookAround(m.Peer)
	return true
}

// lookAround makes a poll of a send to this rank, which waits for no other rank: a program may spin
// in such, too.
func (e *Engine) lookAround(to PeerID) {
	if int(to) == e.cfg.Rank {
		e.Poll()
	}
}

// exit is how a standard send leaves its caller's memory.
type exit uint8

const (
	exitPosted exit = iota // it stays there, and the caller waits
	exitShort              // it is copied behind its header
	exitHeld               // as exitPosted, until the first connection stands; see core.Hold
	exitDirect             // the caller drives, with the progress right, until it has left or is copied
	exitCopied             // it is copied to the library send buffer, if there is room
)

// exitLocked decides how m leaves. A caller that computes or waits lends its memory, but a payload
// that is not one piece of it is packed at once if it may follow without permission. One that
// returns leaves a copy where the receiver is late, so that it costs that copy (FiTMPI: osb).
// exitDirect comes with the progress right.
func (e *Engine) exitLocked(m *MSO, next Intent) exit {
	if m.Kind != KindSend || m.Mode != Standard || e.refusalLocked(m.Peer, m.Ctx) != nil {
		return exitPosted
	}
	n, laid, self := m.Size(), m.Layout != nil, int(m.Peer) == e.cfg.Rank
	if next != Returns {
		if laid && (self && n <= e.cfg.CopyMax || n > e.shortMax && n <= e.eagerMax) {
			return exitCopied
		}
		return exitPosted
	}
	switch plan := e.core.Plan(m.Peer, n); {
	case plan == core.PlanShort && laid: // the core packs it behind its header
		return exitPosted
	case plan == core.PlanShort:
		return exitShort
	case plan == core.PlanHeld && !laid && e.cfg.Progress != Caller:
		return exitHeld
	case n > e.cfg.CopyMax:
		return exitPosted
	case !laid && e.isDirect(m) && e.tryRight():
		return exitDirect
	}
	return exitCopied
}

// sendShortLocked sends the message of m, which is complete.
func (e *Engine) sendShortLocked(m *MSO) {
	e.core.SendShort(&Message{Peer: m.Peer, Tag: m.Tag, Ctx: m.Ctx, Elem: m.Elem, Object: m.Object, Buf: m.Buf})
	e.core.Sent(m)
}

// sendCopiedLocked sends a copy of the payload of m, which is complete then. It reports false if
// the library send buffer has no room for it. The mutex is released while the payload is copied.
func (e *Engine) sendCopiedLocked(m *MSO) bool {
	block, ok := e.core.Reserve(m.Peer, m.Size())
	if !ok {
		return false
	}
	e.unlock()
	m.CopyTo(block)
	e.mu.Lock()
	if j, ok := e.core.PostCopied(m, block); ok {
		e.runJob(&j)
	}
	e.core.Sent(m)
	return true
}

// refusalLocked returns why nothing can be sent to a peer, nil if it can.
func (e *Engine) refusalLocked(id PeerID, ctx ContextID) error {
	if e.stopping.Load() {
		return ErrStopped
	}
	if gone := e.core.PeerGone(id); gone != nil {
		return gone
	}
	return e.core.IsShut(ctx)
}

// settle keeps a blocking send of the caller policy inside the call until its bytes are with the
// kernel: no other goroutine would bring them there.
func (e *Engine) settle(id PeerID) {
	if e.cfg.Progress != Caller {
		return
	}
	settled := func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.core.Pending(id) == 0 || e.core.PeerGone(id) != nil
	}
	for i := 0; !settled() && !e.stopping.Load(); i++ {
		switch {
		case e.tryRight():
			e.driveUntil(settled)
			e.releaseRight()
		case i < settleTries: // another caller drives, which is asked to write what we posted
			runtime.Gosched()
		default:
			time.Sleep(settlePause)
		}
	}
}

// isDirect reports whether a caller may try to send m from its own memory. Without a core for
// polling it does so only when the answer of the receiver is not needed. Where the stream is kept
// until it is acknowledged the memory would be lent for a round trip, and the copy of a short one
// costs less. It is called with the mutex held.
func (e *Engine) isDirect(m *MSO) bool {
	n := len(m.Buf)
	return e.cfg.Progress == Assist && n > 0 && int(m.Peer) != e.cfg.Rank && (e.cfg.Spin > 0 || n <= e.eagerMax) &&
		!(n <= e.eagerMax && e.core.Keeps(m.Peer))
}

// sendDirect drives until m, which is posted, is with the kernel. Whenever there is nothing to
// send, because the receiver is late or the network slow, it copies a step of the payload to the
// library buffer instead. When all of it lies there the message goes on from there and the caller
// may go. So a late receiver costs the copy, and one that is there costs none: what is copied while
// its answer is on the way is copied in time that is lost anyway.
//
// Preconditions:
//   - the caller holds the progress right; it is given back.
func (e *Engine) sendDirect(m *MSO) {
	one := [1]*MSO{m}
	t := waitTimer{e: e, kind: WaitSend}
	t.begin(&goal{need: 1, ms: one[:]})
	e.callers.Add(1)
	e.drv.flushAll()
	var block []byte
	copied := 0
	l := newLull(e, m)
	for i := 1; !m.IsDone(); i++ {
		if !l.over(e.isMoving(m)) {
			e.step(i)
			continue
		}
		if block == nil {
			if block = e.reserve(m); block == nil {
				break // no room: the caller waits
			}
		}
		copied += copy(block[copied:min(copied+copyStep, len(block))], m.Buf[copied:])
		if copied == len(block) && e.takeOver(m, block) {
			block = nil
		}
		e.step(i)
	}
	e.unreserve(block)
	e.releaseOwn()
	t.stop(m)
}

// lull tells when a direct send has time for a step of copying.
type lull struct {
	e     *Engine
	m     *MSO
	bytes uint64 // that had left when it was looked at last
	until int64
}

func newLull(e *Engine, m *MSO) lull {
	first := min(int64(len(m.Buf)>>7), int64(answerPatience))
	if e.local != nil {
		first = max(first, int64(localPatience))
	}
	return lull{e: e, m: m, until: sys.Nanotime() + first}
}

// over reports whether nothing has left for long enough; under way says that the
// payload may leave.
func (l *lull) over(underWay bool) bool {
	now := sys.Nanotime()
	if b := l.e.drv.sent; underWay && b != l.bytes {
		l.bytes, l.until = b, now+int64(firstPatience)
	}
	if l.e.local != nil && l.e.local.isFetching(l.m) {
		l.until = now + int64(firstPatience)
		return false
	}
	if l.e.cfg.Spin > 0 && now < l.until {
		return false
	}
	if underWay {
		l.until = now + int64(patience)
	}
	return true
}

func (e *Engine) isMoving(m *MSO) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return m.State() == moving
}

func (e *Engine) reserve(m *MSO) []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	block, _ := e.core.Reserve(m.Peer, len(m.Buf))
	return block
}

func (e *Engine) unreserve(block []byte) {
	if block == nil {
		return
	}
	e.mu.Lock()
	e.core.Unreserve(block)
	e.unlock()
}

// takeOver lets m's caller go, unless m was done in the meantime; it reports false
// while the peer is fetching the payload.
func (e *Engine) takeOver(m *MSO, block []byte) (ok bool) {
	e.mu.Lock()
	if ok = true; m.IsDone() {
		e.core.Unreserve(block)
	} else {
		ok = e.core.TakeOver(m, block)
	}
	e.unlock()
	return ok
}
