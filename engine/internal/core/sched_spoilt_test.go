package core

import (
	"errors"
	"testing"
)

// streams is the Config of tests whose schedules have messages of several tags.
var streams = Config{Streams: 3 << 4}

// breakPart fails the part of rank 0 in the schedule of a tag.
func breakPart(t *testing.T, f *fakeNet, tag Tag) {
	t.Helper()
	s := NewSchedule(6, tag, []PeerID{0, 1})
	s.Recv(1, make([]byte, 4))
	s.Broken = errors.New("bad operand")
	f.cores[0].StartSchedule(s)
	f.run()
	if s.MSO.Err != s.Broken {
		t.Fatalf("the schedule ends with %v", s.MSO.Err)
	}
}

// TestSpoilt: whatever has come under the name of a schedule that has failed, or comes, in any of
// its streams, goes nowhere, and its sender does not wait. What has another name stays.
func TestSpoilt(t *testing.T) {
	f := newNet(t, 2, streams)
	f.connectAll()
	var out []*MSO
	send := func(tag Tag, n int) *MSO {
		m := &MSO{Kind: KindSend, Peer: 0, Tag: tag, Ctx: 6, Buf: make([]byte, n)}
		f.post(1, m)
		return m
	}
	all := func() {
		for _, n := range []int{0, 100, 5000, 1 << 20} {
			for _, mode := range []Mode{Standard, Synchronous} {
				for stream := range Tag(3) {
					m := &MSO{Kind: KindSend, Peer: 0, Tag: 5 + stream<<4, Ctx: 6, Mode: mode, Buf: make([]byte, n)}
					out = append(out, m)
					f.post(1, m)
				}
			}
		}
		send(4, 10)
		f.run()
	}
	all()
	breakPart(t, f, 5)
	all()
	for _, m := range out {
		if !m.IsDone() || m.Err != nil {
			t.Errorf("a send of %d bytes with tag %d in mode %v: %v, error %v", len(m.Buf), m.Tag, m.Mode, m.State(), m.Err)
		}
	}
	for range 2 {
		in := &MSO{Kind: KindRecv, Peer: 1, Tag: 4, Ctx: 6, Buf: make([]byte, 10)}
		if f.post(0, in); !in.IsDone() || in.Length != 10 {
			t.Errorf("a message of another schedule: %v, %d bytes", in.State(), in.Length)
		}
	}
	f.run()
	f.wantRest("all has been taken")
}

// TestSpoiltForgotten: a name is as good as new when a schedule has it again, or its owner says so.
func TestSpoiltForgotten(t *testing.T) {
	for name, renew := range map[string]func(c *Core){
		"Forget":        func(c *Core) { c.Forget(6, 5, 5) },
		"StartSchedule": func(c *Core) { c.StartSchedule(NewSchedule(6, 5+2<<4, []PeerID{0, 1})) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newNet(t, 2, streams)
			f.connectAll()
			breakPart(t, f, 4)
			breakPart(t, f, 5)
			renew(f.cores[0])
			if c := f.cores[0]; c.isSpoilt(6, 5) || !c.isSpoilt(6, 4) {
				t.Errorf("5 is spoilt: %v, 4: %v", c.isSpoilt(6, 5), c.isSpoilt(6, 4))
			}
			in := &MSO{Kind: KindRecv, Peer: 1, Tag: 5, Ctx: 6, Buf: make([]byte, 4)}
			f.post(0, in)
			f.post(1, &MSO{Kind: KindSend, Peer: 0, Tag: 5, Ctx: 6, Buf: []byte("fine")})
			f.run()
			if !in.IsDone() || string(in.Buf) != "fine" {
				t.Errorf("the receive is %v: %q", in.State(), in.Buf)
			}
			f.wantRest("all is said")
		})
	}
}

// TestSpoiltBound: the names of the last maxSpoilt schedules are kept, and no more memory, also if
// some are forgotten and come again.
func TestSpoiltBound(t *testing.T) {
	c := New(Config{Self: 0, Peers: 2})
	for i := range Tag(5*maxSpoilt + 7) {
		c.spoilt.add(schedName{6, i})
		if i%3 == 0 {
			c.Forget(6, i, i)
		}
		if i%9 == 0 {
			c.spoilt.add(schedName{6, i})
		}
		if is, want := c.isSpoilt(6, i), i%3 != 0 || i%9 == 0; is != want {
			t.Fatalf("%d is kept: %v", i, is)
		}
	}
	if n := len(c.spoilt.at); n == 0 || n > maxSpoilt || len(c.spoilt.ring) != maxSpoilt {
		t.Errorf("%d names, in a ring of %d", n, len(c.spoilt.ring))
	}
	for n, i := range c.spoilt.at {
		if c.spoilt.ring[i] != n {
			t.Errorf("%v stands at %d, where %v is", n, i, c.spoilt.ring[i])
		}
	}
	if c.isSpoilt(6, 1) {
		t.Error("the first is kept")
	}
}
