//go:build linux && !fitmpi_portable

package engine

import (
	"bytes"
	"testing"

	"github.com/fitmpi/fitmpi/engine/internal/core"
	"github.com/fitmpi/fitmpi/engine/internal/wire"
	"github.com/fitmpi/fitmpi/internal/shm"
)

// offered is two ranks, the first of which holds its progress right, and a send of the second whose
// offer lies in the ring between them.
func offered(t *testing.T, w Way, m *MSO) (es []*Engine, l *lane) {
	t.Helper()
	es = localPair(t, w)
	exchangeAll(t, es) // both rings are in use
	es[0].takeRight()
	for es[0].turn() {
	}
	m.Kind, m.Peer, m.Tag = KindSend, 0, 3
	es[1].Post(m, Computes)
	if l = es[0].laneTo(1); !l.isShowing() {
		t.Fatal("the offer is not in the ring")
	}
	return es, l
}

// take asks for the next record as Recv does.
func take(l *lane, r *Message) bool {
	e := l.n.e
	e.mu.Lock()
	defer e.unlock()
	return l.takeLocked(r) || l.fetchLocked(r)
}

// TestFetchNow: a message that is offered is fetched in the place of its receive, counts as one of
// its kind, and its sender is done.
func TestFetchNow(t *testing.T) {
	for _, w := range []Way{Thread, Shared} {
		for _, n := range []int{ringMax + 1, 100_000, fetchMax} {
			m := &MSO{Buf: pattern(n, 9), Elem: 4}
			es, l := offered(t, w, m)
			before, fetched := receivedOffers(es[0])
			r := Message{Peer: 1, Tag: AnyTag, Buf: make([]byte, n+5)}
			ok := take(l, &r)
			es[0].releaseRight()
			if !ok || r.Length != n || r.GotTag != 3 || r.Elem != 4 || r.Ordinal == 0 || !bytes.Equal(r.Buf[:n], m.Buf) || !bytes.Equal(r.Buf[n:], make([]byte, 5)) {
				t.Fatalf("%v: fetched: %v; %d bytes of %d, tag %d, class %d", w, ok, r.Length, n, r.GotTag, r.Elem)
			}
			es[1].Wait(m)
			after, got := receivedOffers(es[0])
			if got -= fetched; got != uint64(n) || after.Messages != before.Messages+1 || after.Bytes != before.Bytes+uint64(n) || m.Err != nil {
				t.Errorf("%v: %d bytes of %d fetched; received %v, before %v; error %v", w, got, n, after, before, m.Err)
			}
		}
	}
}

// spoil puts the offer of m, a send of e, into another state, if that is not 0, until the function
// that it returns is called.
func spoil(e *Engine, m *MSO, state uint64) (restore func()) {
	e.mu.Lock()
	id, ok := m.Offered()
	e.mu.Unlock()
	if !ok || state == 0 {
		return func() {}
	}
	w := &e.laneTo(m.Peer).offers().words[uint32(id)].State
	if state < 1<<offerBits {
		state = offerState(id, state)
	}
	before := w.Swap(state)
	return func() { w.Store(before) }
}

// receivedOffers counts what e has received from rank 1 by rendezvous.
func receivedOffers(e *Engine) (t core.Traffic, fetched uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.core.PeerStats(1).Received[core.Announced], e.core.Stats().FetchedBytes
}

// TestFetchNowLeaves: an offer that is not for the receive, or cannot be fetched, stays where it
// is, for a receive that is posted.
func TestFetchNowLeaves(t *testing.T) {
	const n = 50_000
	for what, c := range map[string]struct {
		n      int // bytes of the message
		object bool
		r      Message
		state  uint64 // of the offer while it is asked for; 0: as it is
	}{
		"of another tag":     {n: n, r: Message{Tag: 4}},
		"of another context": {n: n, r: Message{Tag: 3, Ctx: 2}},
		"that does not fit":  {n: n + 1, r: Message{Tag: 3}},
		"of an object":       {n: n, object: true, r: Message{Tag: 3}},
		"that is too long":   {n: fetchMax + 1, r: Message{Tag: 3, Buf: make([]byte, fetchMax+1)}},
		"being moved":        {n: n, r: Message{Tag: 3}, state: offerLocked},
		"that is gone":       {n: n, r: Message{Tag: 3}, state: 1<<63 | offerOpen}, // another message's
	} {
		for _, w := range []Way{Thread, Shared} {
			t.Run(what+" "+w.String(), func(t *testing.T) {
				m, r := &MSO{Object: c.object, Buf: pattern(c.n, 7)}, c.r
				if r.Buf == nil {
					r.Buf = make([]byte, n)
				}
				r.Peer = 1
				es, l := offered(t, w, m)
				restore := spoil(es[1], m, c.state)
				if take(l, &r) {
					t.Error("it was fetched")
				}
				restore()
				es[0].releaseRight()
				got := &MSO{Kind: KindRecv, Peer: 1, Tag: 3, Buf: make([]byte, len(m.Buf))}
				es[0].Post(got, Waits)
				es[0].Wait(got)
				es[1].Wait(m)
				if got.Err != nil || m.Err != nil || !bytes.Equal(got.Buf, m.Buf) {
					t.Errorf("the message is damaged: %v, %v", got.Err, m.Err)
				}
			})
		}
	}
}

// TestFetchNowLeavesStream: an offer with the beginning of another frame behind it in its record,
// as a stream may be cut, is not taken alone.
func TestFetchNowLeavesStream(t *testing.T) {
	for _, w := range []Way{Thread, Shared} {
		m := &MSO{Buf: pattern(50_000, 4)}
		es, l := offered(t, w, m)
		head, _, _ := l.r.Next()
		frames := append(bytes.Clone(head), wire.AppendHeader(nil, &wire.Header{Kind: wire.KindEager, Tag: 5})...)
		l.r.Release()
		es[1].mu.Lock()
		writer := es[1].laneTo(0).w
		put := writer.Put(frames[:shm.Inline], nil) && writer.Put(frames[shm.Inline:], nil)
		es[1].mu.Unlock()
		r := Message{Peer: 1, Tag: 3, Buf: make([]byte, len(m.Buf))}
		ok := take(l, &r)
		es[0].releaseRight()
		if ok || !put {
			t.Fatalf("%v: it was fetched: %v; the frames had room: %v", w, ok, put)
		}
		recvInto(es[0], r.Buf, 1, 3)
		recvInto(es[0], nil, 1, 5)
		es[1].Wait(m)
		if !bytes.Equal(r.Buf, m.Buf) {
			t.Errorf("%v: the message is damaged", w)
		}
	}
}

// TestFinEndsTurn: what follows a Fin stays in the ring until the next look, for the caller whose
// send the Fin has ended.
func TestFinEndsTurn(t *testing.T) {
	for _, w := range []Way{Thread, Shared} {
		m := &MSO{Buf: pattern(100_000, 2)}
		es, l := offered(t, w, m)
		r := Message{Peer: 1, Tag: 3, Buf: make([]byte, len(m.Buf))}
		es[1].takeRight()
		ok := take(l, &r)
		es[0].releaseRight()
		if answer := (Message{Peer: 1, Tag: 5, Buf: []byte("answer")}); !ok || !es[0].Send(&answer, Returns) {
			t.Fatal("no answer was sent")
		}
		es[1].local.poll()
		if back := es[1].laneTo(0); !m.IsDone() || !back.isShowing() {
			t.Errorf("%v: the send is done: %v; the answer is in the ring: %v", w, m.IsDone(), back.isShowing())
		}
		es[1].releaseRight()
		recv(es[1], 0, 0, 5)
	}
}

// approved is how many receives of e are under way by rendezvous.
func approved(e *Engine) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.core.Stats().RendezvousReceives
}

// TestWindowsBothWays: none of 64 messages each way goes through the ring, though receives that are
// under way have numbers too.
func TestWindowsBothWays(t *testing.T) {
	const window, n = 64, 20_000
	for _, w := range []Way{Thread, Shared} {
		es := localPair(t, w)
		exchangeAll(t, es)
		ms := make([][]*MSO, 2)
		post := func(rank int, kind Kind) {
			for i := range window {
				m := &MSO{Kind: kind, Peer: PeerID(1 - rank), Tag: Tag(i), Buf: make([]byte, n)}
				if kind == KindSend {
					copy(m.Buf, pattern(n, i))
				}
				es[rank].Post(m, Computes)
				ms[rank] = append(ms[rank], m)
			}
		}
		post(0, KindRecv)
		post(1, KindRecv)
		es[1].takeRight()
		post(0, KindSend)
		for approved(es[1]) < window { // they have their numbers, and are not done before a goroutine runs jobs
			es[1].local.poll()
		}
		post(1, KindSend)
		es[1].releaseRight()
		within(t, "windows both ways", func() {
			for rank, e := range es {
				e.WaitMany(2*window, ms[rank])
			}
		})
		for rank, e := range es {
			for i, in := range ms[rank][:window] {
				if in.Err != nil || !bytes.Equal(in.Buf, pattern(n, i)) {
					t.Fatalf("%v: message %d is damaged: %v", w, i, in.Err)
				}
			}
			e.mu.Lock()
			got := e.core.Stats().FetchedBytes
			e.mu.Unlock()
			if got != window*n {
				t.Errorf("%v: rank %d fetched %d bytes, want %d", w, rank, got, window*n)
			}
		}
	}
}

// TestStepGoesOn: a caller that polls goes on with what one turn was too short for, though nothing
// more arrives.
func TestStepGoesOn(t *testing.T) {
	const messages = 3
	for _, w := range []Way{Thread, Shared} {
		es := localPair(t, w)
		exchangeAll(t, es)
		var in, out []*MSO
		for i := range messages {
			in = append(in, &MSO{Kind: KindRecv, Peer: 1, Tag: Tag(i), Buf: make([]byte, fetchTurn)})
			out = append(out, &MSO{Kind: KindSend, Peer: 0, Tag: Tag(i), Buf: pattern(fetchTurn, i)})
			es[0].Post(in[i], Computes)
		}
		es[0].takeRight()
		for _, m := range out {
			es[1].Post(m, Computes)
		}
		for i := range messages {
			if !es[0].step(i*256 + 1) { // none of those that make a whole turn
				t.Errorf("%v: step %d has done nothing", w, i)
			}
			if _, got := receivedOffers(es[0]); got < uint64(i+1)*fetchTurn {
				t.Errorf("%v: %d bytes after step %d", w, got, i)
			}
		}
		es[0].releaseRight()
		for i := range messages {
			es[0].Wait(in[i])
			es[1].Wait(out[i])
			if !bytes.Equal(in[i].Buf, out[i].Buf) {
				t.Errorf("%v: message %d is damaged", w, i)
			}
		}
	}
}
