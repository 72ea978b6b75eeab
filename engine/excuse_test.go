package engine

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// TestExcusedPeerLeaves: a peer that is excused has left when it ends without a goodbye; another has failed.
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
			es[0].Post(m)
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

// TestDrain: Drain ends at once if nothing is on its way, with its context if somebody must receive first, and when he has.
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
			es[1].Post(m)
			es[1].Wait(m)
		})
		both(t, es, func() { es[0].Close(time.Minute) }, func() { es[1].Close(time.Minute) })
		if err := es[0].Drain(t.Context()); !errors.Is(err, ErrStopped) {
			t.Errorf("Drain after Close: %v", err)
		}
	})
}
