//go:build linux && !fitmpi_portable

package engine

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/wire"
	"github.com/fitmpi/fitmpi/internal/strangers"
)

// dialRaw connects to an engine as any process can.
func dialRaw(t testing.TB, e *Engine) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", e.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(failsafe)); err != nil {
		t.Fatal(err)
	}
	return c
}

// wantDropped checks that the engine closes c.
func wantDropped(t testing.TB, why string, c net.Conn) {
	t.Helper()
	if _, err := io.Copy(io.Discard, c); errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
		t.Errorf("%s: the connection stays", why)
	}
}

func isTimeout(err error) bool {
	ne, ok := errors.AsType[net.Error](err)
	return ok && ne.Timeout()
}

// wantReject waits until the engine has counted a rejection.
func wantReject(t testing.TB, e *Engine, r wire.Reject, n uint64) {
	t.Helper()
	for until := time.Now().Add(failsafe); e.Stats().Rejects[r.String()] < n; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("rejects %v, want %d of %v", e.Stats().Rejects, n, r)
		}
	}
}

func testIdentity(rank int) *wire.Identity {
	return &wire.Identity{Job: [16]byte{7}, Secret: bytes.Repeat([]byte{9}, 32), Rank: uint32(rank), Size: 3, Window: 1 << 20}
}

// shake runs a dialer's handshake with rank 0 over c, and returns it and all that was said.
func shake(t testing.TB, c net.Conn, id *wire.Identity) (h *wire.Handshake, said []byte) {
	t.Helper()
	h = wire.NewDialer(id, 0, nonce())
	b := make([]byte, 1)
	for {
		out := h.Output()
		said = append(said, out...)
		if _, err := c.Write(out); err != nil {
			return h, said
		}
		switch h.State() {
		case wire.StateEstablished, wire.StateRefused, wire.StateFailed:
			return h, said
		}
		if _, err := io.ReadFull(c, b); err != nil { // byte by byte: frames may follow
			return h, said
		}
		h.Input(b)
	}
}

// strangersJob is a job of ranks 0 and 1 that a third rank, which the test plays, may join.
func strangersJob(t *testing.T, p Policy) []*Engine {
	es := job(t, 3, p, func(c *Config) {
		c.Logger = slog.New(slog.DiscardHandler)
	})
	return es[:2]
}

// TestStrangers: a process that is no rank of the job is dropped and counted, and the job goes on.
func TestStrangers(t *testing.T) {
	for _, p := range []Policy{Worker, Assist} {
		t.Run(p.String(), func(t *testing.T) {
			es := strangersJob(t, p)
			both(t, es, func() { exchangeTwo(t, es[0], 1) }, func() { exchangeTwo(t, es[1], 0) })
			e := es[0]

			c := dialRaw(t, e)
			io.WriteString(c, "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n")
			wantDropped(t, "garbage", c)
			wantReject(t, e, wire.RejectBadMagic, 1)

			c = dialRaw(t, e)
			c.Write(wire.NewDialer(testIdentity(2), 0, nonce()).Output()[:50])
			c.Close()
			wantReject(t, e, wire.RejectHangup, 1)

			c = dialRaw(t, e)
			id := testIdentity(2)
			id.Secret = bytes.Repeat([]byte{1}, 32)
			h := wire.NewDialer(id, 0, nonce())
			c.Write(h.Output())
			c.Write(make([]byte, 40)) // in the place of a proof
			wantDropped(t, "not even a proof", c)
			wantReject(t, e, wire.RejectBadMagic, 2)

			c = dialRaw(t, e)
			forged, _ := shake(t, c, id)
			if forged.Reject() != wire.RejectBadProof {
				t.Errorf("the stranger found rank 0 not genuine: %v", forged)
			}
			c.Close()

			wrong := testIdentity(2)
			wrong.Job[3]++
			c = dialRaw(t, e)
			shake(t, c, wrong)
			wantReject(t, e, wire.RejectWrongJob, 1)

			replayed(t, e)
			both(t, es, func() { exchangeTwo(t, es[0], 1) }, func() { exchangeTwo(t, es[1], 0) })
			if s := e.Stats(); s.PeersFailed != 0 {
				t.Errorf("strangers cost %d peers", s.PeersFailed)
			}
		})
	}
}

// replayed says again what a genuine rank has said.
func replayed(t *testing.T, e *Engine) {
	c := dialRaw(t, e)
	h, said := shake(t, c, testIdentity(2))
	if h.State() != wire.StateEstablished || h.Verdict() != wire.VerdictAccept {
		t.Fatalf("a genuine rank was not let in: %v", h)
	}
	again := dialRaw(t, e)
	again.Write(said)
	wantDropped(t, "replay", again)
	wantReject(t, e, wire.RejectBadProof, 1)
	c.Write(frame(wire.Header{Kind: wire.KindBye}))
	wantDropped(t, "after goodbye", c)
}

func frame(h wire.Header) []byte { return wire.AppendHeader(nil, &h) }

// exchangeTwo sends to one other rank and receives from it.
func exchangeTwo(t *testing.T, e *Engine, other PeerID) {
	in := &MSO{Kind: KindRecv, Peer: other, Tag: 9, Buf: make([]byte, 1000)}
	out := &MSO{Kind: KindSend, Peer: other, Tag: 9, Buf: pattern(1000, e.Rank())}
	e.Post(in, Computes)
	e.Post(out, Computes)
	e.WaitMany(2, []*MSO{in, out})
	if in.Err != nil || out.Err != nil || !bytes.Equal(in.Buf, pattern(1000, int(other))) {
		t.Errorf("rank %d: %v, %v", e.Rank(), in.Err, out.Err)
	}
}

// TestBadFrame: a rank that has proved itself and then breaks the protocol has failed.
func TestBadFrame(t *testing.T) {
	bad := map[string][]byte{
		"no header":       bytes.Repeat([]byte{0xff}, 64),
		"cts for nothing": frame(wire.Header{Kind: wire.KindCTS, ID: 12345, Length: 1}),
		"too long eager":  frame(wire.Header{Kind: wire.KindEager, Length: 1 << 40}),
		"negative tag":    frame(wire.Header{Kind: wire.KindEager, Tag: -5}),
	}
	for name, b := range bad {
		t.Run(name, func(t *testing.T) {
			es := strangersJob(t, Worker)
			e := es[0]
			c := dialRaw(t, e)
			if h, _ := shake(t, c, testIdentity(2)); h.State() != wire.StateEstablished {
				t.Fatal(h)
			}
			in := &MSO{Kind: KindRecv, Peer: 2, Tag: 1, Buf: make([]byte, 10)}
			any := &MSO{Kind: KindRecv, Peer: AnyPeer, Tag: 2, Buf: make([]byte, 10)}
			e.Post(in, Computes)
			e.Post(any, Computes)
			c.Write(frame(wire.Header{Kind: wire.KindHeartbeat}))
			c.Write(b)
			wantDropped(t, name, c)
			waitDone(t, name, e, in, any)
			for _, m := range []*MSO{in, any} {
				wantErr(t, name, m.Err, ErrPeerFailed)
				if pe, ok := errors.AsType[*ProtocolError](m.Err); !ok || pe.Peer != 2 {
					t.Errorf("%v is no protocol error of rank 2", m.Err)
				}
			}
			if s := e.Stats(); s.PeersFailed != 1 {
				t.Errorf("%d peers failed", s.PeersFailed)
			}
			// It does not come back.
			c = dialRaw(t, e)
			if h, _ := shake(t, c, testIdentity(2)); h.State() != wire.StateRefused || h.Verdict() != wire.VerdictClosed {
				t.Errorf("a failed rank comes back: %v", h)
			}
			both(t, es, func() { exchangeTwo(t, es[0], 1) }, func() { exchangeTwo(t, es[1], 0) })
		})
	}
}

// TestHalfFrame: a connection that ends within a payload or a header fails the peer.
func TestHalfFrame(t *testing.T) {
	whole := append(frame(wire.Header{Kind: wire.KindEager, Tag: 1, Length: 100}), make([]byte, 100)...)
	for _, n := range []int{1, 31, 32, 33, 131} {
		es := strangersJob(t, Worker)
		c := dialRaw(t, es[0])
		if h, _ := shake(t, c, testIdentity(2)); h.State() != wire.StateEstablished {
			t.Fatal(h)
		}
		in := &MSO{Kind: KindRecv, Peer: 2, Tag: 1, Buf: make([]byte, 100)}
		if n%2 == 1 {
			es[0].Post(in, Computes)
		}
		c.Write(whole[:n])
		c.Close()
		if n%2 == 0 {
			time.Sleep(time.Millisecond)
			es[0].Post(in, Computes)
		}
		waitDone(t, "half a frame", es[0], in)
		wantErr(t, "half a frame", in.Err, ErrPeerFailed)
	}
}

// TestFlood: many silent connections at once neither keep ranks of the job out
// nor hold descriptors without bound.
func TestFlood(t *testing.T) {
	es := strangersJob(t, Worker)
	for range maxStrangers + 100 {
		dialRaw(t, es[0])
	}
	both(t, es, func() { exchangeTwo(t, es[0], 1) }, func() { exchangeTwo(t, es[1], 0) })
	wantReject(t, es[0], wire.RejectCrowded, 90)
	if s := es[0].Stats(); s.Connections > maxStrangers+10 {
		t.Errorf("%d connections are held", s.Connections)
	}
}

// TestWhoGivesWay: of strangers the oldest of the place with the most, of these one that has said
// nothing first.
func TestWhoGivesWay(t *testing.T) {
	at := func(s string) netip.Prefix { return strangers.PlaceOf(netip.MustParseAddr(s)) }
	silent := func() *wire.Handshake { return wire.NewAcceptor(testIdentity(0), nonce()) }
	said := func() *wire.Handshake {
		h := silent()
		h.Input(wire.NewDialer(testIdentity(2), 0, nonce()).Output())
		return h
	}
	d := &driver{crowd: crowd{from: map[netip.Prefix]int{at("10.0.0.1"): 1, at("2001:db8::1"): 3}}}
	alone := &conn{hs: silent(), place: at("10.0.0.1")}
	first := &conn{hs: said(), place: at("2001:db8::1")}
	second := &conn{hs: silent(), place: at("2001:db8::2")}
	third := &conn{hs: silent(), place: at("2001:db8::3:0:0:3")}
	d.crowd.all = []*conn{alone, first, second, third}
	if got := d.crowd.givesWay(); got != second {
		t.Errorf("connection %d gives way, want 2", slices.Index(d.crowd.all, got))
	}
	d.crowd.all = []*conn{alone, first}
	if got := d.crowd.givesWay(); got != first {
		t.Error("one who is alone at its place gives way to those of another")
	}
}

// TestGreetings: more connections than that wait at the listener for a while, and then have their
// turn.
func TestGreetings(t *testing.T) {
	d := &driver{conns: make([]*conn, 3)}
	taken := func(now int64) (n int) {
		for d.mayGreet(now) {
			n++
		}
		return n
	}
	for i, now := range []int64{1e9, 2e9, 3e9} {
		if n := taken(now); n != maxGreetings+3 {
			t.Errorf("%d: %d connections are taken at once", i, n)
		}
		if n := taken(now + int64(greetTime) - 1); n != 0 {
			t.Errorf("%d: %d more within %v", i, n, greetTime)
		}
	}
}

// TestStrangersFillNoLog: what is logged of a flood is bounded, and says how much was left out.
func TestStrangersFillNoLog(t *testing.T) {
	var log syncBuffer
	es := job(t, 2, Worker, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	const n = 200
	for range n {
		c := dialRaw(t, es[0])
		io.WriteString(c, "GET / HTTP/1.1\r\n\r\n")
		wantDropped(t, "garbage", c)
		c.Close()
	}
	wantReject(t, es[0], wire.RejectBadMagic, n)
	if lines := strings.Count(log.String(), "connection dropped"); lines < 10 || lines > 30 {
		t.Errorf("%d lines for %d strangers", lines, n)
	}
	both(t, es, func() { exchangeTwo(t, es[0], 1) }, func() { exchangeTwo(t, es[1], 0) })
}

// syncBuffer is a buffer that goroutines share.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
