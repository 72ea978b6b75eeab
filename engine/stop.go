package engine

import (
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/core"
	"github.com/fitmpi/fitmpi/engine/internal/progress"
)

// Close lets the sends that have outlived their calls finish, announces the end to every connected
// peer and waits for theirs. It does all that within timeout. While a connection that broke may
// still be made again, or was and the peer has not acknowledged all since, it takes up to
// Config.Reconnect longer. Then it stops the worker and closes every descriptor. Operations still
// pending complete with ErrStopped. Later calls do nothing.
func (e *Engine) Close(timeout time.Duration) error {
	if e.stopping.Load() {
		return nil
	}
	deadline := time.Now().Add(timeout)
	e.withdrawGivenUp()
	e.awaitDetached(deadline)
	e.command(command{kind: cmdBye})
	e.awaitByes(deadline)
	e.mu.Lock()
	e.leftover, _ = e.core.Unreceived(mostLeftover)
	e.unlock()
	return e.Kill()
}

// mostLeftover bounds what Unreceived lists.
const mostLeftover = 64

// Unreceived returns the messages that nothing has received, the first that have arrived. After
// Close these are those of the moment when it had heard the goodbyes of all peers, so that no other
// could come.
func (e *Engine) Unreceived() []Unreceived {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stopping.Load() {
		return e.leftover
	}
	us, _ := e.core.Unreceived(mostLeftover)
	return us
}

// withdrawGivenUp asks for the return of messages that need not arrive.
func (e *Engine) withdrawGivenUp() {
	e.mu.Lock()
	e.core.WithdrawGivenUp()
	e.unlockPosted(leaves, nil)
}

// awaitDetached waits for the messages in the library buffer and the attached
// buffer: a goodbye is the last frame, and a peer may yet receive them.
func (e *Engine) awaitDetached(deadline time.Time) {
	for time.Now().Before(deadline) && !e.stopping.Load() {
		e.mu.Lock()
		if e.core.Detached() == 0 {
			e.unlock()
			return
		}
		w := e.getWaiterLocked()
		e.core.WaitRoom(w)
		e.unlock()
		e.leaveRoom(w, e.pause(w.C, deadline))
	}
}

// awaitByes waits until goodbye is said and every connection is closed from both sides. A peer that
// shares memory with us may have put its goodbye and gone before the launcher has given it our
// bell, so the goroutine that makes progress here looks now and then. If the connection to a peer
// is broken, or another one stands that has not shown yet that it is worth something, what the peer
// has not received yet would be lost with us.
func (e *Engine) awaitByes(deadline time.Time) {
	last := deadline.Add(e.cfg.Reconnect)
	for !e.drv.isQuiet() && !e.stopping.Load() {
		until := deadline
		if e.drv.broken.Load() > 0 || e.isUnsure() {
			until = last
		}
		if !time.Now().Before(until) {
			return
		}
		e.pause(e.drv.quiet, until)
		if e.local != nil && e.local.open.Load() > 0 {
			e.rouse()
		}
	}
}

func (e *Engine) isUnsure() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.core.Unsure()
}

// pause waits for a value of c, a short time, or the deadline, making progress if no other
// goroutine does. It reports whether it took the value.
func (e *Engine) pause(c chan struct{}, deadline time.Time) bool {
	const tick = 2 * time.Millisecond
	if e.cfg.Progress == Caller && e.tryRight() {
		if !e.turn() {
			e.sleep(progress.Idle, e.drv.bounded(tick))
		}
		e.releaseRight()
		return false
	}
	t := time.NewTimer(min(tick, time.Until(deadline)))
	defer t.Stop()
	select {
	case <-c:
		return true
	case <-t.C:
		return false
	}
}

// leaveRoom ends WaitRoom; taken says that the value of w.C was received.
func (e *Engine) leaveRoom(w *core.Waiter, taken bool) {
	e.mu.Lock()
	fired := e.core.LeaveRoom(w)
	e.unlock()
	if fired && !taken {
		<-w.C
	}
	e.putWaiter(w)
}

// Kill stops the engine at once: the worker ends, descriptors are closed, pending operations
// complete with ErrStopped. Peers see it as a failure unless Close has said goodbye. The progress
// right is never given back, so that no goroutine drives what is closed.
func (e *Engine) Kill() error {
	if !e.stopping.CompareAndSwap(false, true) {
		return nil
	}
	e.rouse()
	e.worker.Wait()
	e.takeRight()
	e.runCommands()
	e.drv.abandonPeers()
	e.mu.Lock()
	e.core.Stop()
	e.unlock()
	err := e.drv.close()
	e.securing.Wait()
	return err
}
