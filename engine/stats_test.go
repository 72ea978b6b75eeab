//go:build linux && !fitmpi_portable

package engine

import (
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/wire"
	"github.com/fitmpi/fitmpi/internal/sys"
)

func traffic(messages, bytes uint64) Traffic { return Traffic{Messages: messages, Bytes: bytes} }

// TestTraffic: what is counted of messages is what was sent, by protocol, way, peer and size.
func TestTraffic(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		es := job(t, 2, p, nil)
		sizes := []int{0, 1, 8, 8, 8, 17, 5000, 5000, 1 << 20}
		var ms [2][]*MSO
		for k, n := range sizes {
			ms[0] = append(ms[0], &MSO{Kind: KindSend, Peer: 1, Tag: Tag(k), Buf: make([]byte, n)})
			ms[1] = append(ms[1], &MSO{Kind: KindRecv, Peer: 0, Tag: Tag(k), Buf: make([]byte, n)})
		}
		var wg sync.WaitGroup
		for r, e := range es {
			wg.Go(func() {
				for _, m := range ms[r] {
					e.Post(m, Computes)
				}
				e.WaitMany(len(ms[r]), ms[r])
			})
		}
		wg.Wait()
		a, b := es[0].Stats(), es[1].Stats()
		way := wayUnderTest
		sent, received := [3]Traffic{traffic(6, 42), traffic(2, 10000), traffic(1, 1<<20)}, [2]Traffic{traffic(8, 10042), traffic(1, 1<<20)}
		if way == Thread { // what is not short is offered
			sent, received = [3]Traffic{traffic(6, 42), {}, traffic(3, 10000+1<<20)}, [2]Traffic{traffic(6, 42), traffic(3, 10000+1<<20)}
		}
		if got, want := a.Ways[way].Sent, sent; got != want {
			t.Errorf("sent %v, want %v", got, want)
		}
		if got, want := b.Ways[way].Received, received; got != want {
			t.Errorf("received %v, want %v", got, want)
		}
		if got, want := a.Sizes, (SizeCounts{0: 1, 2: 3, 3: 1, 7: 2, 10: 1, 32: 1}); got != want {
			t.Errorf("sizes %v, want %v", got, want)
		}
		for w, s := range a.Ways {
			if want := map[bool]int{true: 1}[Way(w) == way]; s.Peers != want {
				t.Errorf("%d peers by %v, want %d", s.Peers, Way(w), want)
			}
		}
		if ps := es[0].Peers(); len(ps) != 2 || ps[1].Peer != 1 || ps[1].Way != way || ps[1].Sent != a.Ways[way].Sent || ps[0].Sent != [3]Traffic{} {
			t.Errorf("peers %+v", ps)
		}
		if a.RendezvousSends != 0 || b.RendezvousReceives != 0 || a.Starved != 0 || b.RequestMatches != uint64(len(sizes)) || b.EventMatches != uint64(len(sizes)) {
			t.Errorf("left over: %+v, %+v", a.Stats, b.Stats)
		}
		wantFlow(t, es, way)
	})
}

// wantFlow checks that what one has written is what the other has read; under caller a frame may
// lie there until a call.
func wantFlow(t *testing.T, es []*Engine, way Way) {
	t.Helper()
	eventually(t, "frames and bytes differ between writer and reader", func() bool {
		es[1].progressForTest()
		a, b := es[0].Stats(), es[1].Stats()
		return a.Unsent == 0 && a.Ways[way].FramesOut == b.Ways[way].FramesIn && a.RingOut == b.RingIn && (way != TCP || a.RingOut == 0)
	})
}

// TestSelfTraffic: messages to oneself are counted apart.
func TestSelfTraffic(t *testing.T) {
	e := job(t, 1, Assist, nil)[0]
	m := &MSO{Kind: KindRecv, Buf: make([]byte, 9)}
	e.Post(m, Computes)
	send(e, make([]byte, 9), 0, 0)
	e.Wait(m)
	s := e.Stats()
	if want := traffic(1, 9); s.Self != want || s.SelfReceived != want || s.Ways != [numWays]WayStats{} {
		t.Errorf("%+v, %+v, %+v", s.Self, s.SelfReceived, s.Ways)
	}
}

// TestRendezvousOutstanding: an announced message is outstanding until it is received, or its peer
// fails.
func TestRendezvousOutstanding(t *testing.T) {
	es := job(t, 2, Assist, nil)
	m := &MSO{Kind: KindSend, Peer: 1, Tag: 4, Buf: make([]byte, 1<<20)}
	es[0].Post(m, Computes)
	eventually(t, "the announcement does not arrive", func() bool { return es[1].Stats().EventQueue == 1 })
	if s := es[0].Stats(); s.RendezvousSends != 1 {
		t.Errorf("%d outstanding, want 1", s.RendezvousSends)
	}
	recv(es[1], 1<<20, 0, 4)
	es[0].Wait(m)
	if a, b := es[0].Stats(), es[1].Stats(); a.RendezvousSends != 0 || b.RendezvousReceives != 0 {
		t.Errorf("%d and %d outstanding, want none", a.RendezvousSends, b.RendezvousReceives)
	}
}

const longEnough = 5 * time.Millisecond

// TestWaits: a wait for a late message is as long as it is late, and counts from the beginning, not
// only when it is over.
func TestWaits(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		es := job(t, 2, p, nil)
		var wg sync.WaitGroup
		wg.Go(func() { recv(es[1], 8, 0, 1) })
		eventually(t, "nobody waits", func() bool { return es[1].Stats().Waited >= longEnough })
		send(es[0], make([]byte, 8), 1, 1)
		wg.Wait()
		s := es[1].Stats()
		for k, w := range s.Waits {
			if WaitKind(k) == WaitReceive {
				if w.Count != 1 || w.Time < longEnough || w.Time != s.Waited {
					t.Errorf("waits to receive %+v, waited %v", w, s.Waited)
				}
			} else if w != (WaitStats{}) {
				t.Errorf("waits of kind %v: %+v", WaitKind(k), w)
			}
		}
	})
}

// TestHidden: the time of a nonblocking operation is hidden but for that in which a caller waits.
func TestHidden(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		for _, waits := range []bool{false, true} {
			t.Run(fmt.Sprint("waits=", waits), func(t *testing.T) {
				es := job(t, 2, p, nil)
				m := &MSO{Kind: KindRecv, Peer: 0, Tag: 1, Buf: make([]byte, 100_000)}
				es[1].Post(m, Computes)
				began := sys.Nanotime() // not before the post, which may itself be held up
				var wg sync.WaitGroup
				if waits {
					wg.Go(func() { es[1].Wait(m) })
				}
				eventually(t, "no time passes", func() bool {
					return sys.Nanotime()-began > int64(longEnough) && (!waits || es[1].Stats().Waited >= longEnough)
				})
				wg.Go(func() { send(es[0], make([]byte, 100_000), 1, 1) })
				eventually(t, "the message does not come", func() bool { return waits && m.IsDone() || !waits && es[1].Test(m) })
				wg.Wait()
				f := es[1].Stats().Flights
				if f.Count != 1 || f.Flight < longEnough {
					t.Errorf("%+v, want one flight of %v at least", f, longEnough)
				}
				if !waits && f.Hidden != f.Flight || waits && f.Hidden > f.Flight-longEnough {
					t.Errorf("%v of %v hidden", f.Hidden, f.Flight)
				}
			})
		}
	})
}

// TestFlightSample: of short operations some are measured, and stand for the others.
func TestFlightSample(t *testing.T) {
	e := job(t, 1, Assist, nil)[0]
	chance := func(skip int) float64 { return 1 - math.Pow(1-1.0/shortSample, float64(skip)+0.5) } // that gap makes skip
	skips := []int{5, 0, 3, 1 << 10}
	e.flights.skip = 1
	e.flights.dice = func() float64 {
		skip := skips[0]
		skips = skips[1:]
		return chance(skip)
	}
	ms := make([]*MSO, 20) // number 1 is measured, 7, 8 and 12
	for i := range ms {
		ms[i] = &MSO{Kind: KindRecv, Tag: Tag(i), Buf: make([]byte, 8)}
		e.Post(ms[i], Computes)
		if want := map[int]bool{1: true, 7: true, 8: true, 12: true}[i]; ms[i].IsWatched() != want {
			t.Errorf("operation %d is measured: %v", i, !want)
		}
	}
	for i := range ms {
		send(e, nil, 0, Tag(i))
	}
	e.WaitMany(len(ms), ms)
	if n := e.Stats().Flights.Count; n != 4*shortSample || e.flights.up.Load() != 0 {
		t.Errorf("those measured stand for %d, want %d", n, 4*shortSample)
	}
	e.flights.skip = 0
	general := &MSO{Kind: KindGeneral}
	e.Post(general, Computes)
	if general.IsWatched() {
		t.Error("a request of the user's is measured as if it communicated")
	}
	e.Complete(general, nil)
}

// TestFlightGaps: of shortSample operations one is measured, in the long run.
func TestFlightGaps(t *testing.T) {
	const n = 100_000
	i, sum := 0, 0.0
	f := flights{dice: func() float64 { i++; return (float64(i) - 0.5) / n }}
	for range n {
		sum += float64(f.gap()) + 1
	}
	if mean := sum / n; math.Abs(mean-shortSample) > 1 {
		t.Errorf("one of %v is measured, want one of %d", mean, shortSample)
	}
}

func TestTimeClass(t *testing.T) {
	for _, test := range []struct {
		d    time.Duration
		want int
	}{
		{0, 0}, {1, 1}, {time.Second, 30}, {time.Second + 1, 31}, {2 * time.Second, 31}, {time.Second / 1024, 20},
		{time.Second/1024 + 1, 21}, {953, 10}, {954, 11}, {1 << 62, TimeClasses - 1},
	} {
		if got := timeClass(test.d); got != test.want {
			t.Errorf("%v is in class %d, want %d", test.d, got, test.want)
		}
	}
}

// TestGap: a gap is counted once, from the first call for the goroutine that sleeps; a bell's stamp
// is believed within bounds.
func TestGap(t *testing.T) {
	e := job(t, 2, Caller, nil)[0] // no worker that sleeps and wakes meanwhile
	d := e.drv
	total := func() (n uint64) {
		for _, c := range e.Stats().Gaps.Counts {
			n += c
		}
		return n
	}
	d.woken(&d.poller.Waiter)
	if total() != 0 {
		t.Error("a gap that nobody was called in")
	}
	d.calls(&d.poller.Waiter)
	d.calls(&d.poller.Waiter)
	d.woken(&d.poller.Waiter)
	d.woken(&d.poller.Waiter)
	if total() != 1 {
		t.Errorf("%d gaps, want 1", total())
	}
	if e.local == nil {
		return
	}
	now := sys.Monotonic()
	for _, rung := range []int64{now - int64(2*maxGap), now + int64(time.Hour), 0} {
		e.local.block.Rung.Store(uint64(rung))
		e.local.answered()
	}
	if total() != 1 {
		t.Error("a gap that cannot be was believed")
	}
	e.local.block.Rung.Store(uint64(now - int64(longEnough)))
	e.local.answered()
	e.local.answered()
	if s := e.Stats().Gaps; total() != 2 || s.Sum < longEnough {
		t.Errorf("%d gaps of %v, want 2 of %v at least", total(), s.Sum, longEnough)
	}
}

// TestWorkerTime: the worker's time grows, and stays when the worker has gone.
func TestWorkerTime(t *testing.T) {
	e := job(t, 1, Assist, nil)[0]
	eventually(t, "the worker does not run", func() bool { e.rouse(); return e.Stats().Worker > 0 })
	e.Close(time.Second)
	if s := e.Stats(); s.Worker == 0 {
		t.Error("the worker's time is forgotten")
	}
}

// TestFramesWhole: a frame has arrived when its last byte has, however it is cut. What is not
// counted yet is under way.
func TestFramesWhole(t *testing.T) {
	e := job(t, 2, Caller, nil)[0]
	var stream []byte
	for _, h := range []wire.Header{
		{Kind: wire.KindEager, Tag: 5, Length: 40}, {Kind: wire.KindEager, Tag: 6}, {Kind: wire.KindEager, Tag: 7, Length: 9},
	} {
		head := make([]byte, wire.HeaderLen)
		wire.PutHeader(head, &h)
		stream = append(append(stream, head...), make([]byte, h.Length)...)
	}
	ends := []int{wire.HeaderLen + 40, 2*wire.HeaderLen + 40, 3*wire.HeaderLen + 49}
	p := &input{peer: 1}
	for i, b := range stream {
		if _, err := p.parse(e, []byte{b}); err != nil {
			t.Fatal(err)
		}
		whole := 0
		for _, end := range ends {
			if i+1 >= end {
				whole++
			}
		}
		if got := e.Stats().Ways[TCP].FramesIn; got != uint64(whole) {
			t.Fatalf("after %d bytes %d frames are counted, want %d", i+1, got, whole)
		}
	}
}
