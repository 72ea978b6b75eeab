//go:build linux && !fitmpi_portable

package engine

import (
	"bytes"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/progress"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// compute does iterations of arithmetic, no call, no channel, until stop says so
// or most of them are done; it returns how many.
func compute(most int, stop func() bool) int {
	x := uint64(1)
	for i := range most {
		x = x*6364136223846793005 + 1442695040888963407
		if i%1024 == 0 && stop() {
			sink.Store(x)
			return i
		}
	}
	sink.Store(x)
	return most
}

var sink atomic.Uint64 // keeps compute from being optimised away

// mostWork is far more than any transfer takes: some ten seconds.
const mostWork = 5_000_000_000

// withProcs runs f with n Ps.
func withProcs(n int, f func()) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
	f()
}

// TestProgressWhileComputing: both users compute and make no call; a rendezvous
// that was posted before completes all the same. It is the claim of this library.
func TestProgressWhileComputing(t *testing.T) {
	for _, p := range []Policy{Worker, Assist} {
		t.Run(p.String(), func(t *testing.T) {
			es := job(t, 2, p, func(c *Config) { c.KeepP = true })
			both(t, es, func() { exchangeTwo(t, es[0], 1) }, func() { exchangeTwo(t, es[1], 0) })
			withProcs(4, func() { // two users and two workers
				for round := range 3 {
					moveWhileComputing(t, es, 3<<20, round)
				}
			})
		})
	}
}

// moveWhileComputing sends n bytes from rank 0 to rank 1. Both users post, and compute until that
// is done.
func moveWhileComputing(t *testing.T, es []*Engine, n, seed int) {
	t.Helper()
	out := &MSO{Kind: KindSend, Peer: 1, Tag: 1, Buf: pattern(n, seed)}
	in := &MSO{Kind: KindRecv, Peer: 0, Tag: 1, Buf: make([]byte, n)}
	es[0].Post(out, Computes)
	es[1].Post(in, Computes)
	var wg sync.WaitGroup
	for _, m := range []*MSO{out, in} {
		wg.Go(func() {
			if compute(mostWork, m.IsDone) == mostWork {
				t.Errorf("%d bytes, %d: nothing moved while the user computed", n, seed)
			}
		})
	}
	wg.Wait()
	waitDone(t, "computing", es[1], in)
	if !bytes.Equal(in.Buf, pattern(n, seed)) {
		t.Error("wrong bytes")
	}
	waitDone(t, "computing", es[0], out)
}

// TestCallerDoesNot is the other half of the claim: without a worker nothing is
// read while the users compute, however long.
func TestCallerDoesNot(t *testing.T) {
	es := job(t, 2, Caller, nil)
	both(t, es, func() { exchangeTwo(t, es[0], 1) }, func() { exchangeTwo(t, es[1], 0) })
	const n = 3 << 20
	out := &MSO{Kind: KindSend, Peer: 1, Tag: 1, Buf: pattern(n, 1)}
	in := &MSO{Kind: KindRecv, Peer: 0, Tag: 1, Buf: make([]byte, n)}
	es[1].Post(in, Computes)
	es[0].Post(out, Computes)
	before := [2]Stats{es[0].Stats(), es[1].Stats()}
	compute(100_000_000, func() bool { return in.IsDone() || out.IsDone() })
	for r, e := range es {
		if s := e.Stats(); s.Ways[TCP].FramesIn != before[r].Ways[TCP].FramesIn || s.Turns != before[r].Turns {
			t.Errorf("rank %d: %d frames and %d turns came out of nowhere", r, s.Ways[TCP].FramesIn-before[r].Ways[TCP].FramesIn, s.Turns-before[r].Turns)
		}
	}
	if in.IsDone() || out.IsDone() {
		t.Error("the message moved")
	}
	both(t, es, func() { es[0].Wait(out) }, func() { es[1].Wait(in) })
	if in.Err != nil || !bytes.Equal(in.Buf, pattern(n, 1)) {
		t.Error(in.Err)
	}
}

// eventually waits for cond, which the worker brings about.
func eventually(t testing.TB, why string, cond func() bool) {
	t.Helper()
	for until := time.Now().Add(failsafe); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal(why)
		}
	}
}

// TestWorkerSleeps: with an operation outstanding the worker waits and keeps its P;
// with nothing outstanding it ends in one unbounded wait and costs nothing.
func TestWorkerSleeps(t *testing.T) {
	for _, p := range []Policy{Worker, Assist} {
		t.Run(p.String(), func(t *testing.T) {
			e := job(t, 1, p, func(c *Config) { c.KeepP = true })[0]
			wantStill(t, e)
			m := &MSO{Kind: KindRecv, Peer: AnyPeer, Tag: 1}
			e.Post(m, Computes)
			before := e.Stats()
			eventually(t, "no waits that keep the P", func() bool { return e.Stats().WaitsHolding > before.WaitsHolding+20 })
			if s := e.Stats(); s.WaitsBlocking > before.WaitsBlocking+1 {
				t.Errorf("%d waits without a P while a receive was posted", s.WaitsBlocking-before.WaitsBlocking)
			}
			e.Cancel(m)
			wantStill(t, e)
		})
	}
}

// TestWorkerWithoutSpareP never keeps its P.
func TestWorkerWithoutSpareP(t *testing.T) {
	e := job(t, 1, Worker, nil)[0]
	m := &MSO{Kind: KindRecv, Peer: AnyPeer, Tag: 1}
	e.Post(m, Computes)
	wantStill(t, e)
	e.Cancel(m)
	if s := e.Stats(); s.WaitsHolding != 0 {
		t.Errorf("%d waits kept a P that is not to spare", s.WaitsHolding)
	}
}

// wantStill waits until the driver stands still, and goes on to do so.
func wantStill(t testing.TB, e *Engine) {
	t.Helper()
	still := 0
	last := e.Stats()
	eventually(t, "the worker does not come to rest", func() bool {
		time.Sleep(5 * time.Millisecond)
		s := e.Stats()
		if s.Turns == last.Turns && s.WaitsHolding == last.WaitsHolding && s.WaitsBlocking == last.WaitsBlocking {
			still++
		} else {
			still = 0
		}
		last = s
		return still == 20
	})
	if e.right.State().Place() == progress.Awake {
		t.Error("the worker stands still, but not asleep")
	}
}

// TestListenerRests: a listener that cannot accept is not polled for a while, then again; meanwhile
// no goroutine spins.
func TestListenerRests(t *testing.T) {
	es := job(t, 2, Worker, nil)
	e := es[0]
	wantStill(t, e) // the worker sleeps without a deadline, and must learn of one
	e.takeRight()
	e.drv.pauseListening()
	e.releaseRight()
	before := e.Stats()
	out := &MSO{Kind: KindSend, Peer: 0, Tag: 1, Buf: pattern(10, 1)}
	es[1].Post(out, Computes)
	in := &MSO{Kind: KindRecv, Peer: 1, Tag: 1, Buf: make([]byte, 10)}
	e.Post(in, Computes)
	waitDone(t, "after the rest", e, in)
	if s := e.Stats(); s.Turns > before.Turns+100 {
		t.Errorf("%d turns in a rest", s.Turns-before.Turns)
	}
}

// TestAwaitedDialNeverComes: a dial that gave way to the peer's is repeated when
// the peer's does not come.
func TestAwaitedDialNeverComes(t *testing.T) {
	es := job(t, 2, Worker, nil)
	e := es[1]
	e.takeRight()
	e.drv.setAwait(0, deadlineIn(200*time.Millisecond))
	e.releaseRight()
	out := &MSO{Kind: KindSend, Peer: 0, Tag: 1, Buf: make([]byte, 1000), Mode: Synchronous}
	e.Post(out, Computes)
	m, _ := recv(es[0], 1000, 1, 1)
	waitDone(t, "dialled again", e, out, m)
	if out.Err != nil {
		t.Error(out.Err)
	}
}

// TestTestsSpareSockets: a program that spins in tests does not ask the kernel each time, and not
// seldom either.
func TestTestsSpareSockets(t *testing.T) {
	var d driver
	asked, began := int64(0), sys.Nanotime()
	for range 100_000 {
		if d.socketsDue() {
			asked++
		}
	}
	if took := sys.Nanotime() - began; asked < 1 || asked > took/int64(testPause)+1 {
		t.Errorf("sockets are asked %d times in %d ns", asked, took)
	}
	for end := sys.Nanotime() + int64(testPause); sys.Nanotime() < end; {
	}
	if !d.socketsDue() {
		t.Errorf("sockets are not asked %v after the last time", testPause)
	}
}
