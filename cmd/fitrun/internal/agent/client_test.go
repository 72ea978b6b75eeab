//go:build linux

package agent

import (
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
	"github.com/fitmpi/fitmpi/internal/boot"
)

// deaf is a leader that does not listen.
type deaf struct{}

func (deaf) Started(proc, pid int)                                          {}
func (deaf) NotStarted(proc int, err error)                                 {}
func (deaf) Noticed(rank int, n boot.Notice)                                {}
func (deaf) Examined(int, crew.Condition)                                   {}
func (deaf) LinkBroken(rank int, err error)                                 {}
func (deaf) Exited(proc int, e crew.Exit)                                   {}
func (deaf) Counted()                                                       {}
func (deaf) Say(text string)                                                {}
func (deaf) Lost(err error)                                                 {}
func (deaf) Show(int, crew.Stream, crew.Source, *crew.Tail) <-chan struct{} { return nil }

// hearer writes down what it hears.
type hearer struct {
	deaf
	log []string
}

func (h *hearer) did(format string, args ...any)  { h.log = append(h.log, fmt.Sprintf(format, args...)) }
func (h *hearer) Started(proc, pid int)           { h.did("started %d %d", proc, pid) }
func (h *hearer) Exited(proc int, e crew.Exit)    { h.did("exited %d %v", proc, e) }
func (h *hearer) Noticed(rank int, n boot.Notice) { h.did("noticed %d %v", rank, n.Kind) }
func (h *hearer) Counted()                        { h.did("counted") }
func (h *hearer) Lost(err error)                  { h.did("lost %v", err) }

// newTestClient is that of a host with two processes, of the ranks 4, and 5 and 6.
func newTestClient() *Client {
	f := NewFleet([]Target{{Host: 1, Name: "b"}}, Config{Silence: time.Second})
	c := f.Client(1)
	c.Plan(crew.Plan{Processes: []crew.Process{
		{Ranks: []boot.Info{{Rank: 4}}}, {Ranks: []boot.Info{{Rank: 5}, {Rank: 6}}},
	}}, 7, deaf{})
	return c
}

func (h *hearer) want(t *testing.T, why string, want ...string) {
	t.Helper()
	if fmt.Sprint(h.log) != fmt.Sprint(want) {
		t.Errorf("%s: %q, want %q", why, h.log, want)
	}
	h.log = nil
}

func TestClientReports(t *testing.T) {
	c, h := newTestClient(), new(hearer)
	c.to = h
	c.take(pack(kindStarted, 1, procPID{1, 99}))
	c.take(pack(kindNoticed, 1, rankNotice{6, boot.Notice{Kind: boot.Finalizing}}))
	c.take(pack(kindExited, 1, procExit{1, crew.Exit{Code: 3}}))
	h.want(t, "what happens", "started 1 99", "noticed 6 finalizing", "exited 1 exited with code 3")
	if u := c.Use(); u != nil {
		t.Errorf("how busy it is at the end is known before: %v", u)
	}
	c.take(pack(kindDone, 1, Use{Memory: 8 << 30, Available: 3 << 20, Load: "0.5 1 2"}))
	c.Wait()
	if u := c.Use(); u == nil || u.String() != "3 of 8192 MiB of memory free, load 0.5 1 2" {
		t.Errorf("at the end it is %v", u)
	}
	c.take(pack(kindLost, 1, text{"gone"}))
	h.want(t, "the end")
}

// What makes no sense ends the host.
func TestClientRefuses(t *testing.T) {
	for _, tc := range []struct {
		f    frame
		want string
	}{
		{pack(kindStarted, 1, procPID{2, 99}), "news of process 2 of 2"},
		{pack(kindExited, 1, procExit{Proc: -1}), "news of process -1 of 2"},
		{pack(kindNoticed, 1, rankNotice{Rank: 3}), "news of rank 3, which is not there"},
		{packOutput(1, 0, crew.Stdout, []byte("x")), "output of process 0, which does not run"},
		{packOutput(1, 1, crew.Stdout, make([]byte, window+1)), "more came of a stream than the credit allowed"},
		{packOutput(1, 1, 9, []byte("x")), "output of stream 9; want 1, 2 or 3"},
		{frame{kindOutput, 1, make([]byte, 4)}, "output of 4 bytes; it begins with the 5 that say whose it is"},
		{pack(kindCredit, 1, credit{Bytes: 1}), "credit of 1 for stream 0"},
		{pack(kindHello, 1, hello{}), "frame of kind 1 from an agent"},
		{frame{kindSay, 1, []byte("{")}, "malformed message of kind 27: unexpected end of JSON input"},
	} {
		c, h := newTestClient(), new(hearer)
		c.to = h
		c.take(pack(kindStarted, 1, procPID{1, 99}))
		c.take(tc.f)
		h.want(t, fmt.Sprint("kind ", tc.f.kind), "started 1 99", "lost host b: "+tc.want)
		c.Wait()
	}
}

// Until a census is complete, every rank may hang up; without one, all stay.
func TestCensus(t *testing.T) {
	c, h := newTestClient(), new(hearer)
	c.to = h
	want := func(what string, of4, of5 crew.Leaving) {
		t.Helper()
		if a, b := c.LeavingOf(4), c.LeavingOf(5); a != of4 || b != of5 {
			t.Errorf("%s: %d and %d, want %d and %d", what, a, b, of4, of5)
		}
	}
	want("no census was asked for", crew.Stays, crew.Stays)
	c.Census()
	want("not known yet", crew.HangsUp, crew.HangsUp)
	c.take(pack(kindGone, 1, gone{Ranks: []int{5}}))
	h.want(t, "the answer", "counted")
	want("rank 5 hung up", crew.Stays, crew.HangsUp)
	c.take(pack(kindGone, 1, gone{Ranks: []int{4, 5}, Exits: []int{4}}))
	h.want(t, "the answer", "counted")
	want("rank 4 exits, too", crew.Exits, crew.HangsUp)
}

func TestFlows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newOutflow(0)
		in := newInflow(out.give)
		out.give(window)
		go func() { // ends with what it sends
			for sent := 0; sent < 3*window; {
				n := out.take(1000)
				in.put(make([]byte, n))
				sent += n
			}
			in.put(nil)
		}()
		synctest.Wait()
		if len(in.buf) != window {
			t.Errorf("%d bytes are on their way, want %d", len(in.buf), window)
		}
		if n, err := io.Copy(io.Discard, in); err != nil || n < 3*window {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
}

func TestInflow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		freed := 0
		in := newInflow(func(n int) { freed += n })
		began := time.Now()
		in.SetReadDeadline(began.Add(time.Minute))
		if _, err := in.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		in.put([]byte("abc"))
		if n, err := in.Read(make([]byte, 2)); n != 2 || err != nil { // what is there is read, whatever the time
			t.Errorf("%d, %v", n, err)
		}
		if err := in.put(make([]byte, window)); !errors.Is(err, errFlooded) {
			t.Errorf("%v, want a complaint", err)
		}
		in.Close()
		if freed != 3 {
			t.Errorf("room for %d bytes is free again, want 3", freed)
		}
		in.put([]byte("late"))
		if freed != 7 {
			t.Errorf("room for %d bytes is free again, want 7", freed)
		}
		if _, err := in.Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	})
}

// TestEarlyFrames: a host that says more than was asked before the job is started is lost, and not
// unheard; others have room.
func TestEarlyFrames(t *testing.T) {
	f := NewFleet([]Target{{Host: 1, Name: "b"}, {Host: 2, Name: "c"}}, Config{Silence: time.Second})
	for i := range maxEarly {
		if err := f.take(pack(kindStored, 1, stored{})); err != nil {
			t.Fatalf("frame %d: %v", i, err)
		}
	}
	err := f.take(pack(kindStored, 1, stored{}))
	if err == nil || err.Error() != "host b says more than it was asked: a frame of kind 19" {
		t.Errorf("one more frame: %v", err)
	}
	for range 3 { // as its conversation ends with that
		if err := f.take(pack(kindLost, 1, text{"over"})); err != nil {
			t.Error(err)
		}
	}
	for range maxEarly {
		if err := f.take(pack(kindStored, 2, stored{})); err != nil {
			t.Errorf("of the other host: %v", err)
		}
	}
	lost := 0
	for len(f.inbox) > 0 {
		if fr := <-f.inbox; fr.kind == kindLost {
			lost++
		}
	}
	if lost != 1 {
		t.Errorf("the loss was heard %d times", lost)
	}
}

func TestTooManyPrograms(t *testing.T) {
	f := NewFleet([]Target{{Host: 1, Name: "b"}}, Config{Silence: time.Second})
	_, err := f.Prepare(t.Context(), map[int][]Program{1: make([]Program, maxPrograms+1)}, nil)
	if err == nil || err.Error() != "host b: 65 programs of the job are to run there; at most 64 can" {
		t.Error(err)
	}
}

// TestShortSilence: an agent that would beat without pause does not begin.
func TestShortSilence(t *testing.T) {
	for s, want := range map[string]string{
		"1ns":   "a host that is lost after 1ns of silence: want 1s or more",
		"999ms": "a host that is lost after 999ms of silence: want 1s or more",
		"-1s":   "a host that is lost after -1s of silence: want 1s or more",
		"soon":  `"soon" is no duration`,
	} {
		if err := serveArgs([]string{"--stdio", s}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", s, err, want)
		}
	}
}
