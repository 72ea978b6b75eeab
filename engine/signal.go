package engine

import (
	"fmt"

	"github.com/fitmpi/fitmpi/engine/internal/core"
)

// MaxSignal is the longest payload of a signal, in bytes.
const MaxSignal = core.MaxSignal

// Errors of Signal.
var (
	ErrSignalTooLong = core.ErrSignalTooLong
	ErrSignalFlood   = core.ErrSignalFlood
)

// Signal sends a small message to the engine of a peer, which may be this one, whose owner gets it
// by Config.OnSignal, whatever that rank is doing (under the policy caller: inside its next call).
// ctx says what it is about; it need not be known there. Signals to one peer arrive in order, and
// so do signals and messages. It never blocks and keeps nothing of payload, which has MaxSignal
// bytes at most.
//
// It fails if the peer is gone, by what Config.OnPeerGone got or is about to get, and with
// ErrStopped once goodbye is said. That it does not fail means no more than that the peer was not
// known to be gone. A rank that has 1 MiB of signals to itself waiting gets ErrSignalFlood.
func (e *Engine) Signal(peer PeerID, ctx ContextID, payload []byte) error {
	e.mu.Lock()
	if n := len(e.drv.bridge); peer < 0 || int(peer) >= n {
		e.unlock()
		return fmt.Errorf("engine: signal to peer %d of %d", peer, n)
	}
	if e.stopping.Load() || e.drv.saying.Load() {
		e.unlock()
		return ErrStopped
	}
	if err := e.core.Signal(peer, ctx, payload); err != nil {
		e.unlock()
		return err
	}
	if int(peer) != e.cfg.Rank {
		e.unlockPosted(returns, nil)
		return nil
	}
	e.unlock()
	switch {
	case e.cfg.Progress == Caller:
		e.driveOnce()
	case e.tryRight():
		e.deliver()
		e.drv.flushAll()
		e.releaseRight()
	default:
		e.summon()
	}
	return nil
}

// deliver hands signals and ends of peers to the engine's owner. It reports whether there were any.
//
// Preconditions:
//   - the caller holds the progress right, and not the mutex.
func (e *Engine) deliver() bool {
	if !e.noticed.Load() {
		return false
	}
	e.noticed.Store(false) // before taking: what comes later says so again
	e.mu.Lock()
	n := e.core.TakeNotices()
	e.unlock()
	n.Each(e.cfg.OnSignal, e.cfg.OnPeerGone)
	e.mu.Lock()
	e.core.FreeNotices(n)
	e.unlock()
	return true
}
