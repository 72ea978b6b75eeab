//go:build linux && !fitmpi_portable

package boot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"reflect"
	"slices"
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
	_, err = s.Exchange(t.Context(), nil)
	wantRefused(t, err, "boot: Exchange was called twice; a session exchanges cards once")
	wantRefused(t, s.Bell(0, nil), "boot: asking for a bell: the ranks of this job have none, as they share no memory")
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
		{"another version", `{"type":"welcome","v":2}` + "\n", "boot protocol version 2 at the other end, 1 here: use a program and a fitrun of one FitMPI version"},
		{"another message", `{"type":"event","event":"job-aborted"}` + "\n", `the first message is "event", want "welcome"`},
		{"a refusal", `{"type":"refused","text":"the job has begun"}` + "\n", "it refuses: the job has begun"},
		{"garbage", "hello\n", "malformed message: invalid character 'h' looking for beginning of value"},
		{"half a line", `{"type":`, "waiting for its welcome: unexpected EOF"},
		{"nothing", "", "waiting for its welcome: EOF: " + hintSpent},
		{"an endless line", strings.Repeat("x", maxLine+1), "waiting for its welcome: message longer than 65536 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			here, there := net.Pipe()
			var wg sync.WaitGroup
			wg.Go(func() {
				io.WriteString(there, tc.line)
				there.Close()
			})
			_, err := Open(here)
			wantRefused(t, err, "boot: talking to fitrun: "+tc.want)
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

func TestChangeCards(t *testing.T) {
	restore := ChangeCards(func(rank int, card []byte) []byte { return fmt.Appendf(nil, "%d: not %s", rank, card) })
	defer restore()
	s, l := connect(t, testInfo(1, 2))
	go s.Exchange(t.Context(), []byte("me"))
	if got, want := string(wantNotice(t, l, CardGiven).Card), "1: not me"; got != want {
		t.Errorf("the launcher is given the card %q, want %q", got, want)
	}
	restore()
	s, l = connect(t, testInfo(1, 2))
	go s.Exchange(t.Context(), []byte("me"))
	if got, want := string(wantNotice(t, l, CardGiven).Card), "me"; got != want {
		t.Errorf("after restore the launcher is given the card %q, want %q", got, want)
	}
}

func TestExchangeFails(t *testing.T) {
	t.Run("peer failed", func(t *testing.T) {
		s, l := connect(t, testInfo(0, 2))
		l.SendEvent(Event{Kind: PeerFailed, Rank: 1, Message: "rank 1 was killed"})
		_, err := s.Exchange(failsafe(t), nil)
		wantRefused(t, err, "boot: exchanging addresses: peer-failed: rank 1 was killed")
	})
	t.Run("launcher gone", func(t *testing.T) {
		s, l := connect(t, testInfo(0, 2))
		l.Close()
		wantGone(t, s, "it closed the connection or died")
		_, err := s.Exchange(failsafe(t), nil)
		wantRefused(t, err, "boot: handing the card to fitrun: write unix @->@: write: broken pipe")
		_, err = s.Exchange(failsafe(t), nil)
		wantRefused(t, err, "boot: Exchange was called twice; a session exchanges cards once")
	})
	t.Run("launcher ends", func(t *testing.T) {
		s, l := connect(t, testInfo(0, 2))
		failed := make(chan error, 1)
		go func() {
			_, err := s.Exchange(t.Context(), nil)
			failed <- err
		}()
		wantNotice(t, l, CardGiven)
		l.Close()
		wantRefused(t, <-failed, "boot: lost fitrun: it closed the connection or died")
	})
	t.Run("cancelled", func(t *testing.T) {
		s, l := connect(t, testInfo(0, 2))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Exchange(ctx, nil); !errors.Is(err, context.Canceled) || err.Error() != "boot: waiting for the cards of all 2 ranks: context canceled" {
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
		_, err := s.Exchange(failsafe(t), nil)
		wantRefused(t, err, "boot: handing the card to fitrun: "+writeClosed)
		wantRefused(t, s.Finalizing(t.Context()), "boot: telling fitrun of the end: "+writeClosed)
		wantRefused(t, s.Abort(1, "why"), "boot: asking fitrun to abort the job: "+writeClosed)
		wantRefused(t, s.Report(MetricsKey, ":1"), "boot: reporting metrics to fitrun: "+writeClosed)
		wantRefused(t, s.Answer(1, []byte("{}")), "boot: answering fitrun: "+writeClosed)
		_, err = Suspect(s, 1, "why")
		wantRefused(t, err, "boot: telling fitrun of rank 1: "+writeClosed)
	})
	t.Run("card too large", func(t *testing.T) {
		s, _ := connect(t, testInfo(0, 2))
		_, err := s.Exchange(failsafe(t), make([]byte, MaxCard+1))
		wantRefused(t, err, "boot: card of 16385 bytes; at most 16384 are allowed")
	})
}

// TestSessionRefuses: lines of a launcher that each are good, but not here.
func TestSessionRefuses(t *testing.T) {
	for _, tc := range []struct{ line, want string }{
		{`{"type":"cards","first":1,"cards":["AA==","AA=="]}`, "card of rank 2 came twice, or there is no such rank in a job of 2"},
		{`{"type":"cards","cards":["AA=="]}` + "\n" + `{"type":"cards","cards":["AA=="]}`, "card of rank 0 came twice, or there is no such rank in a job of 2"},
		{`{"type":"event","event":"peer-failed","rank":2}`, "event about rank 2 in a job of 2"},
		{strings.TrimSpace(string(new(Link).welcome(testInfo(0, 2)).line)), `message of type "welcome" from the launcher, which comes first or not at all`},
		{`{"type":"report"}`, `unexpected message of type "report" from the launcher`},
		{`x`, "malformed message: invalid character 'x' looking for beginning of value"},
	} {
		s, l := connect(t, testInfo(0, 2))
		l.send(outgoing{line: []byte(tc.line + "\n")})
		wantGone(t, s, tc.want)
	}
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

func TestQuestions(t *testing.T) {
	s, l := connect(t, testInfo(0, 1))
	l.SendEvent(Event{Kind: Asked, Rank: -1, Code: 12, Message: "how"})
	wantEvent(t, s, Event{Kind: Asked, Rank: -1, Code: 12, Message: "how"})
	if err := s.Answer(12, []byte(`{"well":"<enough>"}`)); err != nil {
		t.Fatal(err)
	}
	if n := wantNotice(t, l, Answered); n.Number != 12 || string(n.Data) != `{"well":"\u003cenough\u003e"}` {
		t.Errorf("answer %d: %s", n.Number, n.Data)
	}
	for _, data := range [][]byte{nil, make([]byte, MaxAnswer+1)} {
		wantRefused(t, s.Answer(1, data), fmt.Sprintf("boot: answering fitrun: answer of %d bytes; 1 to 61440 are allowed", len(data)))
	}
}

// TestQuestionsInVain: questions that no goroutine reads hold up nothing. What must arrive does
// arrive, and they do not end an exchange.
func TestQuestionsInVain(t *testing.T) {
	s, l := connect(t, testInfo(0, 1))
	for i := range 10 * MaxQuestions {
		l.SendEvent(Event{Kind: Asked, Rank: -1, Code: i, Message: "how"})
	}
	c := NewCards(1)
	if err := c.Put(0, []byte("me")); err != nil {
		t.Fatal(err)
	}
	l.SendCards(c)
	if _, err := s.Exchange(failsafe(t), []byte("me")); err != nil {
		t.Error(err)
	}
	l.SendEvent(Event{Kind: JobAborted, Rank: -1, Message: "timeout", Code: 110})
	for i := 0; ; i++ {
		ev, open := <-s.Events()
		if ev.Kind == JobAborted {
			break
		}
		if !open || ev.Kind != Asked || ev.Code != i || i >= MaxQuestions {
			t.Fatalf("event %d is %+v", i, ev)
		}
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

// A shell may run two programs as one rank: the second has the socket of the first. When that has
// finalized the second is told so, at once. The launcher still hears the first to its end.
func TestSecondProcessOfRank(t *testing.T) {
	conn, fd := socketPair(t)
	second, err := syscall.Dup(fd)
	if err != nil {
		t.Fatal(err)
	}
	l := NewLink(conn, testInfo(0, 1))
	defer l.Close()
	open := func(fd int) (Session, error) {
		here, err := inherit(strconv.Itoa(fd), "fitrun")
		if err != nil {
			t.Fatal(err)
		}
		return Open(here)
	}
	s, err := open(fd)
	if err != nil {
		t.Fatal(err)
	}
	wantNotice(t, l, Joined)
	if err := errors.Join(s.Finalizing(failsafe(t)), s.Close()); err != nil {
		t.Fatal(err)
	}
	wantNotice(t, l, Finalizing)
	if _, err = open(second); err == nil || !strings.HasSuffix(err.Error(), "EOF: "+hintSpent) {
		t.Errorf("%v, want it to say: %s", err, hintSpent)
	}
	if _, err := l.Next(); err != io.EOF {
		t.Errorf("the launcher reads %v, want %v", err, io.EOF)
	}
}

// A process that was a rank may end without closing, as one whose sessions are finalized may: the
// next that has its socket says hello, and is told why it has no place. The first may say hello
// twice, and reads refusals that are not for it.
func TestSecondProcessOfIdleRank(t *testing.T) {
	conn, fd := socketPair(t)
	second, err := syscall.Dup(fd)
	if err != nil {
		t.Fatal(err)
	}
	l := NewLink(conn, testInfo(0, 1))
	defer l.Close()
	first, err := inherit(strconv.Itoa(fd), "fitrun")
	if err != nil {
		t.Fatal(err)
	}
	in := newReceiver(first)
	if _, err := readWelcome(in); err != nil {
		t.Fatal(err)
	}
	const pid = 1 // which this process is not
	said := slices.Concat(
		appendMessage(nil, message{Type: typeHello, Version: Version, PID: pid}),
		appendMessage(nil, message{Type: typeHello, Version: Version, PID: pid}),
		appendMessage(nil, message{Type: typeReport, Key: IdleKey, Text: idle}),
	)
	if _, err := first.Write(said); err != nil {
		t.Fatal(err)
	}
	wantNotice(t, l, Joined)
	wantNotice(t, l, Reported)
	in.rights.close()
	first.Close() // as the end of its process does
	here, err := inherit(strconv.Itoa(second), "fitrun")
	if err != nil {
		t.Fatal(err)
	}
	var heard sync.WaitGroup
	heard.Go(func() {
		if n, err := l.Next(); err != io.EOF {
			t.Errorf("the launcher reads %v, %v, want %v", n, err, io.EOF)
		}
	})
	const want = "it refuses: process 1 was this rank before, and has joined the job"
	if _, err := Open(here); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want it to say: %s", err, want)
	}
	heard.Wait()
}

// Of two processes that have a rank's socket, one may be the rank: the other is told so before it
// reads or writes, and may be it when the first is through.
func TestTwoProcessesOfRank(t *testing.T) {
	conn, fd := socketPair(t)
	defer conn.Close()
	second, err := syscall.Dup(fd)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(second), "second")
	defer f.Close()
	other := func() string {
		cmd := exec.CommandContext(failsafe(t), os.Args[0])
		cmd.Env, cmd.ExtraFiles = append(os.Environ(), envInherit+"=3"), []*os.File{f}
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	first, err := inherit(strconv.Itoa(fd), "fitrun")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("process %d is this rank already: ", os.Getpid()); !strings.HasPrefix(other(), want) {
		t.Errorf("another process says %q, want %q and more", other(), want)
	}
	first.Close()
	if said := other(); said != "" {
		t.Errorf("the next process says %q, want nothing", said)
	}
}

// A rank goes on when fitrun refuses another process that has its socket.
func TestRefusalOfAnother(t *testing.T) {
	s, l := connect(t, testInfo(0, 2))
	for pid := range mostRefused + 10 {
		if _, err := s.(*session).conn.Write(appendMessage(nil, message{Type: typeHello, Version: Version, PID: -1 - pid})); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Report("k", "v"); err != nil {
		t.Fatal(err)
	}
	wantNotice(t, l, Reported)
	if l.refused != mostRefused {
		t.Errorf("%d processes were refused, want %d", l.refused, mostRefused)
	}
	ev := Event{Kind: PeerFailed, Rank: 1, Message: "it was killed", Code: 137}
	l.SendEvent(ev)
	wantEvent(t, s, ev)
}
