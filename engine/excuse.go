package engine

import (
	"context"
	"time"
)

// Excuse says whether a peer may end without a goodbye: one that rests, and may take part again, says none. What breaks of
// an excused peer has left, and nobody asks for signs of its life. Safe for concurrent use.
func (e *Engine) Excuse(id PeerID, yes bool) { e.excused[id].Store(yes) }

// IsExcused reports what Excuse was told last.
func (e *Engine) IsExcused(id PeerID) bool { return e.excused[id].Load() }

const (
	// drainTick bounds how long Drain takes to see that its context has ended.
	drainTick = 2 * time.Millisecond
	// withdrawTimeout bounds how long Drain waits for the answers of receivers whose messages are withdrawn.
	withdrawTimeout = 5 * time.Second
)

// Drain waits until the messages that have outlived their calls have left this rank: those in the library buffer and in the
// attached buffers. Those that their senders have given up are withdrawn if nobody has received them; for the answer of a receiver that
// makes no progress it waits for some seconds only. It makes progress if nobody else does. It fails with the cause of ctx when that ends
// first, and with ErrStopped when the engine stops.
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

// isDrained reports whether nothing is left, or with late nothing but what is withdrawn.
func (e *Engine) isDrained(late bool) bool {
	e.mu.Lock()
	defer e.unlock()
	return e.core.Detached() == 0 || late && e.core.IsOnlyGivenUp()
}

// Partners are the peers that are not gone with which this rank has exchanged anything, without itself.
func (e *Engine) Partners() []PeerID {
	var ids []PeerID
	for p := range e.peers {
		if int(p.Peer) != e.cfg.Rank && p.FramesIn+p.FramesOut > 0 && !p.Gone {
			ids = append(ids, p.Peer)
		}
	}
	return ids
}
