package core

import (
	"errors"
	"fmt"
	"testing"
)

// shut ends the context of a life at one end. What waits for the other end must be over then.
func (l *life) shut(rank int) {
	l.cores[rank].Shut(0, ^ContextID(0), ErrRevoked, l.sinks(rank))
	if m := l.recv; rank == 1 && m != nil && m.State() == Queued {
		l.t.Fatalf("shut, and a receive is %v", m.State())
	}
	if m := l.send; rank == 0 && m != nil && m.State() == Awaiting {
		l.t.Fatalf("shut, and a send is %v", m.State())
	}
}

// family is the Config of tests whose communicators have two contexts each.
var family = Config{Family: ^ContextID(1)}

// TestShutFamily: what is of the family ends, what is not goes on; posts are refused, messages that
// come dropped.
func TestShutFamily(t *testing.T) {
	f := newNet(t, 2, family)
	f.connectAll()
	c := f.cores[0]
	in := func(ctx ContextID) *MSO { return &MSO{Kind: KindRecv, Peer: 1, Tag: 1, Ctx: ctx, Buf: make([]byte, 4)} }
	a, b, other := in(6), in(7), in(8)
	for _, m := range []*MSO{a, b, other} {
		f.post(0, m)
	}
	c.Shut(6, family.Family, ErrRevoked, f.sinks(0))
	for _, m := range []*MSO{a, b, in(6), in(7)} {
		if m.State() == Idle {
			f.post(0, m)
		}
		if !m.IsDone() || !errors.Is(m.Err, ErrRevoked) {
			t.Errorf("a receive of context %d is %v, error %v", m.Ctx, m.State(), m.Err)
		}
	}
	var out []*MSO
	for _, n := range []int{0, 100, 5000, 1 << 20} {
		for _, mode := range []Mode{Standard, Synchronous} {
			for ctx := ContextID(6); ctx <= 7; ctx++ {
				m := &MSO{Kind: KindSend, Peer: 0, Tag: 1, Ctx: ctx, Mode: mode, Buf: make([]byte, n)}
				out = append(out, m)
				f.post(1, m)
			}
		}
	}
	f.post(1, &MSO{Kind: KindSend, Peer: 0, Tag: 1, Ctx: 8, Buf: []byte("fine")})
	f.run()
	f.cores[1].Shut(6, family.Family, ErrRevoked, f.sinks(1))
	for _, m := range out {
		if !m.IsDone() {
			t.Errorf("a send of %d bytes in mode %v waits for who does not want it", len(m.Buf), m.Mode)
		}
		if waits := m.Mode == Synchronous || len(m.Buf) == 1<<20; waits != errors.Is(m.Err, ErrRevoked) {
			t.Errorf("a send of %d bytes in mode %v: error %v", len(m.Buf), m.Mode, m.Err)
		}
	}
	if !other.IsDone() || string(other.Buf) != "fine" {
		t.Errorf("the message of another communicator: %v, %q", other.State(), other.Buf)
	}
	f.wantRest("all is said")
}

// TestShutSelf: messages of a rank to itself, waiting at either end.
func TestShutSelf(t *testing.T) {
	for _, probed := range []bool{false, true} {
		f := newNet(t, 1, family)
		c := f.cores[0]
		out := &MSO{Kind: KindSend, Peer: 0, Tag: 1, Ctx: 2, Buf: make([]byte, 100)}
		f.post(0, out)
		var u *MSO
		if probed {
			u = c.Improbe(2, 0, 1)
		}
		c.Shut(2, family.Family, ErrRevoked, f.sinks(0))
		if probed {
			m := &MSO{Kind: KindRecv, Peer: AnyPeer, Tag: AnyTag, Ctx: 2, Buf: make([]byte, 100), Message: u}
			f.post(0, m)
			if !errors.Is(m.Err, ErrRevoked) {
				t.Errorf("the receive of a message that was taken: %v", m.Err)
			}
		}
		if !out.IsDone() || !errors.Is(out.Err, ErrRevoked) {
			t.Errorf("probed %v: the send is %v, %v", probed, out.State(), out.Err)
		}
		f.wantRest("shut")
	}
}

// TestShutSchedules: collectives under way end at all ranks that are informed, whatever they wait
// for, and new ones do not begin.
func TestShutSchedules(t *testing.T) {
	for steps := range 12 {
		f := newNet(t, 2, family)
		f.connectAll()
		ss := exchange(f, 3, 5000)
		for range steps {
			for a := range 2 {
				f.drainDirty(a)
				f.write(a, 1-a, 3000)
				if _, err := f.deliver(a, 1-a, 3000, 1); err != nil {
					t.Fatal(err)
				}
				f.jobs(a)
			}
		}
		for a, c := range f.cores {
			c.Shut(3, ^ContextID(0), ErrRevoked, f.sinks(a))
		}
		f.run()
		ss = append(ss, exchange(f, 3, 100)...)
		f.run()
		for i, s := range ss {
			if !s.MSO.IsDone() {
				t.Fatalf("after %d steps, collective %d is %v", steps, i, s.MSO.State())
			}
			if i >= 2 && !errors.Is(s.MSO.Err, ErrRevoked) {
				t.Errorf("a collective that begins after the end: %v", s.MSO.Err)
			}
		}
		f.wantRest(fmt.Sprint("after ", steps, " steps"))
		for a, c := range f.cores {
			if len(c.running) != 0 {
				t.Errorf("rank %d has %d collectives", a, len(c.running))
			}
		}
	}
}

// exchange starts a collective in which both ranks send and receive n bytes of data, with a local
// step before and after.
func exchange(f *fakeNet, ctx ContextID, n int) (ss []*Schedule) {
	for a, c := range f.cores {
		s := NewSchedule(ctx, 0, []PeerID{0, 1})
		d := s.Do(func() error { return nil })
		s.Send(1-a, make([]byte, n), d)
		s.Do(func() error { return nil }, s.Recv(1-a, make([]byte, n)))
		c.StartSchedule(s)
		ss = append(ss, s)
	}
	return ss
}

// TestScheduleOfTheDead: the failure of a member ends collectives that do not wait for it, and
// those that begin later, but not those of others. A rank that has left has not failed.
func TestScheduleOfTheDead(t *testing.T) {
	f := newNet(t, 4, Config{})
	f.connectAll()
	c := f.cores[0]
	wait := func(from int, peers ...PeerID) *Schedule {
		s := NewSchedule(1, 0, peers)
		s.Recv(from, make([]byte, 4))
		c.StartSchedule(s)
		return s
	}
	all, some := wait(1, 0, 1, 2, 3), wait(1, 0, 1)
	f.cutSide(3, 0)
	later, laterSome := wait(1, 0, 1, 2, 3), wait(1, 0, 1)
	for name, s := range map[string]*Schedule{"under way": all, "begun later": later} {
		var gone *PeerError
		if !s.MSO.IsDone() || !errors.As(s.MSO.Err, &gone) || gone.Peer != 3 {
			t.Errorf("%s: %v, %v", name, s.MSO.State(), s.MSO.Err)
		}
	}
	c.FailPeer(2, nil, true, nil)
	if some.MSO.IsDone() || laterSome.MSO.IsDone() {
		t.Error("a collective of others ends")
	}
	c.Stop()
	if !some.MSO.IsDone() || len(c.running) != 0 {
		t.Error("stopped, and a collective goes on")
	}
}

// TestStirred: a wildcard receive that is patient stays posted beside a failure. No caller waits
// for it any more until the failure is acknowledged; a message completes it, before and after.
func TestStirred(t *testing.T) {
	f := newNet(t, 3, family)
	f.connectAll()
	c := f.cores[0]
	post := func(patient bool) *MSO {
		m := &MSO{Kind: KindRecv, Peer: AnyPeer, Tag: 1, Ctx: 4, Buf: make([]byte, 4), Patient: patient}
		f.post(0, m)
		return m
	}
	before, other, impatient := post(true), post(true), post(false)
	w := &Waiter{C: make(chan struct{}, 1)}
	if !c.Attach(w, 2, before, other) {
		t.Fatal("nothing to wait for")
	}
	f.cutSide(2, 0)
	if !w.fired || !c.Detach(w, before, other) {
		t.Error("who waits is not told")
	}
	after := post(true)
	for _, m := range []*MSO{before, other, after} {
		if !m.IsStirred() || !m.IsOver() || m.IsDone() {
			t.Errorf("stirred %v, done %v", m.IsStirred(), m.IsDone())
		}
	}
	if !errors.Is(impatient.Err, ErrPeerFailed) || c.Lost(5, AnyPeer, nil) == nil {
		t.Error("a blocking receive, or a probe, may wait")
	}
	if c.Attach(w, 1, before) {
		t.Error("there is something to wait for")
	}
	f.post(1, &MSO{Kind: KindSend, Peer: 0, Tag: 1, Ctx: 4, Buf: []byte("news")})
	f.run()
	if !before.IsDone() || before.Err != nil || string(before.Buf) != "news" {
		t.Errorf("the message: %v, %v, %q", before.State(), before.Err, before.Buf)
	}
	c.AckFailed(8, 1)
	if !other.IsStirred() || c.AckedFailed(4) != 0 {
		t.Error("acknowledged for another communicator")
	}
	c.AckFailed(5, 7)
	for _, m := range []*MSO{other, after, post(true), post(false)} {
		if m.IsOver() {
			t.Error("acknowledged, and there is no waiting")
		}
		c.Cancel(m)
	}
	if c.AckedFailed(4) != 1 || len(c.Failed(nil)) != 1 {
		t.Errorf("%d of %v acknowledged", c.AckedFailed(4), c.Failed(nil))
	}
	f.wantRest("cancelled")
}
