//go:build linux && !fitmpi_portable

package engine

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// TestExcusedPeerLeaves: a peer that is excused has left when it ends without a goodbye; another
// has failed.
func TestExcusedPeerLeaves(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		for _, excused := range []bool{true, false} {
			es := job(t, 2, p, nil)
			exchangeAll(t, es)
			if got := es[0].Partners(); !slices.Equal(got, []PeerID{1}) {
				t.Errorf("partners %v", got)
			}
			es[0].Excuse(1, true)
			es[0].Excuse(1, excused)
			m := &MSO{Kind: KindRecv, Peer: 1, Tag: 8, Buf: make([]byte, 1)}
			es[0].Post(m, Computes)
			if err := es[1].Kill(); err != nil {
				t.Fatal(err)
			}
			waitDone(t, "the peer has ended", es[0], m)
			want := ErrPeerFailed
			if excused {
				want = ErrPeerLeft
			}
			wantErr(t, "the peer has ended", m.Err, want)
			if gone := es[0].PeerGone(1); gone == nil || gone.Left != excused {
				t.Errorf("excused %t: %v", excused, gone)
			}
			if failed := es[0].Failed(nil); (len(failed) > 0) == excused {
				t.Errorf("excused %t: failed %v", excused, failed)
			}
			if got := es[0].Partners(); len(got) > 0 {
				t.Errorf("partners %v", got)
			}
			es[0].Kill()
		}
	})
}

// TestDrainWithdraws: messages that their senders have given up are withdrawn when the rank is to
// have nothing left, but for one that a receive has asked for meanwhile.
func TestDrainWithdraws(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		es := job(t, 2, p, nil)
		exchangeAll(t, es)
		const n = 20 // of them every second is received
		for tag := range Tag(n) {
			out := &MSO{Kind: KindSend, Peer: 1, Tag: tag, Buf: pattern(1<<20, int(tag))}
			es[0].Post(out, Computes)
			es[0].Abandon(out, ErrStopped)
			waitDone(t, "abandoned", es[0], out)
		}
		var drained, received atomic.Bool
		receive := func(tag Tag) {
			in := &MSO{Kind: KindRecv, Peer: 0, Tag: tag, Buf: make([]byte, 1<<20)}
			es[1].Post(in, Computes)
			es[1].Wait(in)
			if in.Err != nil || !bytes.Equal(in.Buf, pattern(1<<20, int(tag))) {
				t.Errorf("message %d: %v", tag, in.Err)
			}
		}
		both(t, es, func() {
			for !received.Load() {
				es[0].Test(new(MSO)) // which makes progress under caller
			}
			if err := es[0].Drain(t.Context()); err != nil {
				t.Error(err)
			}
			drained.Store(true)
		}, func() {
			for tag := Tag(0); tag < n; tag += 2 {
				receive(tag)
			}
			received.Store(true)
			for !drained.Load() {
				es[1].Test(new(MSO))
			}
		})
		if s := es[0].Stats(); s.Detached != 0 || s.Active != 0 || s.Cancelled != n/2 {
			t.Errorf("%d messages live on, %d operations, %d cancelled", s.Detached, s.Active, s.Cancelled)
		}
		if s := es[1].Stats(); s.EventQueue != 0 {
			t.Errorf("%d messages are announced still", s.EventQueue)
		}
	})
}

// TestDrain: Drain ends at once if nothing is on its way. If a rank must receive first, it ends
// with its context, or when that rank has received.
func TestDrain(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		es := job(t, 2, p, nil)
		exchangeAll(t, es)
		if err := es[0].Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		b := NewBuffer([]byte{1}, true)
		big := make([]byte, 4<<20) // announced
		if ok, err := es[0].Bsend(b, &MSO{Kind: KindSend, Peer: 1, Tag: 9, Buf: big}); !ok || err != nil {
			t.Fatal(ok, err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		cancel(enough)
		if err := es[0].Drain(ctx); !errors.Is(err, enough) {
			t.Errorf("Drain of a message that nobody receives: %v", err)
		}
		both(t, es, func() {
			if err := es[0].Drain(t.Context()); err != nil {
				t.Error(err)
			}
		}, func() {
			m := &MSO{Kind: KindRecv, Peer: 0, Tag: 9, Buf: make([]byte, len(big))}
			es[1].Post(m, Computes)
			es[1].Wait(m)
		})
		both(t, es, func() { es[0].Close(time.Minute) }, func() { es[1].Close(time.Minute) })
		if err := es[0].Drain(t.Context()); !errors.Is(err, ErrStopped) {
			t.Errorf("Drain after Close: %v", err)
		}
	})
}

// TestCallBack: messages that were given up are back before the rank goes on, and for the answer of
// an idle rank, which may have ended, neither CallBack nor Drain waits.
func TestCallBack(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		es := job(t, 2, p, nil)
		exchangeAll(t, es)
		giveUp := func(tag Tag) {
			out := &MSO{Kind: KindSend, Peer: 1, Tag: tag, Buf: pattern(1<<20, int(tag))}
			es[0].Post(out, Computes)
			es[0].Abandon(out, ErrStopped)
			waitDone(t, "abandoned", es[0], out)
		}
		giveUp(1)
		giveUp(2)
		var back atomic.Bool
		both(t, es, func() {
			es[0].CallBack(t.Context())
			back.Store(true)
		}, func() {
			for !back.Load() {
				es[1].Test(new(MSO)) // which makes progress under caller
			}
		})
		if s, u := es[0].Stats(), es[1].Stats(); s.Detached != 0 || s.Cancelled != 2 || u.EventQueue != 0 {
			t.Errorf("%d messages live on, %d are cancelled, %d announced", s.Detached, s.Cancelled, u.EventQueue)
		}
		if p != Caller {
			return // the peer has a worker, which answers
		}
		giveUp(3)
		es[0].Excuse(1, true)
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if err := es[0].Drain(over); err != nil {
			t.Errorf("Drain waits for a peer that rests: %v", err)
		}
		es[0].CallBack(t.Context())
		if s := es[0].Stats(); s.Detached != 1 {
			t.Errorf("%d messages live on: the peer has answered, which makes no progress", s.Detached)
		}
		es[0].Excuse(1, false)
	})
}
