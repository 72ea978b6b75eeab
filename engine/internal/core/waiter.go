package core

// Waiter is one sleeping caller: it is woken when need of its MSOs are done.
type Waiter struct {
	C chan struct{} // capacity 1: receives once per firing

	// Guarded by the engine's mutex.
	need  int
	fired bool
	last  *MSO // that made it fire, until the owner takes it
	next  *Waiter
}

// Wake wakes the waiter; called without the mutex.
func (w *Waiter) Wake() { w.C <- struct{}{} }

// Attach makes w fire when need of the MSOs that are not done yet complete. It
// reports false, attaching nothing, when enough are done already.
//
// Preconditions:
//   - w is attached to nothing.
func (c *Core) Attach(w *Waiter, need int, ms ...*MSO) bool {
	open := 0
	for _, m := range ms {
		if m != nil && !m.IsOver() {
			open++
		}
	}
	if need -= len(ms) - open; need <= 0 {
		return false
	}
	w.need, w.fired = need, false
	for _, m := range ms {
		if m != nil && !m.IsOver() {
			m.waiter = w
		}
	}
	return true
}

// Detach undoes Attach and reports whether w fired meanwhile: then its channel
// holds, or is about to hold, a value that the owner must take.
func (c *Core) Detach(w *Waiter, ms ...*MSO) bool {
	for _, m := range ms {
		if m != nil && m.waiter == w {
			m.waiter = nil
		}
	}
	return w.fired
}

// TakeLast returns the MSO that made w fire, the last of those it waited for; nil if it did not.
//
// Preconditions:
//   - w is attached to nothing.
func (w *Waiter) TakeLast() *MSO {
	m := w.last
	w.last = nil
	return m
}

// TakeWoken returns the waiters that fired, in a list; Woken walks it.
func (c *Core) TakeWoken() *Waiter {
	w := c.woken
	c.woken = nil
	return w
}

// WakeAll wakes the list that TakeWoken returned; called without the mutex.
func WakeAll(w *Waiter) {
	for w != nil {
		next := w.next
		w.next = nil
		w.Wake()
		w = next
	}
}
