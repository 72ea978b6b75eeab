package core

import (
	"bytes"
	"errors"
	"testing"

	"github.com/fitmpi/fitmpi/engine/internal/wire"
)

var errLeave = errors.New("its time is over")

// TestAbandonedSendIsSent: a send that cannot be called back any more succeeds when its owner
// leaves: its receiver has asked for it, or its payload follows unasked. What is still to be
// written does not depend on its memory.
func TestAbandonedSendIsSent(t *testing.T) {
	for name, n := range map[string]int{"announced": 300, "eager": 90} {
		t.Run(name, func(t *testing.T) {
			f := newNet(t, 2, Config{ShortMax: 8, EagerMax: 100, Chunk: 128})
			f.connectAll()
			in := &MSO{Kind: KindRecv, Peer: 0, Tag: 1, Buf: make([]byte, n)}
			f.post(1, in)
			out := &MSO{Kind: KindSend, Peer: 1, Tag: 1, Buf: pattern(n, 1)}
			f.post(0, out)
			for out.State() == Awaiting {
				f.round()
			}
			f.cores[0].Abandon(out, errLeave, f.sinks(0))
			if !out.IsDone() || out.Err != nil {
				t.Errorf("given up: %v, %v", out.State(), out.Err)
			}
			clear(out.Buf)
			f.run()
			if !in.IsDone() || in.Err != nil || !bytes.Equal(in.Buf, pattern(n, 1)) {
				t.Errorf("received: %v, %v", in.State(), in.Err)
			}
			f.wantRest("at the end")
		})
	}
}

// TestAbandonedFetch: what is fetched needs nothing but time, and is received though its receiver
// wants to leave; but what cannot be fetched now, or not at all, goes back as it was announced.
func TestAbandonedFetch(t *testing.T) {
	src := bytes.Repeat([]byte{1, 2, 3, 4, 5}, 50_000)
	for k := range 5 {
		f := &fakeLocal{src: src, fetches: k}
		c := New(Config{Self: 0, Peers: 2})
		c.SetLocal(1, f, 0)
		m := &MSO{Kind: KindRecv, Peer: 1, Tag: 5, Buf: make([]byte, len(src))}
		c.Post(m)
		rts := wire.Header{Kind: wire.KindRTS, Flags: wire.FlagPull, Tag: 5, Length: uint64(len(src)), ID: 7}
		if _, err := c.OnHeader(1, &rts); err != nil {
			t.Fatal(err)
		}
		c.Abandon(m, errLeave, func(PeerID) *Sink { return nil })
		for j, ok := c.NextJob(); ok; j, ok = c.NextJob() {
			j.Run()
			c.Finish(&j)
		}
		u := c.Iprobe(0, 1, 5)
		if k == 4 {
			if !m.IsDone() || m.Err != nil || !bytes.Equal(m.Buf, src) || u != nil || len(f.sent) != 1 || f.sent[0].Kind != wire.KindFin {
				t.Errorf("fetched: %v, %v, and sent %+v", m.State(), m.Err, f.sent)
			}
			continue
		}
		if !m.IsDone() || m.Err != errLeave || u == nil || u.Length != len(src) || u.State() != Awaiting || len(f.sent) != 0 || f.ended != 1 {
			t.Fatalf("after %d fetches: %v, %v, sent %+v", k, m.State(), m.Err, f.sent)
		}
		again := &MSO{Kind: KindRecv, Peer: 1, Tag: 5, Buf: make([]byte, len(src))}
		if c.Post(again); len(f.sent) != 1 || f.sent[0].Kind != wire.KindCTS || f.sent[0].ID != 7 {
			t.Errorf("after %d fetches the next receive sends %+v, want a CTS", k, f.sent)
		}
	}
}

// TestLostMessageIsNamed: a receive from a peer that fails says which message was lost, if one had
// come in part, even if the owner of the receive was about to leave.
func TestLostMessageIsNamed(t *testing.T) {
	want := LostMessage{Tag: 1, Length: 300}
	for name, kind := range map[string]func(f *fakeNet) *MSO{
		"receive": func(f *fakeNet) *MSO {
			return &MSO{Kind: KindRecv, Peer: 0, Tag: AnyTag, Buf: make([]byte, 300)}
		},
		"unknown length": func(f *fakeNet) *MSO {
			return &MSO{Kind: KindRecv, Peer: AnyPeer, Tag: 1, Alloc: func(n int) []byte { return make([]byte, n) }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newNet(t, 2, Config{ShortMax: 8, EagerMax: 100, Chunk: 128})
			f.connectAll()
			in := kind(f)
			f.post(1, in)
			f.post(0, &MSO{Kind: KindSend, Peer: 1, Tag: 1, Buf: pattern(300, 1)})
			for in.moved == 0 {
				f.round()
			}
			f.cut(0, 1)
			gone, ok := errors.AsType[*PeerError](in.Err)
			if !ok || gone.Lost == nil || *gone.Lost != want || gone.Peer != 0 || !errors.Is(in.Err, ErrPeerFailed) {
				t.Errorf("received in part: %+v", in.Err)
			}
			none := &MSO{Kind: KindRecv, Peer: 0, Tag: 2}
			f.post(1, none)
			if gone, ok := errors.AsType[*PeerError](none.Err); !ok || gone.Lost != nil {
				t.Errorf("received nothing: %+v", none.Err)
			}
		})
	}
	t.Run("given back", func(t *testing.T) {
		f := newNet(t, 2, Config{ShortMax: 8, EagerMax: 100, Chunk: 128})
		f.connectAll()
		in := &MSO{Kind: KindRecv, Peer: 0, Tag: 1, Buf: make([]byte, 300)}
		f.post(1, in)
		f.post(0, &MSO{Kind: KindSend, Peer: 1, Tag: 1, Buf: pattern(300, 1)})
		for in.moved == 0 {
			f.round()
		}
		f.cores[1].Abandon(in, errLeave, func(PeerID) *Sink { return nil })
		f.cut(0, 1)
		for i, expects := range []*LostMessage{nil, &want, nil} {
			next := &MSO{Kind: KindRecv, Peer: 0, Tag: 1, Buf: make([]byte, 300)}
			if i == 0 {
				next.Tag = 2
			}
			f.post(1, next)
			gone, ok := errors.AsType[*PeerError](next.Err)
			if !ok || (gone.Lost == nil) != (expects == nil) || expects != nil && *gone.Lost != *expects {
				t.Errorf("receive %d after a message was given back: %+v", i, next.Err)
			}
		}
	})
	t.Run("leaving", func(t *testing.T) {
		f := &fakeLocal{src: make([]byte, 300)}
		c := New(Config{Self: 0, Peers: 2})
		c.SetLocal(1, f, 0)
		m := &MSO{Kind: KindRecv, Peer: 1, Tag: 1, Buf: make([]byte, 300)}
		c.Post(m)
		rts := wire.Header{Kind: wire.KindRTS, Flags: wire.FlagPull, Tag: 1, Length: 300, ID: 7}
		if _, err := c.OnHeader(1, &rts); err != nil {
			t.Fatal(err)
		}
		c.Abandon(m, errLeave, func(PeerID) *Sink { return nil })
		c.FailPeer(1, errCut, false, nil)
		if gone, ok := errors.AsType[*PeerError](m.Err); !ok || gone.Lost == nil || *gone.Lost != want {
			t.Errorf("about to leave: %+v", m.Err)
		}
	})
}
