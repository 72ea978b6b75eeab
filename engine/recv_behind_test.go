package engine

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/progress"
	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// TestRecvThere: a message that lies in the ring is taken by the caller that would post a receive
// for it, and one before it goes to the receive that was posted for that.
func TestRecvThere(t *testing.T) {
	for _, w := range []Way{Thread, Shared} {
		t.Run(w.String(), func(t *testing.T) {
			es := localPair(t, w)
			es[0].right.Note(progress.State.Want) // its worker stays away, so that what is in the ring is the caller's
			defer es[0].unwant()
			within(t, "a message that is taken, behind one that was posted for", func() {
				for taken, passed := false, false; !taken || !passed; {
					for _, tag := range []Tag{3, 4, 5} {
						send(es[1], []byte{byte(tag)}, 0, tag)
					}
					_, _, now := receiveNow(es[0], 3, make([]byte, 1)) // leaves the others in the ring, if no other goroutine has come before it
					first := &MSO{Kind: KindRecv, Peer: 1, Tag: 4, Buf: make([]byte, 1)}
					es[0].Post(first, Computes)
					waited := !first.IsDone()
					r := Message{Peer: 1, Tag: 5, Buf: make([]byte, 1)}
					if !es[0].Recv(&r, Computes) {
						recvInto(es[0], r.Buf, 1, 5)
					} else if taken = true; !first.IsDone() {
						t.Fatal("a message was taken before the one that lay before it")
					} else if r.Length != 1 || r.GotTag != 5 {
						t.Fatalf("%d bytes, tag %d", r.Length, r.GotTag)
					} else {
						passed = passed || now && waited
					}
					es[0].Wait(first)
					if first.Buf[0] != 4 || r.Buf[0] != 5 {
						t.Fatal("messages went to the wrong receives")
					}
				}
			})
		})
	}
}

// TestRecvThereLeaves: what a Recv that computes next is not for stays where it is.
func TestRecvThereLeaves(t *testing.T) {
	es := localPair(t, Thread)
	refuses := func(what string, r Message) {
		t.Helper()
		r.Peer = 1
		if es[0].Recv(&r, Computes) {
			t.Errorf("Recv received %s", what)
		}
	}
	refuses("what is not there", Message{Tag: 3, Buf: make([]byte, 10)})
	send(es[1], []byte("longer"), 0, 3)
	refuses("what does not fit", Message{Tag: 3, Buf: make([]byte, 5)})
	refuses("what has another tag", Message{Tag: 4, Buf: make([]byte, 10)})
	refuses("what has another context", Message{Ctx: 2, Tag: 3, Buf: make([]byte, 10)})
	buf := make([]byte, 6)
	recvInto(es[0], buf, 1, 3)
	if string(buf) != "longer" {
		t.Errorf("received %q", buf)
	}
	for _, e := range es {
		if s := e.Stats(); s.Active != 0 || s.EventQueue != 0 {
			t.Errorf("left behind: %+v", s.Stats)
		}
		eventually(t, "the progress right was not given back", func() bool { return !e.right.State().Held() })
	}
}

// TestRecvThereGivesCredit: any number of messages can be taken: their credit goes back.
func TestRecvThereGivesCredit(t *testing.T) {
	const n = 20_000 // several times the credit
	es := localPair(t, Shared)
	both(t, es, func() {
		taken, buf := 0, make([]byte, 8)
		for range n {
			if r := (Message{Peer: 1, Tag: 3, Buf: buf}); es[0].Recv(&r, Computes) {
				taken++
			} else {
				recvInto(es[0], buf, 1, 3)
			}
		}
		t.Logf("%d of %d messages were taken", taken, n)
	}, func() {
		for range n {
			send(es[1], make([]byte, 8), 0, 3)
		}
	})
}

// TestShortSendLeavesNothing: a short message that is in the ring needs no more work here, and the
// worker is not notified of it.
func TestShortSendLeavesNothing(t *testing.T) {
	es := localPair(t, Thread)
	send(es[0], []byte{1}, 1, 3) // the ring is in use
	recvInto(es[1], make([]byte, 1), 0, 3)
	eventually(t, "the command that takes the ring into use is not carried out", func() bool {
		es[0].mu.Lock()
		defer es[0].mu.Unlock()
		return len(es[0].cmds) == 0 && !es[0].habit.IsPending()
	})
	for range 10 {
		if !es[0].Send(&Message{Peer: 1, Tag: 3, Buf: []byte{1}}, Computes) {
			t.Fatal("no room for a short message")
		}
		if es[0].habit.IsPending() {
			t.Fatal("something is left to the worker")
		}
		recvInto(es[1], make([]byte, 1), 0, 3)
	}
}

// TestSettle: what callers have done themselves is not left to the worker any more; what is pending
// is.
func TestSettle(t *testing.T) {
	e := job(t, 1, Assist, func(c *Config) { c.KeepP = true })[0]
	settle := func() (owed bool) {
		e.takeRight()
		defer e.right.Release()
		e.right.Note(progress.State.Owe)
		e.habit.Leave(0, func() int64 { return sys.Nanotime() + int64(time.Hour) }) // whatever the machine does meanwhile
		defer e.habit.Forget()
		e.mu.Lock()
		defer e.mu.Unlock()
		e.settleLocked()
		return e.right.State().Owed()
	}
	for range progress.Enough {
		if e.habit.IsSet() || settle() {
			t.Error("nothing is pending, and it is left to the worker, or was not counted as a wait that came soon")
		}
	}
	if !e.habit.IsSet() {
		t.Error("callers that do themselves what they have left are not expected to come soon")
	}
	m := &MSO{Kind: KindRecv, Peer: 0, Tag: 1, Buf: make([]byte, 1)}
	e.Post(m, Computes)
	if !settle() {
		t.Error("a receive is pending, and the worker is to forget it")
	}
	e.Post(&MSO{Kind: KindSend, Peer: 0, Tag: 1, Buf: []byte{1}}, Computes)
	e.Wait(m)
}

// TestTakeRun: a receive that finds nothing waits for a message only where some have been taken
// before it without a message the other way, and once.
func TestTakeRun(t *testing.T) {
	es := localPair(t, Thread)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4)) // a P for each worker
	es[0].right.Note(progress.State.Want)           // its worker stays away, as in TestRecvThere
	defer es[0].unwant()
	l, r := es[0].laneTo(1), Message{Peer: 1, Tag: 3, Buf: make([]byte, 1)}
	take := func(n int) (all bool) {
		for range n {
			if send(es[1], []byte{1}, 0, 3); !es[0].Recv(&r, Computes) {
				recvInto(es[0], r.Buf, 1, 3)
				return false
			}
		}
		return true
	}
	state := func() (run int, flows bool) {
		es[0].mu.Lock()
		defer es[0].mu.Unlock()
		return l.run, l.flows
	}
	run := func() int { n, _ := state(); return n }
	inARow := func() {
		for !take(takeRun) || run() < takeRun { // until no other goroutine comes in between
		}
	}
	within(t, "a message that is sent while a receive waits for it", func() {
		for waited := false; !waited; {
			inARow()
			m := Message{Peer: 0, Tag: 3, Buf: []byte{1}}
			var sender sync.WaitGroup
			var looks, over atomic.Bool
			sender.Go(func() {
				looks.Store(true)
				for !es[0].right.State().Held() && !over.Load() {
				}
				if !es[1].Send(&m, Returns) {
					send(es[1], m.Buf, 0, 3)
				}
			})
			for !looks.Load() {
				sys.Yield()
			}
			waited = es[0].Recv(&r, Computes)
			over.Store(true)
			sender.Wait()
			if !waited {
				recvInto(es[0], r.Buf, 1, 3)
			}
		}
	})
	within(t, "a receive that does not find what it waits for", func() {
		for inARow(); es[0].Recv(&r, Computes) || run() != 0; { // the right may be the worker's for a moment
		}
	})
	within(t, "a run that begins again", func() {
		for !take(1) {
		}
	})
	if n := run(); n < 1 || n >= takeRun {
		t.Errorf("%d messages in a row, want few", n)
	}
	inARow()
	for _, flows := range []bool{true, false} { // a window and its answer, an answer alone
		send(es[0], []byte{1}, 1, 4)
		recvInto(es[1], make([]byte, 1), 0, 4)
		if n, f := state(); n != 0 || f != flows {
			t.Errorf("after a message the other way: %d in a row, flows %v; want none, %v", n, f, flows)
		}
	}
}

// TestShortOrdinals: messages that are sent and received at once have numbers of their own,
// whichever goroutine asks.
func TestShortOrdinals(t *testing.T) {
	effort.Need(t, effort.Usual, "goroutines send one after the other thousands of times")
	const goroutines, each = 4, 500
	es := localPair(t, Thread)
	var mu sync.Mutex
	seen := make(map[uint64]bool)
	note := func(n uint64) {
		mu.Lock()
		defer mu.Unlock()
		if seen[n] {
			t.Errorf("number %d was given twice", n)
		}
		seen[n] = true
	}
	both(t, es, func() {
		var all sync.WaitGroup
		for range goroutines {
			all.Go(func() {
				for range each {
					m := Message{Peer: 1, Tag: 3, Buf: []byte{1}}
					for !es[0].Send(&m, Computes) {
						sys.Yield() // no credit: the receiver is behind
					}
					note(m.Ordinal)
					if r := (Message{Peer: 1, Tag: 4, Buf: make([]byte, 1)}); es[0].Recv(&r, Computes) {
						note(r.Ordinal)
					} else {
						recvInto(es[0], r.Buf, 1, 4)
					}
				}
			})
		}
		all.Wait()
	}, func() {
		for range goroutines * each {
			recvInto(es[1], make([]byte, 1), 0, 3)
			send(es[1], []byte{1}, 0, 4)
		}
	})
	if len(seen) < goroutines*each {
		t.Errorf("%d numbers, want %d at least", len(seen), goroutines*each)
	}
}
