//go:build linux && !fitmpi_portable

package engine

import (
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/core"
)

// TestBlame: a wait is noted with the peer whose message ended it; one that any of several may end
// is not.
func TestBlame(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		for name, test := range map[string]struct {
			need int
			ms   []*MSO
			act  func(es []*Engine) // once the caller waits
			want [3]PeerWait        // 1 where something is
		}{
			"receive": {1, receives(1), sends(1), [3]PeerWait{1: {0, 1}}},
			"send": {1, []*MSO{{Kind: KindSend, Mode: Synchronous, Peer: 2, Tag: 1, Buf: make([]byte, 8)}},
				func(es []*Engine) { recv(es[2], 8, 0, 1) }, [3]PeerWait{2: {1, 0}}},
			"any of two": {1, receives(1, 2), sends(2), [3]PeerWait{}},
			"any source": {1, receives(AnyPeer), sends(1), [3]PeerWait{}},
		} {
			t.Run(name, func(t *testing.T) {
				es := job(t, 3, p, nil)
				donec := make(chan struct{})
				go func() {
					defer close(donec)
					for _, m := range test.ms {
						es[0].Post(m, Computes)
					}
					es[0].WaitMany(test.need, test.ms)
				}()
				eventually(t, "the caller does not wait", func() bool { return callersOf(es[0]) > 0 })
				test.act(es)
				<-donec
				var got [3]PeerWait
				for i, s := range es[0].Peers() {
					got[i] = s.Waited
				}
				all := time.Duration(0)
				for _, w := range es[0].Stats().Waits {
					all += w.Time
				}
				for i, w := range got {
					if want := test.want[i]; w.Sending != want.Sending*all || w.Receiving != want.Receiving*all {
						t.Errorf("of %v it waited %v for rank %d", all, w, i)
					}
				}
			})
		}
	})
}

// TestBlameOfSeveral: of several that are all needed the one is blamed that was seen not to be done
// last, whichever was posted first.
func TestBlameOfSeveral(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {1, 0, 2}} {
		e, ms := job(t, 1, Assist, nil)[0], make([]*MSO, 3)
		for i := range ms {
			ms[i] = &MSO{Kind: KindRecv, Peer: 0, Tag: Tag(i), Buf: make([]byte, 8)}
			e.Post(ms[i], Computes)
		}
		g := goal{need: len(ms), ms: ms}
		for _, i := range order {
			if g.met() {
				t.Fatalf("%v: met before %d is done", order, i)
			}
			send(e, make([]byte, 8), 0, Tag(i))
		}
		if last := ms[order[2]]; !g.met() || g.blamed() != last {
			t.Errorf("%v: blamed %+v", order, g.blamed())
		}
	}
}

// TestSleeperBlames: a caller that sleeps learns which of its operations woke it, not which it
// looked at last.
func TestSleeperBlames(t *testing.T) {
	e, ms := job(t, 1, Assist, nil)[0], receives(0, 0)
	for _, m := range ms {
		e.Post(m, Computes)
	}
	g := goal{need: 2, ms: []*MSO{ms[1], ms[0]}}
	if g.met() || g.blamed() != ms[0] {
		t.Fatalf("blamed %+v", g.blamed())
	}
	e.mu.Lock()
	e.waiters = []*core.Waiter{{C: make(chan struct{}, 1)}}
	e.mu.Unlock()
	donec := make(chan struct{})
	go func() {
		defer close(donec)
		e.park(&g)
	}()
	eventually(t, "the caller does not sleep", func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return len(e.waiters) == 0
	})
	for range ms {
		send(e, make([]byte, 8), 0, 1)
	}
	<-donec
	if g.blamed() != ms[1] || e.waiters[0].TakeLast() != nil {
		t.Errorf("blamed %+v", g.blamed())
	}
}

// callersOf is how many callers of e wait.
func callersOf(e *Engine) int {
	blocked, bounded := e.Waiting()
	return blocked + bounded
}

// receives are receives of 8 bytes, one from each.
func receives(from ...PeerID) (ms []*MSO) {
	for _, p := range from {
		ms = append(ms, &MSO{Kind: KindRecv, Peer: p, Tag: 1, Buf: make([]byte, 8)})
	}
	return ms
}

// sends sends what receives expects.
func sends(from int) func(es []*Engine) {
	return func(es []*Engine) { send(es[from], make([]byte, 8), 0, 1) }
}
