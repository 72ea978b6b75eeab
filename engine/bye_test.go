//go:build linux && !fitmpi_portable

package engine

import (
	"errors"
	"runtime"
	"testing"
	"time"
)

// localWays runs f under each policy over the ways that are lanes.
func localWays(t *testing.T, f func(t *testing.T, p Policy)) {
	policies(t, func(t *testing.T, p Policy) {
		if wayUnderTest == TCP {
			t.Skip("a connection that is closed tells the peer")
		}
		f(t, p)
	})
}

// cutFrame leaves a frame from a to b written in part, because the ring is full and b does
// not read. Both rights are held by the test then.
func cutFrame(t *testing.T, a, b *Engine) (from, to *lane) {
	t.Helper()
	a.takeRight()
	b.takeRight()
	from, to = a.laneTo(PeerID(b.Rank())), b.laneTo(PeerID(a.Rank()))
	a.mu.Lock()
	a.core.SetLocal(from.peer, from, 8_000) // longer ones are offered else, and short ones lie in the ring as a whole
	a.mu.Unlock()
	for i := 0; !from.blocked; i++ {
		if i == 1000 {
			t.Fatal("the ring is never full")
		}
		a.mu.Lock()
		a.postLocked(&MSO{Kind: KindSend, Peer: from.peer, Tag: 1, Buf: make([]byte, 8_000)})
		a.unlock()
		a.drv.flushAll()
	}
	for moved := true; moved; {
		moved, _ = b.local.poll()
	}
	if !to.rx.in || a.core.Pending(from.peer) == 0 {
		t.Fatal("no frame is cut")
	}
	return from, to
}

// awaitRecord waits until the peer has put something. The test holds l's right.
func awaitRecord(t *testing.T, l *lane) {
	t.Helper()
	for until := time.Now().Add(failsafe); !l.r.Ready(); runtime.Gosched() {
		if time.Now().After(until) {
			t.Fatal("the peer says nothing")
		}
	}
}

// closes fails the test unless e's goodbyes are exchanged long before Close gives up, and no peer
// is taken for failed.
func closes(t *testing.T, e *Engine) {
	t.Helper()
	began := time.Now()
	if err := e.Close(2 * failsafe); err != nil {
		t.Error(err)
	}
	if d := time.Since(began); d > failsafe {
		t.Errorf("rank %d: Close took %v", e.Rank(), d)
	}
	if n := e.Stats().PeersFailed; n != 0 {
		t.Errorf("rank %d: %d peers failed", e.Rank(), n)
	}
}

// TestGoodbyeToHalfAFrame: a rank that closes hears from a peer that lives on and has a
// frame to it written in part: it will not be finished.
func TestGoodbyeToHalfAFrame(t *testing.T) {
	localWays(t, func(t *testing.T, p Policy) {
		es := job(t, 2, p, nil)
		exchangeAll(t, es)
		_, to := cutFrame(t, es[0], es[1])
		closed := make(chan struct{})
		es[1].releaseRight()
		go func() {
			defer close(closed)
			closes(t, es[1])
		}()
		awaitRecord(t, es[0].laneTo(1))
		es[0].turn()
		es[0].releaseRight()
		<-closed
		if !to.ended {
			t.Error("the lane is not ended")
		}
		if n := es[0].Stats().PeersFailed; n != 0 {
			t.Errorf("%d peers failed", n)
		}
	})
}

// TestGoodbyeIntoFullRing is TestGoodbyeToHalfAFrame with no room for a goodbye.
func TestGoodbyeIntoFullRing(t *testing.T) {
	localWays(t, func(t *testing.T, p Policy) {
		es := job(t, 2, p, nil)
		exchangeAll(t, es)
		from, _ := cutFrame(t, es[0], es[1])
		for range 120 { // more than the ring takes
			es[0].mu.Lock()
			es[0].postLocked(&MSO{Kind: KindSend, Peer: 1, Tag: 1, Buf: make([]byte, 8_000)})
			es[0].unlock()
		}
		es[1].drv.sayBye()
		es[0].local.unblock()
		if !from.blocked {
			t.Fatal("the ring is not full")
		}
		es[0].turn()
		es[1].releaseRight()
		es[0].releaseRight()
		closes(t, es[1])
	})
}

// TestGoodbyeBehindHalfAFrame: two ranks close, one with a frame to the other written in part, and
// its goodbye behind it. The other need not wait until it has ended, which here a third delays.
func TestGoodbyeBehindHalfAFrame(t *testing.T) {
	localWays(t, func(t *testing.T, p Policy) {
		es := job(t, 3, p, nil)
		exchangeAll(t, es)
		cutFrame(t, es[0], es[1])
		es[2].takeRight()
		es[0].drv.sayBye()
		es[1].drv.sayBye()
		es[0].turn()
		es[0].releaseRight()
		es[1].releaseRight()
		last := make(chan struct{})
		go func() {
			defer close(last)
			closes(t, es[0])
		}()
		l := es[1].laneTo(0)
		within(t, "hearing that the peer will say no more", func() {
			for !isEnded(es[1], l) {
				es[1].pause(nil, time.Now().Add(time.Second))
			}
		})
		es[2].releaseRight()
		both(t, es, func() { closes(t, es[1]) }, func() { closes(t, es[2]) })
		<-last
	})
}

func isEnded(e *Engine, l *lane) bool {
	e.takeRight()
	defer e.releaseRight()
	return l.ended
}

// TestDroppedPeerLearns: a rank that holds a peer to have failed uses its rings no more, and the
// peer, which may be well, learns that it is given up instead of waiting for room.
func TestDroppedPeerLearns(t *testing.T) {
	localWays(t, func(t *testing.T, p Policy) {
		es := job(t, 2, p, nil)
		exchangeAll(t, es)
		m := &MSO{Kind: KindRecv, Peer: 1, Tag: 8, Buf: make([]byte, 1)}
		es[0].Post(m, Computes)
		es[1].FailPeer(0, errors.New("a rumour"))
		waitDone(t, "given up by the peer", es[0], m)
		wantErr(t, "given up by the peer", m.Err, ErrPeerFailed)
		both(t, es, func() { es[0].Close(time.Minute) }, func() { es[1].Close(time.Minute) })
	})
}
