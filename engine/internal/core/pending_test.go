package core

import (
	"slices"
	"testing"
)

func (f *fakeNet) wantFound() {
	f.t.Helper()
	for rank := range f.cores {
		f.wantFoundAt(rank)
	}
}

// wantFoundAt checks that every operation of a rank between post and Done is found, each in at
// least one place. Every test over the fake network does so after everything that happens to the
// rank, except while a job runs. With hundreds of operations or messages, and so much to look at,
// it does so as much less often.
func (f *fakeNet) wantFoundAt(rank int) {
	c := f.cores[rank]
	if f.unseen++; f.blind || f.unseen < (c.Active()+c.events.len())/50 {
		return
	}
	f.unseen = 0
	if f.found == nil {
		f.found = make(map[*MSO]bool)
	}
	clear(f.found)
	c.each(func(m *MSO) {
		if !m.IsDone() && m.state != Idle && m.Kind != KindArrival {
			f.found[m] = true
		}
	})
	found := len(f.found)
	ops, all := c.Operations(nil, 1<<20)
	us, n := c.Unreceived(1 << 20)
	switch {
	case found != c.Active():
		f.t.Helper()
		f.t.Fatalf("rank %d: of %d operations %d are found: %v", rank, c.Active(), found, c.kinds(f.found))
	case len(ops) != all || all > found:
		f.t.Helper()
		f.t.Fatalf("rank %d: %d operations are listed, %d counted, %d found", rank, len(ops), all, found)
	case len(us) != n || n != c.events.len():
		f.t.Helper()
		f.t.Fatalf("rank %d: %d messages are listed, %d counted, %d there", rank, len(us), n, c.events.len())
	}
}

func (c *Core) kinds(found map[*MSO]bool) (out []string) {
	for m := range found {
		out = append(out, describe(m))
	}
	slices.Sort(out)
	return out
}

// pendingOf is what a rank says, without what distinguishes operations of one test from those of
// another.
func pendingOf(c *Core, first ...*MSO) []Operation {
	ops, _ := c.Operations(first, 100)
	for i := range ops {
		ops[i].MSO, ops[i].Origin = nil, nil
	}
	return ops
}

// What is asked for first is listed first, and once, and no more than there is room for.
func TestOperationsFirst(t *testing.T) {
	f := newNet(t, 2, Config{})
	var ms []*MSO
	for i := range 5 {
		m := &MSO{Kind: KindRecv, Peer: 1, Tag: Tag(i), Buf: make([]byte, 10*i)}
		f.post(0, m)
		ms = append(ms, m)
	}
	ops := pendingOf(f.cores[0], ms[3], ms[1], ms[3])
	if len(ops) != 5 || ops[0].Tag != 3 || ops[1].Tag != 1 || ops[0].Bytes != 30 || ops[0].State != Queued {
		t.Errorf("listed are %+v", ops)
	}
	some, all := f.cores[0].Operations([]*MSO{ms[4]}, 2)
	if len(some) != 2 || some[0].MSO != ms[4] || all != 5 {
		t.Errorf("of 5 operations 2 are to be listed, %d are, all in all %d", len(some), all)
	}
	if found, _ := f.cores[0].Operations([]*MSO{new(MSO)}, 10); len(found) != 5 {
		t.Errorf("an operation that was not posted is listed: %+v", found)
	}
}

// A schedule is one operation, with the partners of its messages that are under way.
func TestOperationsOfSchedule(t *testing.T) {
	f := newNet(t, 3, Config{})
	f.connectAll()
	s := NewSchedule(9, 4, []PeerID{0, 1, 2})
	in := s.Recv(1, make([]byte, 8))
	s.Send(2, make([]byte, 8), in)
	s.Recv(2, make([]byte, 8), in)
	f.cores[0].StartSchedule(s)
	f.wantFound()
	ops := pendingOf(f.cores[0])
	if len(ops) != 1 || ops[0].Kind != KindSched || ops[0].Ctx != 9 || ops[0].Tag != 4 || !slices.Equal(ops[0].From, []PeerID{1}) || ops[0].To != nil || ops[0].Later != 2 {
		t.Errorf("before the first message: %+v", ops)
	}
	f.post(1, &MSO{Kind: KindSend, Peer: 0, Tag: 4, Ctx: 9, Buf: make([]byte, 8)})
	f.run()
	if ops = pendingOf(f.cores[0]); len(ops) != 1 || !slices.Equal(ops[0].From, []PeerID{2}) || ops[0].Later != 0 {
		t.Errorf("after it: %+v", ops)
	}
	f.post(2, &MSO{Kind: KindSend, Peer: 0, Tag: 4, Ctx: 9, Buf: make([]byte, 8)})
	f.run()
	if ops = pendingOf(f.cores[0]); len(ops) != 0 || !s.MSO.IsDone() {
		t.Errorf("at its end: %+v", ops)
	}
}

// Messages are listed in order of arrival, with what is still with their senders.
func TestUnreceived(t *testing.T) {
	f := newNet(t, 2, Config{EagerMax: 100})
	f.connectAll()
	for i, n := range []int{50, 500, 0} {
		f.post(1, &MSO{Kind: KindSend, Peer: 0, Tag: Tag(i), Ctx: 7, Buf: make([]byte, n)})
		f.run()
	}
	f.post(1, &MSO{Kind: KindSend, Peer: 0, Tag: 3, Ctx: 7, Buf: make([]byte, 1), Mode: Synchronous})
	f.run()
	f.post(0, &MSO{Kind: KindSend, Peer: 0, Tag: 4, Ctx: 7, Buf: make([]byte, 2)})
	f.run()
	want := []Unreceived{
		{Source: 1, Tag: 0, Ctx: 7, Bytes: 50}, {Source: 1, Tag: 1, Ctx: 7, Bytes: 500, Announced: true}, {Source: 1, Tag: 2, Ctx: 7},
		{Source: 1, Tag: 3, Ctx: 7, Bytes: 1, Synced: true}, {Tag: 4, Ctx: 7, Bytes: 2, Announced: true},
	}
	if got, all := f.cores[0].Unreceived(10); !slices.Equal(got, want) || all != 5 {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if got, all := f.cores[0].Unreceived(2); !slices.Equal(got, want[:2]) || all != 5 {
		t.Errorf("with room for two: %+v of %d", got, all)
	}
	ops := pendingOf(f.cores[1])
	if len(ops) != 2 || ops[0].State != Awaiting || ops[0].Bytes != 500 || ops[1].Bytes != 1 || !ops[1].Synced {
		t.Errorf("the sender waits for %+v", ops)
	}
}

// TestOperationsGeneral: a generalised request, for which no caller waits, is known as long as it
// is not complete.
func TestOperationsGeneral(t *testing.T) {
	f := newNet(t, 1, Config{})
	c, m := f.cores[0], &MSO{Kind: KindGeneral}
	f.post(0, m)
	if ops := pendingOf(c); len(ops) != 1 || ops[0].Kind != KindGeneral || ops[0].Peer != AnyPeer {
		t.Errorf("listed are %+v", ops)
	}
	c.Complete(m, nil)
	f.wantFound()
	if c.generals.n != 0 {
		t.Error("it is complete, and known still")
	}
}
