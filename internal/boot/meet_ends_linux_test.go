//go:build !fitmpi_portable

package boot

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/strangers/strangerstest"
)

func TestMeetingAborted(t *testing.T) {
	const size = 3
	for who := range size {
		t.Run(strconv.Itoa(who), func(t *testing.T) {
			said := newLines()
			all := attendAll(t, size, unixMeeting(t, size, said))
			text := fmt.Sprintf("rank %d (pid %d on %s) aborted the job with code 7: enough", who, os.Getpid(), all[0].Info().Host)
			var others sync.WaitGroup
			for r, s := range all {
				if r == who {
					continue
				}
				others.Go(func() {
					wantEvent(t, s, Event{Kind: JobAborted, Rank: who, Message: text, Code: 7})
					s.Close()
				})
			}
			err := all[who].Abort(7, "enough\n")
			want := "fitmpi: " + text + "\n"
			if said.String() != want { // before this rank may exit: a launcher that sees that ends the leader
				t.Errorf("the ranks say %q, want %q", said, want)
			}
			if err = errors.Join(err, all[who].Close()); err != nil {
				t.Error(err)
			}
			others.Wait()
			if said.String() != want {
				t.Errorf("in the end the ranks have said %q, want %q", said, want)
			}
		})
	}
}

// TestMeetingLeaderIdles: a rank 0 that is idle may be gone: the others go on, with the bells that
// they have fetched, and hear of it only if it had taken part again.
func TestMeetingLeaderIdles(t *testing.T) {
	for _, again := range []bool{false, true} {
		all := attendAll(t, 3, tcpMeeting(t, 3, newLines()))
		for _, s := range all {
			if err := UseSessions(s); err != nil {
				t.Fatal(err)
			}
		}
		if err := Idle(t.Context(), all[0]); err != nil {
			t.Fatal(err)
		}
		if again {
			if err := Wake(all[0]); err != nil {
				t.Fatal(err)
			}
		}
		hub := all[0].(*hubSession).hub
		hub.post(func() { // as when the process dies: nothing is said
			for _, m := range hub.members {
				m.link.conn.Close()
			}
		})
		for _, s := range all[1:] {
			member := s.(*session)
			<-member.donec // all that came is read
			if again {
				wantEvent(t, s, Event{Kind: LauncherGone, Rank: -1, Code: 1, Message: "lost rank 0: it closed the connection or died"})
			} else if n := len(member.events); n > 0 {
				t.Errorf("rank %d has %d events", s.Info().Rank, n)
			}
			if err := Idle(t.Context(), s); err != nil {
				t.Error(err)
			}
		}
		for _, s := range all {
			s.Close()
		}
	}
}

// A rank that hangs up before it is done has died.
func TestMeetingLosesRank(t *testing.T) {
	const size = 3
	for who := 1; who < size; who++ {
		said := newLines()
		all := attendAll(t, size, tcpMeeting(t, size, said))
		all[who].Close()
		text := fmt.Sprintf("rank %d (pid %d on %s) is gone: it exited without Finalize, or was killed", who, os.Getpid(), all[0].Info().Host)
		var others sync.WaitGroup
		for r, s := range all {
			if r == who {
				continue
			}
			others.Go(func() {
				wantEvent(t, s, Event{Kind: PeerFailed, Rank: who, Message: text, Code: 1})
				wantEvent(t, s, Event{Kind: JobAborted, Rank: -1, Message: text, Code: 1})
				s.Close()
			})
		}
		others.Wait()
		said.want(t, "fitmpi: "+text+"\n")
	}
}

func TestMeetingLosesLeader(t *testing.T) {
	all := attendAll(t, 2, tcpMeeting(t, 2, io.Discard))
	leader := all[0].(*hubSession)
	var dying sync.WaitGroup
	dying.Go(func() { leader.Close() }) // without Finalizing
	ctx := failsafe(t)
	for kind := EventKind(0); kind != LauncherGone; {
		select {
		case ev := <-all[1].Events():
			kind = ev.Kind
		case <-ctx.Done():
			t.Fatal("the end of rank 0 went unnoticed")
		}
		if kind == JobAborted {
			all[1].Close()
			break
		}
	}
	dying.Wait()
	all[1].Close()
}

// TestMeetingLosesLeaderAtOnce: a rank was welcomed by a leader that died before it had given what
// the rank needs to do without it. The rank does not wait for another leader.
func TestMeetingLosesLeaderAtOnce(t *testing.T) {
	t.Setenv(envFT, "1")
	m := unixMeeting(t, 2, io.Discard)(1)
	m.patience = 3 * time.Second // else a minute, which the rank is not to wait
	listener, err := listenLocal(m.address)
	if err != nil {
		t.Fatal(err)
	}
	bell, other, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer bell.Close()
	defer other.Close()
	var leading sync.WaitGroup
	leading.Go(func() {
		defer listener.Close()
		conn, err := listener.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		l := newLink(conn)
		l.join = true
		defer l.Close()
		for greeted := false; ; {
			n, err := l.Next()
			switch {
			case err != nil:
				t.Error("the rank has gone: ", err)
				return
			case n.Kind == arrived && !greeted:
				info := Info{Rank: 1, Size: 2, LocalRank: 1, LocalSize: 2, Host: "here", Cores: 1, Universe: 2, Bell: bell}
				info.Job, info.Secret = NewJob()
				l.greet(info)
				greeted = true
			case n.Kind == BellAsked:
				return
			}
		}
	})
	s, err := m.attend(t.Context())
	if s != nil {
		s.Close()
	}
	if err == nil || err.Error() != "boot: fetching the bells of this host: lost rank 0" {
		t.Errorf("%v", err)
	}
	leading.Wait()
}

// TestMeetingGoesOn: where the job goes on without its dead, the other ranks are told which rank
// died, and nothing else. The leader is told too. The others need no leader for the bells, nor for
// their end.
func TestMeetingGoesOn(t *testing.T) {
	t.Setenv(envFT, "1")
	for network, newMeeting := range map[string]func(*testing.T, int, io.Writer) func(int) *meeting{"tcp": tcpMeeting, "unix": unixMeeting} {
		t.Run(network, func(t *testing.T) {
			const size = 4
			said := newLines()
			all := attendAll(t, size, newMeeting(t, size, said))
			wantExchange(t, all)
			text := fmt.Sprintf("rank 2 (pid %d on %s) is gone: it exited without Finalize, or was killed", os.Getpid(), all[0].Info().Host)
			all[2].Close()
			for _, r := range []int{0, 1, 3} {
				wantEvent(t, all[r], Event{Kind: PeerFailed, Rank: 2, Message: text, Code: 1})
			}
			said.want(t, "fitmpi: "+text+"; the others go on\n")
			all[0].Close()
			for _, r := range []int{1, 3} {
				select {
				case ev := <-all[r].Events():
					if ev.Kind != PeerFailed || ev.Rank != 0 {
						t.Errorf("rank %d hears %+v of the death of the leader", r, ev)
					}
				case <-failsafe(t).Done():
					t.Fatalf("rank %d: the end of rank 0 went unnoticed", r)
				}
			}
			for _, other := range []int{1, 3} {
				if network != "unix" {
					break
				}
				got := make(chan *os.File, 1)
				if err := all[1].Bell(other, func(f *os.File) { got <- f }); err != nil {
					t.Fatalf("the bell of rank %d, after the death of the leader: %v", other, err)
				}
				f := <-got
				wantSame(t, f, all[other].Info().Bell)
				f.Close()
			}
			finishAll(t, []Session{all[1], all[3]})
			for _, r := range []int{1, 3} {
				if ev, ok := <-all[r].Events(); ok {
					t.Errorf("rank %d hears %+v at its end", r, ev)
				}
			}
		})
	}
}

// TestMeetingUnderFire: ranks find each other at rank 0 while all kinds of strangers come there,
// and nothing is left of these.
func TestMeetingUnderFire(t *testing.T) {
	before := strangerstest.Held()
	said := newLines()
	of := tcpMeeting(t, 2, said)
	var leader Session
	var wg sync.WaitGroup
	wg.Go(func() {
		m := of(0)
		m.every = 10 * time.Millisecond
		s, err := m.attend(t.Context())
		if err != nil {
			t.Error(err)
		}
		leader = s
	})
	said.want(t, "1 of 2 ranks have not come (1)")
	hello := appendMessage(nil, message{Type: typeJoin, Version: Version, Rank: 1, Size: 2, Place: &place{}})
	if n := strangerstest.Fire(t, of(0).address, 1000, hello); n != 1000 {
		t.Errorf("%d of 1000 connections could be made", n)
	}
	var flood sync.WaitGroup
	flood.Go(func() { strangerstest.Fire(t, of(0).address, 1000, hello) })
	follower, err := of(1).attend(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	flood.Wait()
	finishAll(t, []Session{leader, follower})
	strangerstest.Same(t, before)
}
