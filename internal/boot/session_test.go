package boot

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func TestInfoTravels(t *testing.T) {
	want := testInfo(2, 5)
	s, _ := connect(t, want)
	if got := s.Info(); !reflect.DeepEqual(got, want) {
		t.Errorf("info %+v, want %+v", got, want)
	}
}

func TestFindAlone(t *testing.T) {
	s, err := Find([]string{"HOME=/"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	info := s.Info()
	if info.Size != 1 || info.Rank != 0 || info.Source != "none" || len(info.Secret) != SecretSize || info.Cores < 1 {
		t.Errorf("info %+v is not that of a job of one rank", info)
	}
	cards, err := s.Exchange(t.Context(), []byte("me"))
	if err != nil || len(cards) != 1 || string(cards[0]) != "me" {
		t.Errorf("Exchange: %q, %v; want the own card", cards, err)
	}
	if _, err := s.Exchange(t.Context(), nil); err == nil {
		t.Error("a second Exchange passed")
	}
	if err := errors.Join(s.Finalizing(t.Context()), s.Abort(1, "x"), s.Report("k", "v"), s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	if _, open := <-s.Events(); open {
		t.Error("events are open after Close")
	}
}

func TestFindTakesTheDescriptorOver(t *testing.T) {
	conn, fd := socketPair(t)
	l := NewLink(conn, testInfo(0, 1))
	defer l.Close()
	t.Setenv(FDVariable, strconv.Itoa(fd))
	s, err := Find(os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if v, ok := os.LookupEnv(FDVariable); ok {
		t.Errorf("%s=%s is still set", FDVariable, v)
	}
	raw, err := s.(*session).conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	raw.Control(func(fd uintptr) {
		flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_GETFD, 0)
		if errno != 0 || flags&syscall.FD_CLOEXEC == 0 {
			t.Errorf("flags %#x, %v: a child of the rank would inherit the descriptor", flags, errno)
		}
	})
}

func TestFindMalformed(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, tc := range []struct{ value, want string }{
		{"", "want the number"},
		{"three", "want the number"},
		{"2", "want the number"},
		{"-1", "want the number"},
		{"999999", "no such descriptor"},
		{strconv.Itoa(int(null.Fd())), "not a socket"},
	} {
		_, err := Find([]string{FDVariable + "=" + tc.value})
		if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), FDVariable) {
			t.Errorf("%q: %v, want it to name %s and say %q", tc.value, err, FDVariable, tc.want)
		}
	}
	if _, err := null.Stat(); err != nil {
		t.Errorf("Find closed a descriptor that is not fitrun's: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, tc := range []struct{ name, line, want string }{
		{"another version", `{"type":"welcome","v":2}` + "\n", "version 2"},
		{"another message", `{"type":"event","event":"job-aborted"}` + "\n", `want "welcome"`},
		{"garbage", "hello\n", "malformed"},
		{"half a line", `{"type":`, "unexpected EOF"},
		{"nothing", "", "EOF"},
		{"an endless line", strings.Repeat("x", maxLine+1), "longer than"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			here, there := net.Pipe()
			var wg sync.WaitGroup
			wg.Go(func() {
				io.WriteString(there, tc.line)
				there.Close()
			})
			_, err := Open(here)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want it to say %q", err, tc.want)
			}
			wg.Wait()
		})
	}
}

func TestExchange(t *testing.T) {
	const size = 5
	table := NewCards(size)
	sessions, links := make([]Session, size), make([]*Link, size)
	for r := range size {
		sessions[r], links[r] = connect(t, testInfo(r, size))
	}
	card := func(r int) []byte { return bytes.Repeat([]byte{byte(r)}, r*MaxCard/(size-1)) } // rank 0's is empty
	var wg sync.WaitGroup
	for r, s := range sessions {
		wg.Go(func() {
			cards, err := s.Exchange(failsafe(t), card(r))
			if err != nil {
				t.Errorf("rank %d: %v", r, err)
				return
			}
			for i := range size {
				if !bytes.Equal(cards[i], card(i)) {
					t.Errorf("rank %d has a wrong card of rank %d", r, i)
				}
			}
		})
	}
	for r, l := range links {
		if err := table.Put(r, wantNotice(t, l, CardGiven).Card); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range links {
		l.SendCards(table)
	}
	wg.Wait()
}

func TestExchangeFails(t *testing.T) {
	t.Run("peer failed", func(t *testing.T) {
		s, l := connect(t, testInfo(0, 2))
		l.SendEvent(Event{Kind: PeerFailed, Rank: 1, Message: "rank 1 was killed"})
		if _, err := s.Exchange(failsafe(t), nil); err == nil || !strings.Contains(err.Error(), "rank 1 was killed") {
			t.Errorf("%v, want the reason", err)
		}
	})
	t.Run("launcher gone", func(t *testing.T) {
		s, l := connect(t, testInfo(0, 2))
		l.Close()
		if _, err := s.Exchange(failsafe(t), nil); err == nil {
			t.Error("Exchange passed without a launcher")
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		s, l := connect(t, testInfo(0, 2))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Exchange(ctx, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want %v", err, context.Canceled)
		}
		if err := s.Abort(3, "gave up"); err != nil { // the session is still good
			t.Error(err)
		}
		wantNotice(t, l, CardGiven)
		wantNotice(t, l, AbortAsked)
	})
	t.Run("closed", func(t *testing.T) {
		s, _ := connect(t, testInfo(0, 2))
		s.Close()
		if _, err := s.Exchange(failsafe(t), nil); err == nil {
			t.Error("Exchange passed on a closed session")
		}
	})
	t.Run("card too large", func(t *testing.T) {
		s, _ := connect(t, testInfo(0, 2))
		if _, err := s.Exchange(failsafe(t), make([]byte, MaxCard+1)); err == nil {
			t.Error("a card beyond the limit passed")
		}
	})
}

func TestEvents(t *testing.T) {
	s, l := connect(t, testInfo(0, 3))
	failed := Event{Kind: PeerFailed, Rank: 2, Message: "rank 2 (pid 7 on b) was killed", Code: 137}
	aborted := Event{Kind: JobAborted, Rank: -1, Message: "timeout", Code: 110}
	for range 10 { // repetitions neither arrive nor block
		l.SendEvent(failed)
		l.SendEvent(aborted)
	}
	wantEvent(t, s, failed)
	wantEvent(t, s, aborted)
	l.Close()
	select {
	case ev := <-s.Events():
		if ev.Kind != LauncherGone {
			t.Errorf("event %+v, want %v", ev, LauncherGone)
		}
	case <-failsafe(t).Done():
		t.Error("the end of the launcher went unnoticed")
	}
	s.Close()
	if ev, open := <-s.Events(); open {
		t.Errorf("event %+v after Close", ev)
	}
}

func TestCloseIsNoLoss(t *testing.T) {
	s, _ := connect(t, testInfo(0, 1))
	s.Close()
	if ev, open := <-s.Events(); open {
		t.Errorf("event %+v, want none: the session was closed on purpose", ev)
	}
}

func TestSessionOverPipe(t *testing.T) {
	here, there := net.Pipe()
	l := NewLink(there, testInfo(0, 1))
	defer l.Close()
	var s Session
	var wg sync.WaitGroup
	wg.Go(func() {
		var err error
		if s, err = Open(here); err != nil {
			t.Error(err)
		}
	})
	wantNotice(t, l, Joined)
	wg.Wait()
	s.Close()
	if _, err := l.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("%v, want %v", err, io.EOF)
	}
}
