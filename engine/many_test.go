//go:build linux && !fitmpi_portable

package engine

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// recv receives into a new buffer of n bytes.
func recv(e *Engine, n int, from PeerID, tag Tag) (*MSO, []byte) {
	m := &MSO{Kind: KindRecv, Peer: from, Tag: tag, Buf: make([]byte, n)}
	e.Post(m, Computes)
	e.Wait(m)
	return m, m.Buf
}

// wantIdle waits until nothing is going on, and checks that nothing is kept.
func wantIdle(t testing.TB, e *Engine) {
	t.Helper()
	for until := time.Now().Add(failsafe); ; time.Sleep(time.Millisecond) {
		s := e.Stats()
		if s.Active == 0 && s.BufferUsed == 0 && s.SlabsUsed == 0 && s.Detached == 0 && s.EventQueue == 0 && s.Posted == 0 {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("rank %d is not idle: %+v", e.Rank(), s.Stats)
		}
		e.progressForTest()
	}
}

// TestManyToMany: four ranks with four goroutines each; every goroutine talks to
// its namesake on every rank, itself included, in all sizes.
func TestManyToMany(t *testing.T) {
	sizes := []int{0, 8, 1000, 5000, 70_000, 300_000}
	policies(t, func(t *testing.T, p Policy) {
		es := job(t, 4, p, func(c *Config) { c.SendBuffer, c.Window = 1<<20, 128<<10 })
		var wg sync.WaitGroup
		for _, e := range es {
			for g := range 4 {
				wg.Go(func() {
					for round, n := range sizes {
						exchange(t, e, Tag(g*100+round), n)
					}
				})
			}
		}
		wg.Wait()
		for _, e := range es {
			wantIdle(t, e)
		}
	})
}

// exchange sends n bytes to every rank and receives as many from each.
func exchange(t *testing.T, e *Engine, tag Tag, n int) {
	var ms []*MSO
	for r := range e.Size() {
		in := &MSO{Kind: KindRecv, Peer: PeerID(r), Tag: tag, Buf: make([]byte, n)}
		out := &MSO{Kind: KindSend, Peer: PeerID(r), Tag: tag, Buf: pattern(n, e.Rank()*16+r)}
		if r%2 == 1 {
			out.Mode = Synchronous
		}
		e.Post(in, Computes)
		e.Post(out, Computes)
		ms = append(ms, in, out)
	}
	e.WaitMany(len(ms), ms)
	for r := range e.Size() {
		in, out := ms[2*r], ms[2*r+1]
		if in.Err != nil || out.Err != nil || !bytes.Equal(in.Buf, pattern(n, r*16+e.Rank())) {
			t.Errorf("rank %d and %d, %d bytes: %v, %v", e.Rank(), r, n, in.Err, out.Err)
		}
	}
}

// TestConnectStorm: both ranks dial at the same moment, again and again; a
// message each way gets through and one connection is left.
func TestConnectStorm(t *testing.T) {
	effort.Need(t, effort.Usual, "many ranks connect at once")
	policies(t, func(t *testing.T, p Policy) {
		for round := range effort.Share(60) {
			es := job(t, 3, p, nil)
			start := make(chan struct{})
			var wg sync.WaitGroup
			for _, e := range es {
				wg.Go(func() {
					<-start
					exchange(t, e, 1, 100)
				})
			}
			close(start)
			wg.Wait()
			for _, e := range es {
				if s := e.Stats(); s.PeersFailed != 0 {
					t.Fatalf("round %d: rank %d lost %d peers", round, e.Rank(), s.PeersFailed)
				}
			}
			closeAll(t, es)
		}
	})
}

// closeAll closes engines as a job does, all at the same time.
func closeAll(t testing.TB, es []*Engine) {
	t.Helper()
	var wg sync.WaitGroup
	for _, e := range es {
		wg.Go(func() {
			start := time.Now()
			if err := e.Close(2 * failsafe); err != nil {
				t.Error(err)
			}
			if took := time.Since(start); took > failsafe {
				t.Errorf("rank %d: Close took %v", e.Rank(), took)
			}
			if s := e.Stats(); s.PeersFailed != 0 || s.Connections != 0 {
				t.Errorf("rank %d after Close: %d peers failed, %d connections", e.Rank(), s.PeersFailed, s.Connections)
			}
		})
	}
	wg.Wait()
}

// TestCloseSendsFirst: what a call has accepted arrives though its caller closes
// at once, before there is even a connection. The receiver asks late.
func TestCloseSendsFirst(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		for _, n := range []int{8, 10_000, 1 << 20} {
			if p == Caller && n > 64<<10 {
				continue // nothing outlives its call there
			}
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				es := job(t, 2, p, nil)
				var wg sync.WaitGroup
				wg.Go(func() {
					if err := send(es[0], pattern(n, 1), 1, 1); err != nil {
						t.Error(err)
					}
					es[0].Close(failsafe)
				})
				wg.Go(func() {
					time.Sleep(5 * time.Millisecond)
					if m, b := recv(es[1], n, 0, 1); m.Err != nil || !bytes.Equal(b, pattern(n, 1)) {
						t.Errorf("received %d bytes: %v", m.Length, m.Err)
					}
					es[1].Close(failsafe)
				})
				wg.Wait()
				closeAll(t, es)
			})
		}
	})
}

// TestCloseTwice: Close and Kill may be repeated, and mixed.
func TestCloseTwice(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		es := job(t, 2, p, nil)
		exchangeAll(t, es)
		closeAll(t, es)
		closeAll(t, es)
		for _, e := range es {
			if err := e.Kill(); err != nil {
				t.Error(err)
			}
			m := &MSO{Kind: KindRecv, Peer: AnyPeer, Tag: AnyTag}
			e.Post(m, Computes)
			e.Wait(m)
			wantErr(t, "receive after Close", m.Err, ErrStopped)
			wantErr(t, "send after Close", send(e, nil, 0, 1), ErrStopped)
		}
	})
}

// exchangeAll connects every rank with every other.
func exchangeAll(t *testing.T, es []*Engine) {
	t.Helper()
	var wg sync.WaitGroup
	for _, e := range es {
		wg.Go(func() { exchange(t, e, 77, 10) })
	}
	wg.Wait()
}
