//go:build linux && !fitmpi_portable

package boot

import (
	"fmt"
	"os"
	"testing"
)

func TestBellOfAnother(t *testing.T) {
	wantNoLeak(t)
	info := testInfo(0, 3)
	bells := []*os.File{newBell(t), newBell(t), newBell(t)} // before the link, which must not outlive them
	info.Bell = bells[0]
	s, l := connect(t, info)
	got := make(chan *os.File, 4)
	for _, r := range []int{2, 1, 2} { // a second request is another
		if err := s.Bell(r, func(f *os.File) { got <- f }); err != nil {
			t.Fatal(err)
		}
		if n := wantNotice(t, l, BellAsked); n.LocalRank != r {
			t.Fatalf("asked for the bell of %d, want %d", n.LocalRank, r)
		}
	}
	for _, r := range []int{1, 2, 2} {
		l.SendBell(r, bells[r])
		select {
		case f := <-got:
			wantCloexec(t, f)
			wantSame(t, f, bells[r])
			f.Close()
		case <-failsafe(t).Done():
			t.Fatalf("the bell of %d did not come", r)
		}
	}
	l.SendBell(1, bells[1]) // no call asked for it: closed, and no harm done
	l.SendEvent(Event{Kind: PeerFailed, Rank: 1})
	wantEvent(t, s, Event{Kind: PeerFailed, Rank: 1})
	select {
	case f := <-got:
		t.Errorf("%v came, though all were served", f)
	default:
	}
}

func TestBellRefused(t *testing.T) {
	never := func(*os.File) { t.Error("a bell came") }
	t.Run("none in this job", func(t *testing.T) {
		s, _ := connect(t, testInfo(0, 2))
		wantRefused(t, s.Bell(1, never), "boot: asking for a bell: the ranks of this job have none, as they share no memory")
	})
	t.Run("no such rank", func(t *testing.T) {
		info := testInfo(0, 2)
		info.Bell = newBell(t)
		s, _ := connect(t, info)
		for _, r := range []int{-1, 2} {
			wantRefused(t, s.Bell(r, never), fmt.Sprintf("boot: asking for the bell of local rank %d: there are 2 on this host", r))
		}
	})
	t.Run("session ends", func(t *testing.T) {
		info := testInfo(0, 2)
		info.Bell = newBell(t)
		s, l := connect(t, info)
		if err := s.Bell(1, never); err != nil {
			t.Fatal(err)
		}
		wantNotice(t, l, BellAsked)
		s.Close()
		wantRefused(t, s.Bell(1, never), "boot: asking fitrun for the bell of local rank 1: "+writeClosed)
	})
	t.Run("launcher ends", func(t *testing.T) {
		info := testInfo(0, 2)
		info.Bell = newBell(t)
		s, l := connect(t, info)
		failed := make(chan error, 1)
		go func() { failed <- s.(*session).fetchBells() }()
		for range info.LocalSize {
			wantNotice(t, l, BellAsked)
		}
		l.Close()
		wantRefused(t, <-failed, "boot: fetching the bells of this host: lost fitrun")
	})
}
