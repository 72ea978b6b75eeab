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

// Send is a standard-mode send that may return before the message is received.
// A message that the receiver waits for goes from m's memory to the socket while
// the caller drives (assist). Otherwise, with room in the library send buffer, the
// payload is copied there: when the receiver is late, Send costs the copy (FiTMPI:
// osb). When posted is true the caller must wait for m; else the call is complete
// and m was not used.
func (e *Engine) Send(m *MSO) (posted bool, err error) {
	if m.Layout != nil {
		return e.SendLayout(m, true)
	}
	n := len(m.Buf)
	e.mu.Lock()
	if err := e.refusalLocked(m.Peer, m.Ctx); err != nil {
		e.unlock()
		return false, err
	}
	plan := e.core.Plan(m.Peer, n)
	switch {
	case plan == core.PlanShort:
		e.core.SendShort(&ShortMessage{Peer: m.Peer, Tag: m.Tag, Ctx: m.Ctx, Elem: m.Elem, Object: m.Object, Buf: m.Buf})
		e.unlockPosted(returns, nil)
		e.settle(m.Peer)
		return false, nil
	case e.cfg.Progress != Caller && plan == core.PlanHeld:
		e.core.Hold(m)
		e.unlockPosted(waits, m)
		return true, nil
	case n > e.cfg.CopyMax:
		e.postLocked(m)
		e.unlockPosted(returns, m)
		e.settle(m.Peer)
		return true, nil
	case e.isDirect(m) && e.tryRight():
		e.postLocked(m)
		e.unlock()
		e.sendDirect(m)
		return true, nil
	}
	block, ok := e.core.Reserve(m.Peer, n)
	if !ok {
		e.postLocked(m)
		e.unlockPosted(waits, m)
		return true, nil
	}
	e.unlock()
	copy(block, m.Buf)
	e.mu.Lock()
	if j, ok := e.core.PostCopied(m, block); ok {
		e.runJob(&j)
	}
	e.unlockPosted(returns, nil)
	return false, nil
}

// SendNow sends a standard-mode message that is copied and complete at once, because it is short
// and there is credit and room for it. It reports false if it is not, or there is an error: then
// nothing has happened, and Send or Post is the way. blocking says that the caller returns to a
// user that expects the message to have left; otherwise it computes.
func (e *Engine) SendNow(m *ShortMessage, blocking bool) bool {
	e.mu.Lock()
	switch {
	case e.stopping.Load() || !e.core.TryShort(m):
		e.mu.Unlock()
		return false
	case e.cfg.Progress == Assist && e.core.IsIdle() && len(e.cmds) == 0: // it is in the ring
		e.unlockIdle()
	case blocking:
		e.unlockPosted(returns, nil)
		e.settle(m.Peer)
	default:
		e.unlockPosted(done, nil)
	}
	return true
}

// SendLocal is SendNow by a caller that blocks, of a message to a rank that shares memory; to
// others it sends nothing.
func (e *Engine) SendLocal(m *ShortMessage) bool {
	return e.laneTo(m.Peer) != nil && e.SendNow(m, true)
}

// SendLayout is Send of a message whose payload is m.Layout: it is packed into the library send
// buffer, if there is room, and the call is complete. Where the call is not blocking, only a
// payload that may follow without permission is packed so. A longer one is packed chunk by chunk
// while it leaves, and so is one that finds no room. blocking is as in SendNow.
func (e *Engine) SendLayout(m *MSO, blocking bool) (posted bool, err error) {
	next := leaves
	if blocking {
		next = waits
	}
	n, most := m.Layout.Len(), e.eagerMax
	self := int(m.Peer) == e.cfg.Rank
	if self || blocking {
		most = e.cfg.CopyMax // its receiver may come later
	}
	e.mu.Lock()
	if err := e.refusalLocked(m.Peer, m.Ctx); err != nil {
		e.unlock()
		return false, err
	}
	block, ok := []byte(nil), false
	if (self || n > e.core.Config().ShortMax) && n <= most {
		block, ok = e.core.Reserve(m.Peer, n)
	}
	if !ok {
		e.postLocked(m)
		e.unlockPosted(next, m)
		return true, nil
	}
	e.unlock()
	m.Layout.Pack(block, 0)
	e.mu.Lock()
	if j, ok := e.core.PostCopied(m, block); ok {
		e.runJob(&j)
	}
	if blocking {
		next = returns
	}
	e.unlockPosted(next, nil)
	if blocking {
		e.settle(m.Peer)
	}
	return false, nil
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
