//go:build linux && !fitmpi_portable

package engine

import (
	"errors"
	"testing"

	"github.com/fitmpi/fitmpi/engine/internal/progress"
)

// awaiting is a rank that waits for messages from another one, and has the progress right: no other
// goroutine takes what lies in the ring.
type awaiting struct {
	*testing.T
	e, from *Engine
}

func (a awaiting) post(tag Tag, n int) *MSO {
	m := &MSO{Kind: KindRecv, Peer: 1, Tag: tag, Buf: make([]byte, n)}
	a.e.Post(m, Computes)
	return m
}

func (a awaiting) put(tag Tag) {
	a.Helper()
	if !a.from.Send(&Message{Peer: 0, Tag: tag, Buf: []byte{byte(tag)}}, Computes) {
		a.Fatal("no room for a short message")
	}
}

// take reports whether the wait for ms is over without a turn.
func (a awaiting) take(ms ...*MSO) bool {
	a.Helper()
	g := &goal{need: len(ms), ms: ms}
	l := a.e.awaitedLane(g)
	if l == nil {
		a.Fatal("no lane brings what is waited for")
	}
	ok := a.e.takeAwaited(l, g)
	if ok != g.met() {
		a.Errorf("took %v, and the goal is met: %v", ok, g.met())
	}
	if ok {
		a.e.takeRight()
	}
	return ok
}

// wait lets turns be made until m is done.
func (a awaiting) wait(m *MSO) {
	a.e.releaseRight()
	a.e.Wait(m)
	a.e.takeRight()
}

// TestTakeAwaited: the messages that a caller waits for, with receives that it has posted, are
// taken from the rings that show them, and what lies before them goes to the receives that are
// posted for that. What needs a turn is left to one.
func TestTakeAwaited(t *testing.T) {
	for _, w := range []Way{Thread, Shared} {
		t.Run(w.String(), func(t *testing.T) {
			es := localPair(t, w)
			exchangeAll(t, es)
			a := awaiting{t, es[0], es[1]}
			a.e.right.Note(progress.State.Want) // the worker stays away, and what is owed to it is seen
			defer a.e.unwant()
			a.e.takeRight()
			testTakeAwaited(a)
			testOwedAwaited(a)
			testLeftAwaited(a)
			a.e.releaseRight()
			for _, e := range es {
				if s := e.Stats(); s.Active != 0 || s.EventQueue != 0 {
					t.Errorf("left behind: %+v", s.Stats)
				}
			}
		})
	}
}

func testTakeAwaited(a awaiting) {
	m, n := a.post(5, 1), a.post(4, 2)
	a.put(4)
	a.put(5)
	if !a.take(m, n) || m.Buf[0] != 5 || n.Buf[0] != 4 || n.Length != 1 || n.Source != 1 {
		a.Errorf("two messages that lie in the ring: %v %v, length %d from %d", m.Buf, n.Buf, n.Length, n.Source)
	}
	m, n = a.post(5, 1), a.post(4, 1)
	a.put(4)
	a.put(5)
	if !a.take(m) || !n.IsDone() {
		a.Errorf("one message behind another that is awaited: %v, and that one %v", m.Buf, n.Buf)
	}
	m = a.post(6, 0)
	if a.put(6); !a.take(m) || !errors.Is(m.Err, ErrTruncated) {
		a.Errorf("a message that is too long: %v", m.Err)
	}
}

// testOwedAwaited: what a wait leaves outstanding is the worker's.
func testOwedAwaited(a awaiting) {
	m, n := a.post(6, 1), a.post(7, 1)
	a.e.right.Note(progress.State.Settle)
	a.put(6)
	if !a.take(m) || !a.e.right.State().Owed() {
		a.Error("a receive is outstanding after a wait for another one, and the worker does not know")
	}
	a.put(7)
	a.wait(n)
}

func testLeftAwaited(a awaiting) {
	m := a.post(7, 1)
	if a.take(m) {
		a.Error("what was not sent was taken")
	}
	a.put(8) // no receive is posted for it
	a.put(7)
	if a.take(m) {
		a.Error("a message was taken before one that a turn must put on the event queue")
	}
	if a.wait(m); m.Buf[0] != 7 {
		a.Errorf("received %v, want what tag 7 brought", m.Buf)
	}
	if m = a.post(8, 1); !m.IsDone() || m.Buf[0] != 8 {
		a.Errorf("received %v, want what tag 8 brought", m.Buf)
	}
	m = a.post(9, 1)
	s := &MSO{Kind: KindSend, Mode: Synchronous, Peer: 0, Tag: 9, Buf: []byte{9}}
	a.from.Post(s, Computes)
	if a.take(m) {
		a.Error("a synchronous message was taken, which is to be acknowledged")
	}
	a.wait(m)
	a.from.Wait(s)
}

// TestTakeAwaitedGivesCredit: any number of messages can be taken so: their credit goes back, also
// when what comes after them is left to a turn.
func TestTakeAwaitedGivesCredit(t *testing.T) {
	const n = 20_000 // several times the credit
	es := localPair(t, Shared)
	both(t, es, func() {
		two := [2]*MSO{{Kind: KindRecv, Peer: 1, Tag: 3, Buf: make([]byte, 8)}, {Kind: KindRecv, Peer: 1, Tag: 4, Buf: make([]byte, 8)}}
		for range n {
			for _, m := range two {
				m.Reset()
				es[0].Post(m, Computes)
			}
			es[0].WaitMany(2, two[:])
		}
	}, func() {
		for range n {
			send(es[1], make([]byte, 8), 0, 3)
			send(es[1], make([]byte, 8), 0, 4)
		}
	})
}

// TestAwaitedLane: waits that are not for short messages from one peer of the host each are left to
// turns.
func TestAwaitedLane(t *testing.T) {
	es := localPair(t, Thread)
	short := func() *MSO { return &MSO{Kind: KindRecv, Peer: 1, Buf: make([]byte, 8)} }
	lane := func(need int, ms ...*MSO) *lane { return es[0].awaitedLane(&goal{need: need, ms: ms}) }
	if lane(1, short()) != es[0].laneTo(1) || lane(2, nil, short()) == nil {
		t.Error("a short receive has a lane")
	}
	for what, m := range map[string]*MSO{
		"nil":                         nil,
		"a send":                      {Kind: KindSend, Peer: 1},
		"a receive from any source":   {Kind: KindRecv, Peer: AnyPeer},
		"a receive from itself":       {Kind: KindRecv, Peer: 0},
		"a long receive":              {Kind: KindRecv, Peer: 1, Buf: make([]byte, ringMax+1)},
		"a receive of unknown length": {Kind: KindRecv, Peer: 1, Alloc: func(int) []byte { return nil }},
	} {
		if lane(1, m) != nil {
			t.Errorf("%s is taken from a ring", what)
		}
	}
	if lane(1, short(), short()) != nil {
		t.Error("one of two receives is taken from a ring, and it may be the other that comes")
	}
}

// TestTooEarly: a caller that computes next and finds nothing, again and again, looks less often
// from then on, and at each message again once there is one.
func TestTooEarly(t *testing.T) {
	es := localPair(t, Thread)
	exchangeAll(t, es)
	e, l := es[0], es[0].laneTo(1)
	e.right.Note(progress.State.Want) // its worker stays away, and callers look for themselves
	defer e.unwant()
	look := func() (looked bool) { // what Recv does is known by what it leaves: see vain
		e.local.disarm()
		before := l.vain.Load()
		if e.Recv(&Message{Peer: 1, Tag: 3, Buf: make([]byte, 1)}, Computes) {
			t.Fatal("received what was not sent")
		}
		return before < vainLooks || l.vain.Load() < before
	}
	looks := func(n int) (m int) {
		for range n {
			if look() {
				m++
			}
		}
		return m
	}
	l.vain.Store(0)
	if n := looks(vainLooks); n != vainLooks {
		t.Errorf("%d looks at first, want %d", n, vainLooks)
	}
	if n := looks(3 * (lessLooks + 1)); n != 3 {
		t.Errorf("%d looks of %d after those were in vain, want 3", n, 3*(lessLooks+1))
	}
	eventually(t, "a message that lies there does not bring the looks back", func() bool {
		e.local.disarm()
		send(es[1], []byte{1}, 0, 3)
		if !e.Recv(&Message{Peer: 1, Tag: 3, Buf: make([]byte, 1)}, Computes) {
			recvInto(e, make([]byte, 1), 1, 3)
		}
		return l.vain.Load() == 0
	})
	if n := looks(vainLooks); n != vainLooks {
		t.Errorf("%d looks again, want %d", n, vainLooks)
	}
}

// TestFirstStepResumes: what a caller has left is done by the next whole turn of one that waits,
// also of a rank that has connections; else no receive would be taken from a ring any more.
func TestFirstStepResumes(t *testing.T) {
	e := localPair(t, Thread)[0]
	e.takeRight()
	defer e.releaseRight()
	for _, open := range []int32{0, 1} {
		e.drv.open.Add(open)
		e.right.Note(progress.State.Leave)
		if i := e.firstStep(); i != 0 || e.right.State().HasLeft() {
			t.Errorf("%d connections: step %d, left %v", open, i, e.right.State().HasLeft())
		}
		e.drv.open.Add(-open)
	}
}
