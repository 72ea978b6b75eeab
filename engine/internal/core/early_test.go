package core

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
)

const earlyBound = 1 << 10

// earlyNet is two ranks that take so much of announced messages early, in pieces of 64 bytes.
func earlyNet(t *testing.T) *fakeNet {
	f := newNet(t, 2, Config{ShortMax: 8, EagerMax: 100, Chunk: 64, Early: earlyBound})
	f.connectAll()
	return f
}

func (f *fakeNet) sendLong(tag Tag, n int, mode Mode) *MSO {
	out := &MSO{Kind: KindSend, Peer: 1, Tag: tag, Mode: mode, Buf: pattern(n, int(tag))}
	f.post(0, out)
	return out
}

// wantEarlyRest is wantRest, and that no memory is left in use for what came early.
func (f *fakeNet) wantEarlyRest(why string) {
	f.t.Helper()
	f.wantRest(why)
	for i, c := range f.cores {
		if n := c.Stats().EarlyUsed; n != 0 {
			f.t.Fatalf("%s: rank %d keeps %d bytes that came early", why, i, n)
		}
	}
}

// A long message is over for its sender before its receive is posted, which copies it then: also to
// a layout, into memory that is made for it, and where it does not fit.
func TestEarly(t *testing.T) {
	f := earlyNet(t)
	for tag, in := range []*MSO{
		{Buf: make([]byte, 300)},
		{Layout: &view{make([]byte, 300)}},
		{Alloc: func(n int) []byte { return make([]byte, n) }},
		{Buf: make([]byte, 200)},
	} {
		out := f.sendLong(Tag(tag), 300, Standard)
		f.run()
		if s := f.cores[1].Stats(); !out.IsDone() || s.Early != uint64(tag+1) || s.EarlyUsed == 0 || s.RendezvousReceives != 0 {
			t.Fatalf("before the receive: the send is %v, %+v", out.State(), s)
		}
		clear(out.Buf)
		if u := f.cores[1].Iprobe(0, 0, Tag(tag)); u == nil || u.Length != 300 {
			t.Errorf("a probe finds %v", u)
		}
		in.Kind, in.Peer, in.Tag = KindRecv, 0, Tag(tag)
		f.post(1, in)
		f.run()
		n := min(300, in.Size())
		_, isShort := errors.AsType[*TruncateError](in.Err)
		if !in.IsDone() || isShort != (n < 300) || in.Length != 300 || !bytes.Equal(bufOf(in)[:n], pattern(300, tag)[:n]) {
			t.Errorf("receive %d: %v, %v, %d bytes", tag, in.State(), in.Err, in.Length)
		}
		f.wantEarlyRest("a message is received")
	}
	if got := f.cores[1].PeerStats(0).Received[Announced]; got.Messages != 4 {
		t.Errorf("%+v were received by rendezvous, want 4", got)
	}
}

// What is beyond the bound waits as announced, and so do short messages and synchronous ones.
func TestEarlyBound(t *testing.T) {
	f := earlyNet(t)
	first, second := f.sendLong(1, 500, Standard), f.sendLong(2, 600, Standard)
	huge, sync := f.sendLong(3, 2*earlyBound, Standard), f.sendLong(4, 200, Synchronous)
	f.run()
	if s := f.cores[1].Stats(); s.Early != 1 || s.EarlyUsed > earlyBound || f.cores[1].announced != 3 {
		t.Errorf("%+v, %d are announced", s, f.cores[1].announced)
	}
	if !first.IsDone() || second.IsDone() || huge.IsDone() || sync.IsDone() {
		t.Errorf("sends are %v, %v, %v, %v", first.State(), second.State(), huge.State(), sync.State())
	}
	for tag, out := range []*MSO{1: first, 2: second, 3: huge, 4: sync} {
		if out == nil {
			continue
		}
		in := &MSO{Kind: KindRecv, Peer: 0, Tag: Tag(tag), Buf: make([]byte, len(out.Buf))}
		f.post(1, in)
		f.run()
		if !in.IsDone() || in.Err != nil || !bytes.Equal(in.Buf, out.Buf) || !out.IsDone() {
			t.Errorf("message %d: %v, %v", tag, in.State(), in.Err)
		}
	}
	f.wantEarlyRest("all are received")
	if f.sendLong(5, 500, Standard); f.cores[1].early.HighWater() > earlyBound {
		t.Errorf("%d bytes were in use", f.cores[1].early.HighWater())
	}
}

// Whatever happens after any number of steps of the transfer, nothing is left, the receive gets the
// whole message or an error, and the send does not end with less.
func TestEarlyInterrupted(t *testing.T) {
	happens := map[string]func(f *fakeNet, out *MSO){
		"nothing":       func(*fakeNet, *MSO) {},
		"cancel":        func(f *fakeNet, out *MSO) { f.cores[0].Cancel(out) },
		"send given up": func(f *fakeNet, out *MSO) { f.cores[0].Abandon(out, errLeave, f.sinks(0)) },
		"sender dies":   func(f *fakeNet, _ *MSO) { f.cut(0, 1) },
		"context shut": func(f *fakeNet, _ *MSO) {
			for rank, c := range f.cores {
				c.Shut(0, ^ContextID(0), ErrRevoked, f.sinks(rank))
			}
		},
		"receive given up": func(f *fakeNet, _ *MSO) { f.giveUpReceive() },
	}
	for name, happen := range happens {
		for step := range 40 {
			t.Run(fmt.Sprint(name, " after ", step), func(t *testing.T) {
				f := earlyNet(t)
				out := f.sendLong(1, 300, Standard)
				for range step {
					f.little()
				}
				happen(f, out)
				in := &MSO{Kind: KindRecv, Peer: 0, Tag: 1, Buf: make([]byte, 300)}
				f.post(1, in)
				f.run()
				if !out.IsDone() {
					t.Fatalf("the send is %v", out.State())
				}
				if out.Cancelled || errors.Is(out.Err, errLeave) && !in.IsDone() { // withdrawn before it was asked for
					f.cores[1].Cancel(in)
				}
				if !in.IsDone() || in.Err == nil && !in.Cancelled && !bytes.Equal(in.Buf, pattern(300, 1)) {
					t.Errorf("received: %v, %v", in.State(), in.Err)
				}
				if isWhole := name == "nothing" || name == "receive given up"; isWhole && (in.Err != nil || out.Err != nil) {
					t.Errorf("received: %v; sent: %v", in.Err, out.Err)
				}
				f.wantEarlyRest("at the end")
			})
		}
	}
}

// little moves a little from each rank to the other.
func (f *fakeNet) little() {
	for a := range f.cores {
		f.jobs(a)
		f.write(a, 1-a, 50)
		if _, err := f.deliver(1-a, a, 50, 1); err != nil {
			f.t.Fatal(err)
		}
	}
}

// giveUpReceive posts a receive, and gives it up at once.
func (f *fakeNet) giveUpReceive() {
	m := &MSO{Kind: KindRecv, Peer: 0, Tag: 1, Buf: make([]byte, 300)}
	j, isJob := f.cores[1].Post(m)
	if f.cores[1].Abandon(m, errLeave, f.sinks(1)); isJob {
		f.finish(f.cores[1], &j)
	}
	if m.IsDone() && m.Err == nil { // it had the message: the next gets another
		f.post(0, &MSO{Kind: KindSend, Peer: 1, Tag: 1, Buf: pattern(300, 1)})
	}
}
