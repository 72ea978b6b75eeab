//go:build linux && !fitmpi_portable

package engine

import (
	"testing"
	"time"
)

// Under caller the ranks have no worker: what a call leaves must find another call that drives.

// callers runs f over each way.
func callers(t *testing.T, f func(t *testing.T)) {
	policies(t, func(t *testing.T, p Policy) {
		if p != Caller {
			t.Skip("there is a worker")
		}
		f(t)
	})
}

// TestPostBesideDriver: what is posted while another caller drives is written before that one stops
// driving, though neither calls anything more.
func TestPostBesideDriver(t *testing.T) {
	callers(t, func(t *testing.T) {
		es := job(t, 2, Caller, nil)
		exchangeAll(t, es)
		e := es[0]
		e.takeRight() // as a caller that waits
		posted := make(chan struct{})
		go func() {
			defer close(posted)
			e.Post(&MSO{Kind: KindSend, Peer: 1, Tag: 5, Buf: pattern(8, 1)}, Computes)
		}()
		<-posted
		e.releaseRight()
		within(t, "a receive of what was posted beside a driver", func() { recv(es[1], 0, 0, 5) })
	})
}

// TestSendBesideDriver: a blocking send returns when its message has left, whichever caller drives.
func TestSendBesideDriver(t *testing.T) {
	callers(t, func(t *testing.T) {
		es := job(t, 2, Caller, nil)
		exchangeAll(t, es)
		e := es[0]
		e.takeRight()
		sent := make(chan error)
		go func() { sent <- send(e, pattern(8, 1), 1, 5) }()
		if wayUnderTest == TCP {
			for !isPending(e, 1) {
				time.Sleep(100 * time.Microsecond)
			}
			select {
			case <-sent:
				t.Error("the send has returned, and its message has not left")
			default:
			}
		}
		e.releaseRight()
		within(t, "a send beside a driver, and its receive", func() {
			recv(es[1], 0, 0, 5)
			if err := <-sent; err != nil {
				t.Error(err)
			}
		})
	})
}

func isPending(e *Engine, id PeerID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.core.Pending(id) > 0
}

// TestNobodyVisitsCallers: a thread that has put something for a rank without a worker does not
// take the rank's right. If a visitor held it, a caller that did not get it would sleep, and no
// caller would drive: the visitor goes, and does not know of a caller that could drive.
func TestNobodyVisitsCallers(t *testing.T) {
	defer func() { wayUnderTest = TCP }()
	wayUnderTest = Thread
	es := job(t, 2, Caller, nil)
	exchangeAll(t, es)
	visits := es[0].Stats().Visits
	if es[0].visit(new(delegated)) || es[0].Stats().Visits != visits {
		t.Error("a rank without a worker was visited")
	}
}

// TestFollowerLeads: a caller that sleeps behind a caller that drives is woken to drive when the
// driver is done, also when it has begun to sleep in the moment between.
func TestFollowerLeads(t *testing.T) {
	callers(t, func(t *testing.T) {
		es := job(t, 2, Caller, nil)
		exchangeAll(t, es)
		e := es[0]
		for range 200 {
			e.takeRight()
			m := &MSO{Kind: KindRecv, Peer: 1, Tag: 5, Buf: make([]byte, 8)}
			done := make(chan struct{})
			go func() {
				defer close(done)
				e.Post(m, Computes)
				e.Wait(m)
			}()
			e.releaseRight()
			within(t, "a send to a rank that waits", func() {
				if err := send(es[1], pattern(8, 1), 0, 5); err != nil {
					t.Error(err)
				}
				<-done
			})
		}
	})
}
