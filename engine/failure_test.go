//go:build linux && !fitmpi_portable

package engine

import (
	"bytes"
	"errors"
	"sync"
	"testing"
	"time"
)

func wantErr(t testing.TB, why string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error %v, want %v", why, err, want)
	}
}

// waitDone waits for ms.
func waitDone(t testing.TB, why string, e *Engine, ms ...*MSO) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.WaitMany(len(ms), ms)
	}()
	select {
	case <-done:
	case <-time.After(failsafe):
		for i, m := range ms {
			t.Errorf("operation %d is %v", i, m.State())
		}
		t.Fatalf("%s: still waiting", why)
	}
}

// TestKilledPeer: what needs a dead peer ends with ErrPeerFailed, wildcards
// included, whatever state it was in; others go on.
func TestKilledPeer(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		es := job(t, 3, p, nil)
		exchangeAll(t, es)
		e := es[0]
		ms := []*MSO{
			{Kind: KindRecv, Peer: 1, Tag: 1, Buf: make([]byte, 10)},
			{Kind: KindRecv, Peer: AnyPeer, Tag: 1, Buf: make([]byte, 10)},
			{Kind: KindProbe, Peer: 1, Tag: 1},
			{Kind: KindSend, Peer: 1, Tag: 2, Buf: make([]byte, 1<<20)},
			{Kind: KindSend, Peer: 1, Tag: 2, Buf: make([]byte, 100), Mode: Synchronous},
		}
		for _, m := range ms {
			e.Post(m, Computes)
		}
		other := &MSO{Kind: KindRecv, Peer: 2, Tag: 5, Buf: make([]byte, 10)}
		e.Post(other, Computes)
		if err := es[1].Kill(); err != nil {
			t.Fatal(err)
		}
		waitDone(t, "peer killed", e, ms...)
		for _, m := range ms {
			wantErr(t, "peer killed", m.Err, ErrPeerFailed)
			if pe, ok := errors.AsType[*PeerError](m.Err); !ok || pe.Peer != 1 {
				t.Errorf("error %v does not name rank 1", m.Err)
			}
		}
		wantErr(t, "send to the dead", send(e, make([]byte, 10), 1, 1), ErrPeerFailed)
		if s := e.Stats(); s.PeersFailed != 1 {
			t.Errorf("%d peers failed", s.PeersFailed)
		}
		if err := send(es[2], pattern(10, 3), 0, 5); err != nil {
			t.Error(err)
		}
		waitDone(t, "from the living", e, other)
		if other.Err != nil || !bytes.Equal(other.Buf, pattern(10, 3)) {
			t.Error("the living rank's message:", other.Err)
		}
		if err := es[2].Kill(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestKilledInTransfer: the peer dies in the middle of a long message, which it takes in
// turns that we make it do; what it has left in memory that we share may arrive whole.
func TestKilledInTransfer(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		es := job(t, 2, p, func(c *Config) {
			if c.Rank == 1 {
				c.Progress = Caller
			}
		})
		exchangeAll(t, es)
		const n = 64 << 20
		in := &MSO{Kind: KindRecv, Peer: 1, Tag: 1, Buf: make([]byte, n)}
		out := &MSO{Kind: KindSend, Peer: 1, Tag: 2, Buf: make([]byte, n)}
		es[1].Post(&MSO{Kind: KindSend, Peer: 0, Tag: 1, Buf: make([]byte, n)}, Computes)
		es[1].Post(&MSO{Kind: KindRecv, Peer: 0, Tag: 2, Buf: make([]byte, n)}, Computes)
		es[0].Post(in, Computes)
		es[0].Post(out, Computes)
		both(t, es, func() {
			waitDone(t, "killed in the middle", es[0], in, out)
		}, func() {
			for s := es[1].Stats(); s.BytesIn+s.RingIn+s.FetchedBytes < 1<<20; s = es[1].Stats() {
				es[1].progressForTest()
			}
			if err := es[1].Kill(); err != nil {
				t.Error(err)
			}
		})
		wantErr(t, "killed in the middle", out.Err, ErrPeerFailed)
		if in.Err != nil {
			wantErr(t, "killed in the middle", in.Err, ErrPeerFailed)
		}
		wantIdle(t, es[0])
	})
}

// TestKillEndsAll: the operations of a killed engine complete with ErrStopped, and the callers that
// wait for them wake up.
func TestKillEndsAll(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		es := job(t, 2, p, nil)
		exchangeAll(t, es)
		e := es[0]
		ms := []*MSO{
			{Kind: KindRecv, Peer: 1, Tag: 1, Buf: make([]byte, 10)},
			{Kind: KindRecv, Peer: 0, Tag: 1, Buf: make([]byte, 10)},
			{Kind: KindRecv, Peer: AnyPeer, Tag: 1, Buf: make([]byte, 10), Member: func(id PeerID) bool { return id == 1 }},
			{Kind: KindMprobe, Peer: AnyPeer, Tag: AnyTag, Ctx: 5},
			{Kind: KindSend, Peer: 1, Tag: 2, Buf: make([]byte, 1<<20)},
			{Kind: KindSend, Peer: 0, Tag: 2, Buf: make([]byte, 1<<20)},
		}
		var wg sync.WaitGroup
		for _, m := range ms {
			e.Post(m, Computes)
			wg.Go(func() { e.Wait(m) })
		}
		s := NewSchedule(1, 0, []PeerID{0, 1})
		s.Recv(1, make([]byte, 4))
		e.StartSchedule(s, Computes)
		time.Sleep(2 * time.Millisecond)
		if err := e.Kill(); err != nil {
			t.Fatal(err)
		}
		waitDone(t, "killed", e, append(ms, &s.MSO)...)
		wg.Wait()
		for _, m := range append(ms, &s.MSO) {
			wantErr(t, "killed", m.Err, ErrStopped)
			if errors.Is(m.Err, ErrPeerFailed) || errors.Is(m.Err, ErrPeerLeft) {
				t.Errorf("%v blames the peer", m.Err)
			}
		}
		if s := e.Stats(); s.PeersFailed != 0 {
			t.Errorf("%d peers failed", s.PeersFailed)
		}
		es[1].Kill()
	})
}

// TestReportedFailure: someone else says that a peer is dead; twice is once.
func TestReportedFailure(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		es := job(t, 2, p, nil)
		exchangeAll(t, es)
		m := &MSO{Kind: KindRecv, Peer: 1, Tag: 1, Buf: make([]byte, 10)}
		es[0].Post(m, Computes)
		cause := errors.New("the launcher says so")
		es[0].FailPeer(1, cause)
		es[0].FailPeer(1, cause)
		es[0].FailPeer(0, cause)
		es[0].FailPeer(99, cause)
		waitDone(t, "told", es[0], m)
		wantErr(t, "told", m.Err, cause)
		if s := es[0].Stats(); s.PeersFailed != 1 {
			t.Errorf("%d peers failed", s.PeersFailed)
		}
		es[1].Kill()
	})
}

// TestAbandon: operations under way are given up, on either side, at any moment;
// their memory is free at once and the connection goes on with other messages.
func TestAbandon(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		for _, n := range []int{100, 20_000, 8 << 20} {
			es := job(t, 2, p, nil)
			exchangeAll(t, es)
			for round := range 10 {
				abandonOne(t, es, n, round)
			}
			exchangeAll(t, es)
			for _, e := range es {
				wantIdle(t, e)
			}
			closeAll(t, es)
		}
	})
}

func abandonOne(t *testing.T, es []*Engine, n, round int) {
	given := errors.New("given up")
	out := &MSO{Kind: KindSend, Peer: 1, Tag: Tag(round), Buf: pattern(n, round)}
	in := &MSO{Kind: KindRecv, Peer: 0, Tag: Tag(round), Buf: make([]byte, n)}
	es[1].Post(in, Computes)
	es[0].Post(out, Computes)
	for range round * 3 {
		es[0].progressForTest()
		es[1].progressForTest()
	}
	if round%2 == 1 {
		es[0].Abandon(out, given)
		waitDone(t, "abandoned send", es[0], out)
		clear(out.Buf)
		both(t, es, func() { drainSelf(es[0], in) }, func() { es[1].Wait(in) })
		if in.Err != nil || !bytes.Equal(in.Buf, pattern(n, round)) {
			t.Errorf("%d bytes, round %d: the abandoned send's message: %v", n, round, in.Err)
		}
		return
	}
	es[1].Abandon(in, given)
	waitDone(t, "abandoned receive", es[1], in)
	clear(in.Buf)
	if in.Err == nil {
		both(t, es, func() { es[0].Wait(out) }, func() { drainSelf(es[1], out) })
		return
	}
	// It is as if it had never been posted: another receive gets the message.
	again := &MSO{Kind: KindRecv, Peer: 0, Tag: Tag(round), Buf: make([]byte, n)}
	es[1].Post(again, Computes)
	both(t, es, func() { es[0].Wait(out) }, func() { drainSelf(es[1], out) })
	both(t, es, func() { drainSelf(es[0], again) }, func() { es[1].Wait(again) })
	if again.Err != nil || !bytes.Equal(again.Buf, pattern(n, round)) {
		t.Errorf("%d bytes, round %d: the abandoned receive's message: %v", n, round, again.Err)
	}
	if bytes.Count(in.Buf, []byte{0}) != n {
		t.Errorf("%d bytes, round %d: the memory of an abandoned receive changed", n, round)
	}
}

// drainSelf makes progress under the caller policy until m, of another engine, is done.
func drainSelf(e *Engine, m *MSO) {
	for e.Policy() == Caller && !m.IsDone() {
		e.progressForTest()
		time.Sleep(10 * time.Microsecond)
	}
}

func both(t testing.TB, es []*Engine, a, b func()) {
	t.Helper()
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(a)
	wg.Go(b)
	go func() { wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(failsafe):
		t.Fatalf("stuck: %+v, %+v", es[0].Stats().Stats, es[1].Stats().Stats)
	}
}

// TestAbandonUnmatched: the message of a send that was given up before its match
// still goes to the receive that asks for it.
func TestAbandonUnmatched(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		es := job(t, 2, p, nil)
		out := &MSO{Kind: KindSend, Peer: 1, Tag: 1, Buf: pattern(1<<20, 1)}
		es[0].Post(out, Computes)
		es[0].Abandon(out, ErrStopped)
		waitDone(t, "abandoned", es[0], out)
		clear(out.Buf)
		in := &MSO{Kind: KindRecv, Peer: 0, Tag: 1, Buf: make([]byte, 1<<20)}
		es[1].Post(in, Computes)
		both(t, es, func() { drainSelf(es[0], in) }, func() { es[1].Wait(in) })
		if in.Err != nil || !bytes.Equal(in.Buf, pattern(1<<20, 1)) {
			t.Error("the message of an abandoned send:", in.Err)
		}
	})
}
