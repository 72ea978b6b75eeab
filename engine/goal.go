package engine

import "github.com/fitmpi/fitmpi/engine/internal/core"

// goal is what a caller waits for: need of ms done.
type goal struct {
	need    int
	ms      []*MSO // without those at the end that were seen done
	last    *MSO   // the one of them that was looked at last and was not done; nil at first
	bounded bool   // something other than a message may end the operations
}

// blamed is the operation that was done last, as far as that is known, if all were needed; else
// nil.
func (g *goal) blamed() *MSO {
	if g.need != len(g.ms) {
		return nil
	}
	return g.last
}

// met reports whether the goal is reached. Of many operations that are all needed
// it looks at the last that is not done, which mostly is done last.
func (g *goal) met() bool {
	for n := len(g.ms); g.need > 0 && n > 0; n = len(g.ms) {
		if m := g.ms[n-1]; m != nil && !m.IsOver() {
			g.last = m
			break
		}
		g.ms = g.ms[:n-1]
		g.need--
	}
	return g.need <= 0 || g.need < len(g.ms) && countDone(g.ms) >= g.need
}

func countDone(ms []*MSO) int {
	n := 0
	for _, m := range ms {
		if m == nil || m.IsOver() {
			n++
		}
	}
	return n
}

func (e *Engine) getWaiterLocked() *core.Waiter {
	if n := len(e.waiters); n > 0 {
		w := e.waiters[n-1]
		e.waiters = e.waiters[:n-1]
		return w
	}
	return &core.Waiter{C: make(chan struct{}, 1)}
}

func (e *Engine) putWaiter(w *core.Waiter) {
	e.mu.Lock()
	e.waiters = append(e.waiters, w)
	e.mu.Unlock()
}
