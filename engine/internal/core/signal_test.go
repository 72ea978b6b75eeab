package core

import (
	"bytes"
	"errors"
	"testing"

	"github.com/fitmpi/fitmpi/engine/internal/wire"
)

// notice is what Each tells.
type notice struct {
	from    PeerID
	ctx     ContextID
	payload []byte
	end     *PeerError
}

// take takes and frees the notices of a core.
func take(c *Core) (ns []notice) {
	n := c.TakeNotices()
	n.Each(func(from PeerID, ctx ContextID, payload []byte) {
		ns = append(ns, notice{from, ctx, bytes.Clone(payload), nil})
	}, func(id PeerID, err *PeerError) {
		ns = append(ns, notice{from: id, end: err})
	})
	c.FreeNotices(n)
	return ns
}

// TestSignalOrder: signals come in order, among messages and before the end of their sender; one
// that broke off does not come.
func TestSignalOrder(t *testing.T) {
	f := newNet(t, 2, Config{})
	f.connectAll()
	for k := range 5 {
		if err := f.cores[0].Signal(1, ContextID(k), pattern(k*100, k)); err != nil {
			t.Fatal(err)
		}
		f.post(0, &MSO{Kind: KindSend, Peer: 1, Tag: 1, Buf: pattern(10, k)})
	}
	f.run()
	if err := f.cores[0].Signal(1, 5, pattern(500, 5)); err != nil {
		t.Fatal(err)
	}
	f.write(0, 1, wire.HeaderLen+100)
	if _, err := f.deliver(0, 1, 1<<20, 1); err != nil {
		t.Fatal(err)
	}
	f.cut(0, 1)
	ns := take(f.cores[1])
	if len(ns) != 6 {
		t.Fatalf("%d notices, want 5 signals and an end", len(ns))
	}
	for k, n := range ns[:5] {
		if n.from != 0 || n.ctx != ContextID(k) || !bytes.Equal(n.payload, pattern(k*100, k)) || n.end != nil {
			t.Errorf("notice %d: %+v", k, n)
		}
	}
	if n := ns[5]; n.from != 0 || !errors.Is(n.end, ErrPeerFailed) {
		t.Errorf("the last notice is %+v", n)
	}
	for range 5 {
		m := &MSO{Kind: KindRecv, Peer: 0, Tag: 1, Buf: make([]byte, 10)}
		f.post(1, m)
		f.jobs(1)
		if !m.IsDone() || m.Err != nil {
			t.Error("a message that came among the signals is lost")
		}
	}
	if err := f.cores[1].Signal(0, 1, nil); !errors.Is(err, ErrPeerFailed) {
		t.Error("to the dead:", err)
	}
	take(f.cores[0])
	f.wantRest("after the end")
}

// TestSignalBounds: what may wait is bounded, from peers and of the rank itself.
func TestSignalBounds(t *testing.T) {
	f := newNet(t, 2, Config{})
	f.connectAll()
	c := f.cores[0]
	p := c.peers[1]
	h := wire.Header{Kind: wire.KindSignal, Length: MaxSignal}
	var err error
	n := 0
	for ; err == nil && n < 10_000; n++ {
		var s Sink
		if s, err = c.OnHeader(1, &h); err == nil {
			c.OnPayload(1, &s)
		}
	}
	if want := SignalWindow/(MaxSignal+wire.HeaderLen) + 1; n != want {
		t.Errorf("signal %d is one too many, want %d", n, want)
	}
	if _, ok := errors.AsType[*ProtocolError](err); !ok {
		t.Error("a flood is", err)
	}
	if len(take(c)) != n-1 || p.signals != 0 || c.Stats().SlabsUsed != 0 {
		t.Errorf("%d bytes, %d of slabs kept", p.signals, c.Stats().SlabsUsed)
	}
	h.Length++
	if _, err := c.OnHeader(1, &h); err == nil {
		t.Error("too long a signal is taken")
	}
	for err = nil; err == nil; err = c.Signal(0, 1, nil) {
	}
	if !errors.Is(err, ErrSignalFlood) {
		t.Error("a flood of its own is", err)
	}
	if n := len(take(c)); n != SignalWindow/wire.HeaderLen {
		t.Errorf("%d signals to itself waited", n)
	}
	if err := c.Signal(1, 1, make([]byte, MaxSignal+1)); !errors.Is(err, ErrSignalTooLong) {
		t.Error("too long:", err)
	}
	c.Bye(1)
	if err := c.Signal(1, 1, nil); !errors.Is(err, ErrStopped) {
		t.Error("after the goodbye:", err)
	}
	c.Stop()
	if c.HasNotices() {
		t.Error("a rank that stops tells itself of the end of others")
	}
}
