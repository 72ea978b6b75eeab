package core

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/fitmpi/fitmpi/engine/internal/wire"
	"pgregory.net/rapid"
)

// keep lets all streams outlive their connections.
func (f *fakeNet) keep() {
	f.keeps = true
	for a, c := range f.cores {
		for b := range f.cores {
			if a != b {
				c.Keep(PeerID(b))
			}
		}
	}
}

// reconnect loses what is on its way between a and b, and goes on with both streams on a new
// connection.
func (f *fakeNet) reconnect(a, b int) {
	f.t.Helper()
	defer f.wantFound()
	for _, e := range [][2]int{{a, b}, {b, a}} {
		out, in := f.pipes[e], f.pipes[[2]int{e[1], e[0]}]
		if out.cut || in.cut {
			return
		}
		out.buf = nil
		c := f.cores[e[0]]
		c.Broken(PeerID(e[1]))
		if err := c.CanResume(PeerID(e[1]), out.pos); err != nil {
			f.t.Fatalf("%d->%d: %v", e[0], e[1], err)
		}
		c.Resume(PeerID(e[1]), out.pos, in.pos)
	}
}

// keptPair is two ranks whose streams outlive their connections, with messages of all sorts from 0
// to 1 under way.
func keptPair(t *testing.T) (f *fakeNet, sends, recvs []*MSO) {
	f = newNet(t, 2, Config{ShortMax: 30, EagerMax: 200, Chunk: 150, SendBuffer: 1 << 20})
	f.keep()
	f.connectAll()
	for i, n := range []int{8, 100, 400, 0, 8, 150, 330, 30} {
		r := &MSO{Kind: KindRecv, Peer: 0, Tag: Tag(i), Buf: make([]byte, n)}
		if i%2 == 0 {
			f.post(1, r)
		}
		s := &MSO{Kind: KindSend, Peer: 1, Tag: Tag(i), Buf: pattern(n, i)}
		if i%3 == 0 {
			s.Mode = Synchronous
		}
		if i%4 == 2 {
			asView(s)
		}
		f.post(0, s)
		if i%2 == 1 {
			f.post(1, r)
		}
		sends, recvs = append(sends, s), append(recvs, r)
	}
	return f, sends, recvs
}

// wantAll checks that every message has arrived, once and whole, and that nothing is left of it.
func wantAll(t *testing.T, why string, f *fakeNet, sends, recvs []*MSO) {
	t.Helper()
	for i, r := range recvs {
		if !sends[i].IsDone() || sends[i].Err != nil {
			t.Fatalf("%s: send %d is %v, %v", why, i, sends[i].State(), sends[i].Err)
		}
		if !r.IsDone() || r.Err != nil || !bytes.Equal(r.Buf, pattern(len(r.Buf), i)) {
			t.Fatalf("%s: receive %d is %v, %v", why, i, r.State(), r.Err)
		}
	}
	f.wantRest(why)
}

// The connection breaks when exactly so many bytes are written and so many of them have arrived,
// for each such pair; all goes on as if nothing had happened.
func TestResumeAtEveryByte(t *testing.T) {
	total := 0
	f, sends, recvs := keptPair(t)
	for f.jobs(0)+f.jobs(1) > 0 {
	}
	f.run()
	wantAll(t, "unbroken", f, sends, recvs)
	total = int(f.pipes[[2]int{0, 1}].pos)
	if total < 1400 {
		t.Fatalf("a stream of %d bytes shows little", total)
	}
	for written := range total + 1 {
		if testing.Short() && written%29 > 0 { // so of every remainder by 3 and 4 some are left
			continue
		}
		for _, lost := range [][]int{{0, 33}, {1, 1 << 20}, {31, 150}, {32}}[written%4] {
			f, sends, recvs := keptPair(t)
			why := fmt.Sprintf("%d bytes written, %d of them lost", written, lost)
			for n, moved := 0, 1; n < written && moved > 0; {
				f.jobs(0)
				f.jobs(1)
				moved = f.write(0, 1, min(written-n, 64))
				n += moved
				if left := written - n; left < lost {
					f.deliver(0, 1, max(0, moved-lost), 1<<20)
				} else {
					f.deliver(0, 1, 1<<20, 1<<20)
				}
				moved += f.write(1, 0, 1<<20)
				f.deliver(1, 0, 1<<20, 1<<20)
				moved += f.jobs(0) + f.jobs(1)
			}
			f.reconnect(0, 1)
			if written%3 == 0 { // and once more before anything was acknowledged
				f.write(0, 1, written%97)
				f.deliver(0, 1, written%53, 1<<20)
				f.reconnect(0, 1)
			}
			f.run()
			wantAll(t, why, f, sends, recvs)
		}
	}
}

// TestModelResumed is TestModel over streams whose connections break at any moment.
func TestModelResumed(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt)
		w.keep()
		rt.Repeat(map[string]func(*rapid.T){
			"send": w.doSend, "recv": w.doRecv, "move": w.doMove, "move2": w.doMove, "probe": w.doProbe, "cancel": w.doCancel,
			"jobs": func(*rapid.T) { w.jobs(w.rank("rank")) },
			"break": func(*rapid.T) {
				if a, b := w.rank("one"), w.rank("other"); a != b {
					w.reconnect(a, b)
				}
			},
			"acknowledge": func(*rapid.T) {
				if a, b := w.rank("one"), w.rank("other"); a != b {
					w.cores[a].Acknowledge(PeerID(b), w.pipes[[2]int{b, a}].pos, true)
				}
			},
			"": func(*rapid.T) { w.check(); w.checkTables() },
		})
		w.drain()
	})
}

// A send from its owner's memory is done when the peer has it, one from the library's at once.
func TestKeptSendIsDoneWhenAcknowledged(t *testing.T) {
	f := newNet(t, 2, Config{ShortMax: 30, EagerMax: 200})
	f.keep()
	f.connectAll()
	short := &MSO{Kind: KindSend, Peer: 1, Buf: pattern(30, 1)}
	long := &MSO{Kind: KindSend, Peer: 1, Buf: pattern(100, 2)}
	f.post(0, short)
	f.post(0, long)
	if !short.IsDone() || long.IsDone() {
		t.Fatal("posted:", short.State(), long.State())
	}
	f.write(0, 1, 1<<20)
	if long.IsDone() || f.cores[0].Kept(1) != 30+100+2*wire.HeaderLen || f.cores[0].Pending(1) != 0 {
		t.Fatal("written:", long.State(), f.cores[0].Kept(1))
	}
	f.deliver(0, 1, 1<<20, 1<<20)
	f.write(1, 0, 1<<20)
	f.deliver(1, 0, 1<<20, 1<<20)
	if !long.IsDone() || f.cores[0].Kept(1) != 0 {
		t.Fatal("the receiver hurries to say that it has a payload from somebody's memory:", long.State(), f.cores[0].Kept(1))
	}
}

// Beyond Unacked nothing is written until something is acknowledged, and nothing is lost by that.
func TestKeptIsBounded(t *testing.T) {
	const bound = 2 * ackEvery
	f := newNet(t, 2, Config{Unacked: 1, ShortMax: 1000, Window: 1 << 24, SendBuffer: 1 << 24})
	f.keep()
	f.connectAll()
	c := f.cores[0]
	for i := range 1000 {
		f.post(0, &MSO{Kind: KindSend, Peer: 1, Tag: Tag(i), Buf: pattern(1000, i)})
	}
	for f.write(0, 1, 10_000) > 0 {
	}
	if n := c.Kept(1); n < bound || n >= bound+10_000 {
		t.Fatalf("%d bytes are kept, the bound is %d", n, bound)
	}
	f.run()
	for i := range 1000 {
		r := &MSO{Kind: KindRecv, Peer: 0, Tag: Tag(i), Buf: make([]byte, 1000)}
		f.post(1, r)
		if !r.IsDone() || !bytes.Equal(r.Buf, pattern(1000, i)) {
			t.Fatalf("message %d: %v", i, r.State())
		}
	}
	f.run()
	f.wantRest("all received")
}

// What belongs to the connection is not sent again on the next, and has no position.
func TestAsideIsNotKept(t *testing.T) {
	f := newNet(t, 2, Config{ShortMax: 30})
	f.keep()
	f.connectAll()
	c := f.cores[0]
	beats := 0
	f.onHeader = func(from, to int, h *wire.Header) {
		if h.Kind == wire.KindHeartbeat {
			beats++
		}
	}
	beat := func() { c.aside(c.peers[1], &wire.Header{Kind: wire.KindHeartbeat}) }
	send := func(i int) { f.post(0, &MSO{Kind: KindSend, Peer: 1, Tag: Tag(i), Buf: pattern(20, i)}) }
	send(0)
	beat()
	send(1)
	beat()
	f.write(0, 1, 52+32+10) // the first two, and a part of the third
	f.deliver(0, 1, 52, 1)
	f.reconnect(0, 1)
	if got := c.Stats().Resent; got != 10 {
		t.Errorf("%d bytes are sent again", got)
	}
	beat()
	f.write(0, 1, 52+16) // cut in the middle of a heartbeat
	f.reconnect(0, 1)
	f.run()
	if beats != 0 {
		t.Errorf("%d heartbeats of connections that are gone", beats)
	}
	if s := c.PeerStats(1); s.Unsent != 0 || s.BytesOut != (52+32+10)+(52+16)+52 {
		t.Errorf("%+v", s)
	}
	for i := range 2 {
		r := &MSO{Kind: KindRecv, Peer: 0, Tag: Tag(i), Buf: make([]byte, 20)}
		f.post(1, r)
		if !r.IsDone() || !bytes.Equal(r.Buf, pattern(20, i)) {
			t.Fatalf("message %d: %v", i, r.State())
		}
	}
	f.run()
	f.wantRest("two messages, no heartbeats")
}

// TestResumeRefused: a peer that claims to have received what was never sent, or less than it has
// said before, is not the peer that we know.
func TestResumeRefused(t *testing.T) {
	f := newNet(t, 2, Config{ShortMax: 30})
	f.keep()
	f.connectAll()
	f.post(0, &MSO{Kind: KindSend, Peer: 1, Buf: pattern(20, 1)})
	f.run()
	f.post(0, &MSO{Kind: KindSend, Peer: 1, Buf: pattern(20, 1)})
	f.write(0, 1, 1<<20)
	c := f.cores[0]
	for _, total := range []uint64{0, 51, 105, 1 << 60} {
		if err := c.CanResume(1, total); err == nil {
			t.Errorf("the peer may have received %d bytes", total)
		}
	}
	for total, bad := range map[uint64]bool{51: false, 104: false, 105: true} {
		if _, err := c.OnHeader(1, &wire.Header{Kind: wire.KindReceived, Length: total}); (err != nil) != bad {
			t.Errorf("Received %d: %v", total, err)
		}
	}
	plain := newNet(t, 2, Config{})
	if _, err := plain.cores[0].OnHeader(1, &wire.Header{Kind: wire.KindReceived}); err == nil {
		t.Error("Received on a stream that ends with its connection")
	}
}

// Both ends have written as much as they may before either has heard anything: what they have to
// say of that is let through.
func TestFullAtBothEnds(t *testing.T) {
	f := newNet(t, 2, Config{Unacked: 1, ShortMax: 1000, Window: 1 << 24, SendBuffer: 1 << 24})
	f.keep()
	f.connectAll()
	for i := range 1000 {
		for r := range 2 {
			f.post(r, &MSO{Kind: KindSend, Peer: PeerID(1 - r), Tag: Tag(i), Buf: pattern(1000, i)})
		}
	}
	for r := range 2 {
		for f.write(r, 1-r, 10_000) > 0 {
		}
	}
	f.run()
	for i := range 1000 {
		for r := range 2 {
			m := &MSO{Kind: KindRecv, Peer: PeerID(1 - r), Tag: Tag(i), Buf: make([]byte, 1000)}
			f.post(r, m)
			if !m.IsDone() || !bytes.Equal(m.Buf, pattern(1000, i)) {
				t.Fatalf("message %d to rank %d: %v", i, r, m.State())
			}
		}
	}
	f.run()
	f.wantRest("all received")
}

// A part of what was encrypted at once has been written: the peer may have it, and say so, before
// we take it for written.
func TestSealed(t *testing.T) {
	for _, broken := range []bool{false, true} {
		f := newNet(t, 2, Config{ShortMax: 30})
		f.keep()
		f.connectAll()
		c, p := f.cores[0], f.pipes[[2]int{0, 1}]
		s, r := &MSO{Kind: KindSend, Peer: 1, Buf: pattern(1000, 1)}, &MSO{Kind: KindRecv, Peer: 0, Buf: make([]byte, 1000)}
		f.post(1, r)
		f.post(0, s)
		c.aside(c.peers[1], &wire.Header{Kind: wire.KindHeartbeat})
		const n = wire.HeaderLen + 1000 + wire.HeaderLen
		for _, b := range c.Gather(1, make([][]byte, 0, 16)) {
			p.buf = append(p.buf, b...)
		}
		if len(p.buf) != n {
			t.Fatal(len(p.buf), "bytes to write")
		}
		c.Sealed(1, n)
		f.deliver(0, 1, 900, 10)
		if err := c.CanResume(1, n-wire.HeaderLen+1); err == nil {
			t.Error("the peer may have received what was not sealed, or a heartbeat for a part of the stream")
		}
		if _, err := c.OnHeader(1, &wire.Header{Kind: wire.KindReceived, Length: n - wire.HeaderLen + 1}); err == nil {
			t.Error("the peer may say that it has received that")
		}
		if _, err := c.OnHeader(1, &wire.Header{Kind: wire.KindReceived, Length: p.pos}); err != nil {
			t.Error(err)
		}
		if s.IsDone() {
			t.Fatal("a send is done that the peer has in part")
		}
		if broken {
			f.reconnect(0, 1)
			if got := c.Stats().Resent; got != 0 {
				t.Error(got, "bytes are sent again, of those the peer has")
			}
		} else {
			c.Wrote(1, n)
			if a, w := c.Acked(1); a != p.pos || w != n-wire.HeaderLen {
				t.Errorf("%d bytes are acknowledged of %d, want %d of %d", a, w, p.pos, n-wire.HeaderLen)
			}
		}
		f.run()
		wantDoneBoth(t, s, r)
		f.wantRest("sealed")
	}
}

// An acknowledgement that is encrypted already cannot say more any more.
func TestSealedNote(t *testing.T) {
	f := newNet(t, 2, Config{ShortMax: 30})
	f.keep()
	f.connectAll()
	c := f.cores[0]
	if c.Acknowledge(1, 10, true) {
		t.Error("an acknowledgement is owed that is on the stream")
	}
	c.Gather(1, make([][]byte, 0, 16))
	c.Sealed(1, wire.HeaderLen)
	if !c.Acknowledge(1, 20, true) {
		t.Error("nothing is owed beside an acknowledgement that says less")
	}
	c.Wrote(1, wire.HeaderLen)
	if c.Acknowledge(1, 20, true) || c.peers[1].kept.ackSent != 20 {
		t.Error("the next acknowledgement is not on the stream")
	}
}

// A long message goes on when the peer has acknowledged enough, though nothing waits on the stream
// just then.
func TestFullBetweenChunks(t *testing.T) {
	const chunk = 2 * ackEvery
	f := newNet(t, 2, Config{Unacked: chunk, Chunk: chunk})
	f.keep()
	f.connectAll()
	s, r := &MSO{Kind: KindSend, Peer: 1, Buf: pattern(3*chunk, 1)}, &MSO{Kind: KindRecv, Peer: 0, Buf: make([]byte, 3*chunk)}
	f.post(1, r)
	f.post(0, s)
	f.run()
	wantDoneBoth(t, s, r)
	f.wantRest("a long message")
}

func wantDoneBoth(t *testing.T, s, r *MSO) {
	t.Helper()
	if !s.IsDone() || !r.IsDone() || !bytes.Equal(r.Buf, s.Buf) {
		t.Fatalf("the send is %v, the receive %v", s.State(), r.State())
	}
}

// Two sends of the same memory to one peer, which is allowed: what takes over one of them leaves
// the other where it lies.
func TestTakeOverOfSharedMemory(t *testing.T) {
	for _, n := range []int{100, 1000} {
		f := newNet(t, 2, Config{ShortMax: 30, EagerMax: 200, Chunk: 600, SendBuffer: 1 << 20})
		f.connectAll()
		c, buf := f.cores[0], pattern(n, 1)
		ss, rs := make([]*MSO, 2), make([]*MSO, 2)
		for i := range 2 {
			rs[i] = &MSO{Kind: KindRecv, Peer: 0, Tag: Tag(i), Buf: make([]byte, n)}
			f.post(1, rs[i])
			ss[i] = &MSO{Kind: KindSend, Peer: 1, Tag: Tag(i), Buf: buf}
			f.post(0, ss[i])
		}
		if n > 200 { // announce, approve, and put the first chunks on the stream
			f.write(0, 1, 64)
			f.deliver(0, 1, 64, 2)
			f.write(1, 0, 1<<20)
			f.deliver(1, 0, 1<<20, 10)
		}
		c.Gather(1, make([][]byte, 0, 16))
		block, ok := c.Reserve(1, n)
		if !ok {
			t.Fatal("no room")
		}
		copy(block, buf)
		if !c.TakeOver(ss[0], block) {
			t.Fatal("not taken over")
		}
		for i := range c.peers[1].out.Len() {
			if s := c.peers[1].out.At(i); s.mso == ss[1] && &s.data[0] != &buf[0] {
				t.Error("a send lies in the block of another")
			}
		}
		f.run()
		for i := range 2 {
			wantDoneBoth(t, ss[i], rs[i])
		}
		f.wantRest("shared")
	}
}
