//go:build linux && !fitmpi_portable

package engine

import (
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/callsite"
)

// TestWaitSites: waits are noted by the stack of the caller and by what ended them.
func TestWaitSites(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		es := job(t, 2, p, nil)
		here := func() { recv(es[0], 8, 1, 1) }
		there := func() { recv(es[0], 8, AnyPeer, 1) }
		for _, f := range []func(){here, there, here} {
			donec := make(chan struct{})
			go func() {
				defer close(donec)
				f()
			}()
			eventually(t, "the caller does not wait", func() bool { return callersOf(es[0]) > 0 })
			time.Sleep(2 * shortWait) // so that no wait is one of the short, which are not all noted
			send(es[1], make([]byte, 8), 0, 1)
			<-donec
		}
		all := WaitStats{}
		times := make(map[PeerID]uint64)
		for _, w := range es[0].WaitSites() {
			all.Count, all.Time = all.Count+w.Count, all.Time+w.Time
			times[w.Peer] += w.Count
			if w.Kind != WaitReceive {
				t.Errorf("a wait for a %v", w.Kind)
			}
		}
		if want := es[0].Stats().Waits[WaitReceive]; all != want {
			t.Errorf("sites have %+v, waits %+v", all, want)
		}
		if times[1] != 2 || times[AnyPeer] != 1 {
			t.Errorf("waits by peer: %v", times)
		}
	})
}

// TestOpenWait: a wait that is not over counts, for its peer and its place, up to now.
func TestOpenWait(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		es := job(t, 2, p, nil)
		donec := make(chan struct{})
		go func() {
			defer close(donec)
			recv(es[0], 8, 1, 1)
		}()
		eventually(t, "the caller does not wait", func() bool { return callersOf(es[0]) > 0 })
		var first, second WaitSite
		for _, s := range []*WaitSite{&first, &second} {
			all := es[0].WaitSites()
			if len(all) != 1 || all[0].Peer != 1 || all[0].Kind != WaitReceive || all[0].Count != 1 {
				t.Fatalf("%+v", all)
			}
			*s = all[0]
			if w := es[0].Peers()[1].Waited; w.Receiving < s.Time || w.Sending != 0 {
				t.Errorf("%v at its place, %v for its peer", s.Time, w)
			}
		}
		if second.Time <= first.Time || second.PCs != first.PCs {
			t.Errorf("%+v, then %+v", first, second)
		}
		send(es[1], make([]byte, 8), 0, 1)
		<-donec
		if s := es[0].Stats().Waits[WaitReceive]; es[0].Peers()[1].Waited.Receiving != s.Time {
			t.Errorf("it is over after %v: %v", s.Time, es[0].Peers()[1].Waited)
		}
	})
}

// TestManySites: with more stacks than there is room for nothing is lost but where it was.
func TestManySites(t *testing.T) {
	var e Engine
	for i := range 2 * maxSites {
		e.waits.sites.note(&[callDepth]uintptr{uintptr(i + 1)}, WaitReceive, nil, shortWait)
	}
	n, unknown := uint64(0), uint64(0)
	for _, w := range e.WaitSites() {
		if n += w.Count; w.PCs[0] == 0 {
			unknown += w.Count
		}
	}
	if len(e.waits.sites.all) != maxSites || n != 2*maxSites || unknown != maxSites+1 {
		t.Errorf("%d sites of %d waits, %d of them unknown", len(e.waits.sites.all), n, unknown)
	}
}

// TestShortWaitsAreSampled: short waits count as many times as there were, about, and not with
// those of other stacks.
func TestShortWaitsAreSampled(t *testing.T) {
	var e Engine
	const n = 1 << 16
	for i := range n {
		e.waits.sites.note(&[callDepth]uintptr{uintptr(i%2 + 1)}, WaitReceive, nil, time.Microsecond)
	}
	for _, w := range e.WaitSites() {
		if w.Count < n/2*8/10 || w.Count > n/2*12/10 || w.Time != time.Duration(w.Count)*time.Microsecond {
			t.Errorf("%d waits of %v for %d", w.Count, w.Time, n/2)
		}
	}
}

// TestSitePeer: a site names the peer that had most of its time, and none where many had some.
func TestSitePeer(t *testing.T) {
	for _, test := range []struct {
		peers []PeerID
		want  PeerID
	}{{[]PeerID{3}, 3}, {[]PeerID{1, 3, 3, 3, 2, 3}, 3}, {[]PeerID{3, 3, 1, 2, 3}, 3}, {[]PeerID{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, AnyPeer}} {
		var e Engine
		for _, p := range test.peers {
			e.waits.sites.note(&[callDepth]uintptr{1}, WaitReceive, &MSO{Kind: KindRecv, Peer: p}, time.Second)
		}
		if w := e.WaitSites()[0]; w.Peer != test.want {
			t.Errorf("%v: %d", test.peers, w.Peer)
		}
	}
}

// BenchmarkNoteSite is what a wait costs more for its place.
func BenchmarkNoteSite(b *testing.B) {
	for name, d := range map[string]time.Duration{"short": time.Microsecond, "long": time.Millisecond} {
		b.Run(name, func(b *testing.B) {
			var s waitSites
			var pcs [callDepth]uintptr
			callsite.Callers(pcs[:])
			for b.Loop() {
				s.note(&pcs, WaitReceive, nil, d)
			}
		})
	}
}
