package engine

import (
	"github.com/fitmpi/fitmpi/engine/internal/core"
	"github.com/fitmpi/fitmpi/engine/internal/progress"
)

// Intent is what the caller of an operation does next.
type Intent uint8

// Intents.
const (
	Computes Intent = iota // it goes on, and waits later, if at all: a nonblocking call of MPI
	Waits                  // it waits for the operation, and makes the progress itself if it may
	Returns                // it returns to its user as soon as its memory is free: a blocking send
)

// manner is what the caller of a post does next, after what the post has done already.
type manner uint8

const (
	leaves  manner = iota // it computes: the worker must do what is to be done
	done                  // it computes, and what it posted is complete: nothing is to be done but to write
	returns               // it returns to a user that expects the message to have left
	waits                 // it waits for what it posted, and drives if it may
)

func (next Intent) manner() manner {
	if next == Computes {
		return leaves
	}
	return waits
}

// Post gives m to the engine. What can be complete at once is so when Post returns, and m is done:
// what a receive matches, a send that is refused, a standard send that may leave a copy behind. For
// all else the caller waits, at once unless it computes next: then the worker makes the progress.
//
// A standard send by a caller that returns may take the time of a copy of its payload, or the time
// in which its receiver takes it. Nothing else keeps Post.
//
// Preconditions:
//   - m is new or Reset, and its request fields are filled in.
func (e *Engine) Post(m *MSO, next Intent) {
	m.Stays = e.stays(next)
	e.mu.Lock()
	switch e.exitLocked(m, next) {
	case exitShort:
		e.sendShortLocked(m)
	case exitHeld:
		e.core.Hold(m)
	case exitDirect:
		e.postLocked(m)
		e.unlock()
		e.sendDirect(m)
		return
	case exitCopied:
		if !e.sendCopiedLocked(m) {
			e.postLocked(m)
		}
	case exitPosted:
		e.postLocked(m)
		if next == Computes && m.Kind == KindSend && int(m.Peer) == e.cfg.Rank {
			e.keepLocked(m)
		}
	}
	e.unlockPosted(next.manner(), m)
	if m.Kind != KindSend {
		return
	}
	if next == Returns && m.IsDone() {
		e.settle(m.Peer)
	}
	e.lookAround(m.Peer)
}

// stays reports whether a caller of that intent waits, on a core that it need not share.
func (e *Engine) stays(next Intent) bool { return next != Computes && e.cfg.Spin > 0 }

// keepLocked completes a standard send to this rank that no receive asks for yet, as one to another
// rank would be: a copy of it waits in the library send buffer, if there is room.
func (e *Engine) keepLocked(m *MSO) {
	if m.State() != Awaiting || m.Mode != Standard || m.Size() > e.eagerMax {
		return
	}
	block, ok := e.core.Reserve(m.Peer, m.Size())
	if !ok {
		return
	}
	if len(block) > copyMax {
		e.unlock()
		m.CopyTo(block)
		e.mu.Lock()
	} else {
		m.CopyTo(block)
	}
	if m.State() != Awaiting { // a receive has taken it meanwhile
		e.core.Unreserve(block)
		return
	}
	e.core.TakeOver(m, block)
}

func (e *Engine) postLocked(m *MSO) {
	if e.stopping.Load() {
		e.core.Refuse(m, ErrStopped)
		return
	}
	if j, ok := e.core.Post(m); ok {
		e.runJob(&j)
	}
}

// runJob does long work without the mutex, which it expects held and leaves held.
//
// Preconditions:
//   - the caller holds the progress right, if the job is foreign. One that a post returns is not.
func (e *Engine) runJob(j *core.Job) {
	e.unlock()
	if j.IsForeign() {
		e.drv.runForeign(j)
	} else {
		j.Run()
	}
	e.mu.Lock()
	e.core.Finish(j)
}

// unlockPosted releases the mutex after a post of m and sees to it that the goroutine that is to
// send what was posted knows. m is nil if it is not the caller's to wait for.
func (e *Engine) unlockPosted(next manner, m *MSO) {
	if next == leaves && m != nil {
		e.takeOffLocked(m)
		e.habit.PostLocked()
	} else if next == done && e.rests {
		e.habit.PostLocked()
	}
	out, jobs, nth := e.core.HasOutput() || len(e.cmds) > 0, e.core.HasJobs(), e.habit.PostsLocked() // a command: the first message to a peer takes a ring into use
	e.unlock()
	switch {
	case next == waits && m.IsDone():
		next = returns
	case next == leaves && m != nil && m.IsDone():
		next = done
	}
	switch e.cfg.Progress {
	case Worker:
		e.handOver(out || jobs, next)
	case Assist:
		e.postedAssist(out, jobs, next, nth)
	case Caller:
		if out || jobs {
			e.driveOnce()
		} else {
			e.kick(false)
		}
	}
}

// postedAssist: a caller that waits drives while it does; one that returns sends its message when
// no goroutine holds the right; for what another caller leaves there is the worker. nth is the
// number of the post among those that callers have left.
func (e *Engine) postedAssist(out, jobs bool, next manner, nth uint32) {
	switch {
	case e.rests && (next == leaves || next == done && (out || jobs)):
		e.leaveResting(out, jobs, nth)
	case next == leaves || next == done && (out || jobs):
		e.leave(out || jobs, nth)
	case !out && !jobs:
	case next == waits:
		e.right.Note(progress.State.Leave)
	case next == returns:
		if e.tryRight() {
			e.drv.flushAll()
			e.releaseOwn()
		} else {
			e.summon() // to write it as soon as the holder of the right is done
		}
	}
}

// Bsend sends from the attached buffer b: m is copied there and not posted. It
// reports false when b has no room, or was closed.
func (e *Engine) Bsend(b *Buffer, m *MSO) (bool, error) {
	e.mu.Lock()
	if err := e.refusalLocked(m.Peer, m.Ctx); err != nil {
		e.unlock()
		return false, err
	}
	block, ok := e.core.ReserveAttached(b, m.Size())
	if !ok {
		e.unlock()
		return false, nil
	}
	e.unlock()
	m.CopyTo(block.Mem)
	e.mu.Lock()
	if j, ok := e.core.PostAttached(m, block); ok {
		e.runJob(&j)
	}
	e.unlockPosted(returns, nil)
	return true, nil
}

// Protect runs f as a local step of a schedule is run: if it panics, that is an error.
func Protect(f func() error) error { return core.Protect(f) }

// StartSchedule starts a collective; the caller waits for its MSO, as after Post.
func (e *Engine) StartSchedule(s *Schedule, next Intent) {
	if e.stays(next) {
		s.Stay()
	}
	e.mu.Lock()
	if e.stopping.Load() {
		e.core.Refuse(&s.MSO, ErrStopped)
	} else {
		e.core.StartSchedule(s)
	}
	e.unlockPosted(next.manner(), &s.MSO)
	if next == Computes {
		e.sitBack()
	}
}

// Iprobe returns the envelope of the first queued message that fits; ok is false if there is none,
// or, once for each, if one that is lost comes before it. Lost says so.
func (e *Engine) Iprobe(ctx ContextID, peer PeerID, tag Tag) (env Envelope, ok bool) {
	e.progressForTest()
	e.mu.Lock()
	defer e.unlock()
	u := e.core.Iprobe(ctx, peer, tag)
	if u == nil {
		return Envelope{}, false
	}
	return envelope(u), true
}

// Improbe takes the first queued message that fits off the event queue.
func (e *Engine) Improbe(ctx ContextID, peer PeerID, tag Tag) (msg *MSO, env Envelope) {
	e.progressForTest()
	e.mu.Lock()
	defer e.unlock()
	u := e.core.Improbe(ctx, peer, tag)
	if u == nil {
		return nil, Envelope{}
	}
	return u, envelope(u)
}

// Envelope is what a probe learns of a message.
type Envelope struct {
	Source PeerID
	Tag    Tag
	Length int // bytes
	Elem   uint8
	Object bool
}

func envelope(u *MSO) Envelope {
	return Envelope{u.Peer, u.Tag, u.Length, u.Elem, u.Object}
}

// Cancel asks for m to be withdrawn (MPI 4.1, section 3.8.4).
func (e *Engine) Cancel(m *MSO) {
	e.mu.Lock()
	e.core.Cancel(m)
	e.unlockPosted(leaves, nil)
}

// Abandon ends m with err although its message may be under way. It returns at
// once; m is done soon after, and then its memory is the owner's again.
func (e *Engine) Abandon(m *MSO, err error) {
	e.command(command{kind: cmdAbandon, mso: m, err: err})
}

// FailPeer fails a peer that another process has reported dead.
func (e *Engine) FailPeer(id PeerID, cause error) {
	e.command(command{kind: cmdFailPeer, peer: id, err: cause})
}

// Complete ends an MSO of KindGeneral.
func (e *Engine) Complete(m *MSO, err error) {
	e.mu.Lock()
	e.core.Complete(m, err)
	e.unlock()
	e.kick(false) // a caller that drives may wait for m
}

// Buffer is memory that a user lends for Bsend; a rank may have several. One may be
// closed, and used no more, when no message lies in it.
type Buffer = core.Attached

// NewBuffer makes mem, which the engine has until the buffer is closed, a buffer for
// Bsend. With automatic set, mem is a name only, and room is taken from the heap.
func NewBuffer(mem []byte, automatic bool) *Buffer { return core.NewAttached(mem, automatic) }

// Flush posts m, which completes when every message that lies in b now has left it.
// Its owner waits for it as for any other.
func (e *Engine) Flush(b *Buffer, m *MSO) {
	m.Kind = KindGeneral
	e.mu.Lock()
	e.core.FlushAttached(b, m)
	e.unlock()
}

// CloseBuffer closes b if no message lies in it, so that its memory is the owner's
// again; else it reports false: Flush it first. It may be closed twice.
func (e *Engine) CloseBuffer(b *Buffer) bool {
	e.mu.Lock()
	defer e.unlock()
	return e.core.CloseAttached(b)
}
