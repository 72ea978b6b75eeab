package core

import (
	"errors"
	"testing"

	"github.com/fitmpi/fitmpi/engine/internal/wire"
)

// hostile is a core with something of every kind going on, and a peer, rank 0,
// that says what it likes.
type hostile struct {
	*fakeNet
	c   *Core
	ops []*MSO
}

const hostileMost = 1 << 16 // MaxMessage

func newHostile(t testing.TB) *hostile {
	f := newNet(t, 3, Config{ShortMax: 8, EagerMax: 100, Window: MinWindow, Chunk: 256, MaxMessage: hostileMost})
	h := &hostile{fakeNet: f, c: f.cores[1]}
	h.connectAll()
	alloc := func(n int) []byte {
		if n > hostileMost {
			t.Fatalf("allocates %d bytes", n)
		}
		return make([]byte, n)
	}
	h.op(&MSO{Kind: KindSend, Peer: 0, Tag: 1, Buf: make([]byte, 500)})                    // id 1<<32
	h.op(&MSO{Kind: KindSend, Peer: 0, Tag: 2, Buf: make([]byte, 50), Mode: Synchronous})  // id 1<<32 + 1
	h.op(&MSO{Kind: KindSend, Peer: 0, Tag: 3, Buf: make([]byte, 5), Mode: Synchronous})   // id 1<<32 + 2
	h.op(&MSO{Kind: KindSend, Peer: 2, Tag: 1, Buf: make([]byte, 500)})                    // id 1<<32 + 3, not this peer's
	h.op(&MSO{Kind: KindSend, Peer: 1, Tag: 1, Buf: make([]byte, 500)})                    // id 1<<32 + 4, to self
	h.op(&MSO{Kind: KindSend, Peer: 0, Tag: 4, Buf: make([]byte, 900), Mode: Synchronous}) // id 1<<32 + 5, being cancelled
	h.c.Cancel(h.ops[5])
	h.op(&MSO{Kind: KindRecv, Peer: 0, Tag: 1, Buf: make([]byte, 300)})
	h.op(&MSO{Kind: KindRecv, Peer: 0, Tag: 2, Alloc: alloc})
	h.op(&MSO{Kind: KindRecv, Peer: AnyPeer, Tag: 3, Alloc: alloc})
	h.op(&MSO{Kind: KindRecv, Peer: 2, Tag: 1, Buf: make([]byte, 300)})
	h.op(&MSO{Kind: KindMprobe, Peer: AnyPeer, Tag: 5})
	h.op(&MSO{Kind: KindProbe, Peer: 0, Tag: AnyTag, Ctx: 1})
	waits := &Parts{Peer: 0, Tag: 1, Hello: 4, Data: 5, Count: 2, Total: 16, Layout: newComb(16, 3)}
	knows := &Parts{Peer: 0, Tag: 2, Hello: 4, Data: 5, Count: 3, Total: 24, Layout: newComb(24, 5)}
	h.c.InitParts(waits)
	knows.MSO.Kind, knows.MSO.User, knows.hello.Kind = KindParts, knows, KindRecv
	knows.cut(20, 4) // its hello has come
	for _, p := range []*Parts{waits, knows} {
		h.c.StartParts(p)
		h.ops = append(h.ops, &p.MSO)
	}
	return h
}

func (h *hostile) op(m *MSO) {
	h.ops = append(h.ops, m)
	h.post(1, m)
}

// hear lets rank 1 have the bytes of rank 0, and does between frames what the
// driver and users would do. It returns what rank 1 thinks of them.
func (h *hostile) hear(b []byte) error {
	p := h.pipes[[2]int{0, 1}]
	for p.buf = b; len(p.buf) > 0; {
		n, err := h.deliver(0, 1, len(p.buf), 1)
		if err != nil {
			return err
		}
		if n == 0 { // no header: another protocol error
			return errors.New("malformed")
		}
		if s := h.c.Stats(); s.SlabsUsed > 2*MinWindow*5/4+256*int(s.Unexpected) {
			h.t.Fatalf("%d bytes of slabs for a window of %d", s.SlabsUsed, MinWindow)
		}
		h.jobs(1)
		h.drainDirty(1)
		h.write(1, 0, 300)
		if m := h.ops[10].Message; m != nil {
			h.ops[10].Message = nil
			h.op(&MSO{Kind: KindRecv, Message: m, Buf: make([]byte, 64)})
		}
	}
	return nil
}

// end cuts the peer off: nothing may be left of it.
func (h *hostile) end() {
	h.cut(0, 1)
	h.cutSide(2, 1)
	h.jobs(1)
	for tag := range Tag(10) {
		for u := h.c.Improbe(0, AnyPeer, AnyTag); u != nil; u = h.c.Improbe(0, AnyPeer, AnyTag) {
			h.op(&MSO{Kind: KindRecv, Message: u, Buf: make([]byte, 64)})
		}
		for u := h.c.Improbe(ContextID(tag), AnyPeer, AnyTag); u != nil; u = h.c.Improbe(ContextID(tag), AnyPeer, AnyTag) {
			h.op(&MSO{Kind: KindRecv, Message: u, Buf: make([]byte, 64)})
		}
	}
	for _, m := range h.ops {
		if !m.IsDone() {
			h.t.Fatalf("an operation of kind %d with peer %d is %v after the end", m.Kind, m.Peer, m.State())
		}
	}
	if h.c.Active() != 0 || h.c.pool.Used() != 0 {
		h.t.Fatalf("left over: %+v", h.c.Stats())
	}
}

func frames(hs ...wire.Header) (b []byte) {
	for _, h := range hs {
		b = wire.AppendHeader(b, &h)
		if h.PayloadLen() < 1<<17 {
			b = append(b, make([]byte, h.PayloadLen())...)
		}
	}
	return b
}

const firstID = uint64(1) << 32

// rudeness is what peers must not send, and why.
var rudeness = map[string][]wire.Header{
	"cts for nothing":               {{Kind: wire.KindCTS, ID: 7, Length: 1}},
	"cts for another peer's":        {{Kind: wire.KindCTS, ID: firstID + 3, Length: 1}},
	"cts for one to self":           {{Kind: wire.KindCTS, ID: firstID + 4, Length: 1}},
	"cts for an eager message":      {{Kind: wire.KindCTS, ID: firstID + 1, Length: 1}},
	"cts for more":                  {{Kind: wire.KindCTS, ID: firstID, Length: 501}},
	"cts twice":                     {{Kind: wire.KindCTS, ID: firstID, Context: 1, Length: 500}, {Kind: wire.KindCTS, ID: firstID, Context: 1, Length: 500}},
	"ack for nothing":               {{Kind: wire.KindAck, ID: 0}},
	"ack for a rendezvous":          {{Kind: wire.KindAck, ID: firstID}},
	"ack for one to self":           {{Kind: wire.KindAck, ID: firstID + 4}},
	"ack twice":                     {{Kind: wire.KindAck, ID: firstID + 2}, {Kind: wire.KindAck, ID: firstID + 2}},
	"data for nothing":              {{Kind: wire.KindData, ID: 1, Length: 1}},
	"data for a send":               {{Kind: wire.KindData, ID: firstID, Length: 1}},
	"data with a gap":               {{Kind: wire.KindRTS, Tag: 1, ID: 9, Length: 300}, {Kind: wire.KindData, ID: firstID + 6, Context: 1, Length: 1}},
	"data beyond the approved":      {{Kind: wire.KindRTS, Tag: 1, ID: 9, Length: 400}, {Kind: wire.KindData, ID: firstID + 6, Length: 301}},
	"data after the end":            {{Kind: wire.KindRTS, Tag: 1, ID: 9, Length: 3}, {Kind: wire.KindData, ID: firstID + 6, Length: 3}, {Kind: wire.KindData, ID: firstID + 6, Length: 3}},
	"eager beyond the window":       {{Kind: wire.KindEager, Length: MinWindow}},
	"eager as long as can be":       {{Kind: wire.KindEager, Length: wire.MaxLength}},
	"credit beyond any window":      {{Kind: wire.KindCredit, Length: wire.MaxLength}},
	"credit too much in sum":        {{Kind: wire.KindCredit, Length: 1 << 39}, {Kind: wire.KindCredit, Length: 1 << 39}},
	"reply to no cancel":            {{Kind: wire.KindCancelReply, ID: firstID}},
	"reply withdraws what it began": {{Kind: wire.KindCTS, ID: firstID + 5, Context: 1, Length: 900}, {Kind: wire.KindCancelReply, ID: firstID + 5, Flags: wire.FlagDone}},
}

func TestRudePeer(t *testing.T) {
	for name, hs := range rudeness {
		t.Run(name, func(t *testing.T) {
			h := newHostile(t)
			if err := h.hear(frames(hs...)); err == nil {
				t.Error("no error")
			} else if _, ok := errors.AsType[*ProtocolError](err); !ok {
				t.Errorf("%v is no protocol error", err)
			}
			h.end()
		})
	}
}

// tolerable is what looks odd and is allowed.
var tolerable = map[string][]wire.Header{
	"rts of any length":         {{Kind: wire.KindRTS, Tag: 2, ID: 1, Length: wire.MaxLength}, {Kind: wire.KindRTS, Tag: 1, ID: 2, Length: wire.MaxLength}},
	"rts unexpected":            {{Kind: wire.KindRTS, Tag: 77, ID: 1, Length: wire.MaxLength}},
	"two rts with one id":       {{Kind: wire.KindRTS, Tag: 77, ID: 1, Length: 5}, {Kind: wire.KindRTS, Tag: 77, ID: 1, Length: 6}},
	"sync rts":                  {{Kind: wire.KindRTS, Flags: wire.FlagSync, Tag: 1, ID: 1, Length: 5}},
	"cancel of the unknown":     {{Kind: wire.KindCancel, Tag: 9, ID: 4}},
	"cancel of an eager":        {{Kind: wire.KindEager, Tag: 77, Length: 4}, {Kind: wire.KindCancel, Tag: 77}},
	"late reply":                {{Kind: wire.KindAck, ID: firstID + 2}, {Kind: wire.KindCancelReply, ID: firstID + 2}},
	"eager for a matched probe": {{Kind: wire.KindEager, Tag: 5, Length: 100}, {Kind: wire.KindEager, Tag: 5, Flags: wire.FlagSync, ID: 8}},
	"heartbeat":                 {{Kind: wire.KindHeartbeat}},
	"a partition":               {{Kind: wire.KindEager, Context: 5, Tag: 23, Length: 6}},
	"a partition twice":         {{Kind: wire.KindEager, Context: 5, Tag: 20, Length: 6}, {Kind: wire.KindEager, Context: 5, Tag: 20, Length: 6}},
	"a long partition":          {{Kind: wire.KindRTS, Context: 5, Tag: 21, ID: 3, Length: 600}, {Kind: wire.KindData, ID: firstID + 6, Length: 6}},
	"no partition":              {{Kind: wire.KindEager, Context: 5, Tag: 24, Length: 6}, {Kind: wire.KindEager, Context: 5, Tag: 19}},
	"a hello of zeros":          {{Kind: wire.KindEager, Context: 4, Tag: 1, Length: helloLen}},
}

func TestOddPeer(t *testing.T) {
	for name, hs := range tolerable {
		t.Run(name, func(t *testing.T) {
			h := newHostile(t)
			if err := h.hear(frames(hs...)); err != nil {
				t.Error(err)
			}
			h.end()
		})
	}
}

// FuzzCoreFrames: whatever an authenticated peer sends, the core does not panic,
// holds no more of its bytes than the window, allocates nothing beyond the limit,
// and keeps nothing when the peer is gone.
func FuzzCoreFrames(f *testing.F) {
	for _, set := range []map[string][]wire.Header{rudeness, tolerable} {
		for _, hs := range set {
			f.Add(frames(hs...))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h := newHostile(t)
		_ = h.hear(b) // an error ends the connection, no error does not
		h.end()
	})
}
