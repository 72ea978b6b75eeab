package engine

import (
	"context"
	"time"
)

// Excuse says whether a peer may end without a goodbye: an idle rank, which may take part again,
// says none. If a connection to an excused peer breaks, the peer has left, and no sign of its life
// is asked for. Safe for concurrent use.
// Peers of other jobs are never excused.
func (e *Engine) Excuse(id PeerID, yes bool) { e.excused[id].Store(yes) }

// IsExcused reports what the last Excuse said.
func (e *Engine) IsExcused(id PeerID) bool {
	return int(id) < len(e.excused) && e.excused[id].Load()
}

const (
	// drainTick bounds how long Drain takes to see that its context has ended.
	drainTick = 2 * time.Millisecond
	// withdrawTimeout bounds how long Drain and CallBack wait for the answers of receivers whose
	// messages are withdrawn.
	withdrawTimeout = 5 * time.Second
)

// CallBack asks the receivers of messages that their senders have given up to forget them. It waits
// for their answers as long as ctx allows, and for a receiver that makes no progress some seconds.
// It is for a rank whose peers are about to end, as they would answer nothing then. It makes
// progress if nothing else does.
func (e *Engine) CallBack(ctx context.Context) {
	e.withdrawGivenUp()
	for patience := time.Now().Add(withdrawTimeout); !e.stopping.Load() && ctx.Err() == nil; {
		e.mu.Lock()
		open := e.core.GivenUp(e.answers)
		e.unlock()
		if open == 0 || time.Now().After(patience) {
			return
		}
		e.awaitDetached(time.Now().Add(drainTick))
	}
}

// answers reports whether a peer will answer that a message is withdrawn: an idle rank may have
// ended.
func (e *Engine) answers(id PeerID) bool { return !e.IsExcused(id) }

// Drain waits until the messages that have outlived their calls have left this rank: those in the
// library buffer and in the attached buffers. Those that their senders have given up are withdrawn
// if nothing has received them; for the answer of a receiver that makes no progress it waits for
// some seconds only, and for that of an excused one not at all. It makes progress if nothing else
// does. It fails with the cause of ctx when that ends first, and with ErrStopped when the engine
// stops.
func (e *Engine) Drain(ctx context.Context) error {
	e.withdrawGivenUp()
	for patience := time.Now().Add(withdrawTimeout); ; {
		switch {
		case e.stopping.Load():
			return ErrStopped
		case e.isDrained(time.Now().After(patience)):
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		e.awaitDetached(time.Now().Add(drainTick))
	}
}

// isDrained reports whether nothing is left but what is withdrawn from receivers that do not
// answer, or with late from any.
func (e *Engine) isDrained(late bool) bool {
	e.mu.Lock()
	defer e.unlock()
	left := e.core.Detached()
	return left == 0 || left == e.core.GivenUp(func(id PeerID) bool { return late || !e.answers(id) })
}

// Partners are the peers that are not gone with which this rank has exchanged anything, without
// itself.
func (e *Engine) Partners() []PeerID {
	var ids []PeerID
	for p := range e.peers {
		if int(p.Peer) != e.cfg.Rank && p.FramesIn+p.FramesOut > 0 && !p.Gone {
			ids = append(ids, p.Peer)
		}
	}
	return ids
}
