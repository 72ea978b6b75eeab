//go:build linux && !fitmpi_portable

package engine

import (
	"sync"
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
			eventually(t, "no message is taken, behind one that was posted for", func() (passed bool) {
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
				} else if !first.IsDone() {
					t.Fatal("a message was taken before the one that lay before it")
				} else if r.Length != 1 || r.GotTag != 5 {
					t.Fatalf("%d bytes, tag %d", r.Length, r.GotTag)
				} else {
					passed = now && waited
				}
				es[0].Wait(first)
				if first.Buf[0] != 4 || r.Buf[0] != 5 {
					t.Fatal("messages went to the wrong receives")
				}
				return passed
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
// before it without a message the other way, and once. The test has the progress right, so that
// each step is its own on any number of cores: no other goroutine takes what lies in the ring.
func TestTakeRun(t *testing.T) {
	es := localPair(t, Thread)
	exchangeAll(t, es)
	e, l, r := es[0], es[0].laneTo(1), Message{Peer: 1, Tag: 3, Buf: make([]byte, 1)}
	e.takeRight()
	defer e.releaseRight()
	send := func(from int, tag Tag) {
		t.Helper()
		if !es[from].Send(&Message{Peer: PeerID(1 - from), Tag: tag, Buf: []byte{1}}, Computes) {
			t.Fatal("no room for a short message")
		}
	}
	take := func() {
		t.Helper()
		e.mu.Lock()
		defer e.unlock()
		if !l.takeBehindLocked(&r) {
			t.Fatal("a message that lies in the ring was not taken")
		}
	}
	takeRow := func(n int) {
		t.Helper()
		for range n {
			if send(1, 3); !l.isComing(&r) {
				t.Fatal("a message that lies in the ring was not seen")
			}
			take()
		}
	}
	want := func(when string, run int, flows bool) {
		t.Helper()
		e.mu.Lock()
		gotRun, gotFlows := l.run, l.flows.Load()
		e.mu.Unlock()
		if gotRun != run || gotFlows != flows {
			t.Errorf("%s: %d in a row, flows %v; want %d, %v", when, gotRun, gotFlows, run, flows)
		}
		if l.isDue(&r) != flows {
			t.Errorf("%s: a receive waits: %v, want %v", when, !flows, flows)
		}
	}
	for range 2 { // the first ends the row of what went before, and says how long it was
		send(0, 4)
		recvInto(es[1], make([]byte, 1), 0, 4)
	}
	want("at first", 0, false)
	takeRow(takeRun - 1)
	want("after too few", takeRun-1, false)
	takeRow(1)
	want("after enough", takeRun, true)
	if send(1, 3); !l.await() {
		t.Error("a message that comes while a receive waits was not seen")
	}
	take()
	want("after one that was waited for", takeRun+1, true)
	if l.isComing(&r) {
		t.Error("there is a message, and none was sent")
	}
	want("after a wait in vain", 0, false)
	takeRow(1)
	want("when a row begins again", 1, false)
	takeRow(takeRun - 1)
	for _, flows := range []bool{true, false} { // a window and its answer, an answer alone
		send(0, 4)
		recvInto(es[1], make([]byte, 1), 0, 4)
		want("after a message the other way", 0, flows)
	}
}

// TestShortOrdinals: messages that are sent and received at once have numbers of their own,
// whichever goroutine asks.
func TestShortOrdinals(t *testing.T) {
	effort.Need(t, effort.Usual, "goroutines send one after the other thousands of times")
	const goroutines, each = 4, 500
	beside(t, surroundings{way: Thread})
	// Callers do not poll for long: there are more of them than cores.
	es := job(t, 2, Assist, func(c *Config) { c.KeepP, c.Spin = true, 100*time.Microsecond })
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
