//go:build linux && !fitmpi_portable

package engine

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/fitmpi/fitmpi/engine/internal/wire"
)

// hearer is an engine whose sockets are not used: the test gives it the bytes of rank 0.
type hearer struct {
	e   *Engine
	in  input
	ops []*MSO
	mem int // bytes that were allocated for messages of unknown length
}

const hearerMost = 1 << 16 // of its messages

func newHearer(t testing.TB) *hearer {
	e, err := Listen(Config{Rank: 1, Size: 3, Secret: make([]byte, minSecret), Progress: Caller, ShortMax: 64, EagerMax: 1000, Window: 1 << 16,
		MaxMessage: hearerMost, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(make([]PeerInfo, 3)); err != nil {
		t.Fatal(err)
	}
	h := &hearer{e: e, in: input{peer: 0}}
	e.mu.Lock()
	e.core.PeerUp(0, 1<<16)
	e.mu.Unlock()
	alloc := func(n int) []byte {
		if h.mem += n; n > hearerMost {
			t.Fatalf("allocates %d bytes for a message", n)
		}
		return make([]byte, n)
	}
	for _, m := range []*MSO{
		{Kind: KindSend, Peer: 0, Tag: 1, Buf: make([]byte, 5000)},
		{Kind: KindSend, Peer: 0, Tag: 2, Buf: make([]byte, 50), Mode: Synchronous},
		{Kind: KindRecv, Peer: 0, Tag: 1, Buf: make([]byte, 20<<10)},
		{Kind: KindRecv, Peer: 0, Tag: 1, Buf: make([]byte, 100)},
		{Kind: KindRecv, Peer: 0, Tag: 2, Alloc: alloc},
		{Kind: KindRecv, Peer: AnyPeer, Tag: AnyTag, Ctx: 1, Alloc: alloc},
		{Kind: KindProbe, Peer: 0, Tag: AnyTag, Ctx: 2},
	} {
		h.ops = append(h.ops, m)
		e.Post(m, Computes)
	}
	return h
}

// heard is what came of the bytes: how they ended, and how many frames had come whole.
type heard struct {
	bye    bool
	err    string
	frames uint64
}

// hear gives the parser b in pieces, as the driver does: what is long enough straight to where it
// belongs.
func (h *hearer) hear(b []byte, piece func(n int) int) (r heard) {
	var err error
	for len(b) > 0 && err == nil && !r.bye {
		n := piece(len(b))
		if dst := h.in.direct(); len(dst) > 0 {
			k := copy(dst, b[:n])
			h.in.got += k
			r.bye, err = h.in.parse(h.e, b[k:n])
		} else {
			r.bye, err = h.in.parse(h.e, b[:n])
		}
		b = b[n:]
		h.e.drv.runJobs()
	}
	if err != nil {
		r.err = err.Error()
	}
	r.frames = h.e.Stats().Ways[TCP].FramesIn
	return r
}

// end fails the peers: nothing may be left of what they wanted.
func (h *hearer) end(t testing.TB) {
	h.e.mu.Lock()
	h.e.core.FailPeer(0, errors.New("the end"), false, &h.in.sink)
	h.e.core.FailPeer(2, errors.New("the end"), false, nil)
	s := h.e.core.Stats()
	h.e.unlock()
	for i, m := range h.ops {
		if !m.IsDone() {
			t.Fatalf("operation %d is %v after the end", i, m.State())
		}
	}
	if s.Active != 0 {
		t.Fatalf("left over: %+v", s)
	}
	if err := h.e.Close(0); err != nil {
		t.Fatal(err)
	}
}

// FuzzStream: whatever a peer with the secret sends, however it is cut, the parser and the core
// behind it do not panic, and allocate no message longer than the limit. How it is cut makes no
// difference.
func FuzzStream(f *testing.F) {
	add := func(cut byte, hs ...wire.Header) {
		var b []byte
		for _, h := range hs {
			b = wire.AppendHeader(b, &h)
			if h.PayloadLen() < 1<<17 {
				b = append(b, make([]byte, h.PayloadLen())...)
			}
		}
		f.Add(cut, b)
	}
	const mine = uint64(1) << 32 // the first id of the hearer's
	add(0)
	add(1, wire.Header{Kind: wire.KindEager, Tag: 1, Length: 500}, wire.Header{Kind: wire.KindBye})
	add(31, wire.Header{Kind: wire.KindEager, Tag: 7, Length: 900}, wire.Header{Kind: wire.KindHeartbeat}, wire.Header{Kind: wire.KindEager, Tag: 2})
	add(33, wire.Header{Kind: wire.KindRTS, Tag: 1, ID: 5, Length: 20 << 10}, wire.Header{Kind: wire.KindData, ID: mine + 2, Length: 20 << 10})
	add(200, wire.Header{Kind: wire.KindRTS, Context: 1, Tag: 9, ID: 5, Length: hearerMost + 1})
	add(7, wire.Header{Kind: wire.KindRTS, Tag: 2, ID: 5, Length: wire.MaxLength}, wire.Header{Kind: wire.KindCTS, ID: mine, Context: 3, Length: 5000})
	add(9, wire.Header{Kind: wire.KindEager, Tag: 1, Flags: wire.FlagSync, ID: 3, Length: 200}, wire.Header{Kind: wire.KindCancel, Tag: 1, ID: 3})
	add(3, wire.Header{Kind: wire.KindEager, Tag: 3, Length: 60 << 10}, wire.Header{Kind: wire.KindEager, Tag: 3, Length: 60 << 10})
	f.Fuzz(func(t *testing.T, cut byte, b []byte) {
		whole, slow := newHearer(t), newHearer(t)
		r := whole.hear(b, func(n int) int { return n })
		if s := slow.hear(b, func(n int) int { return min(n, 1+int(cut)) }); s != r {
			t.Errorf("in one piece: %+v\nin pieces of %d: %+v", r, 1+int(cut), s)
		}
		whole.end(t)
		slow.end(t)
	})
}
