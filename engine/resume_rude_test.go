//go:build linux && !fitmpi_portable

package engine

import (
	"io"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/wire"
	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// resumingJob is strangersJob whose streams outlive their connections.
func resumingJob(t *testing.T) []*Engine {
	return job(t, 3, Assist, func(c *Config) {
		c.Logger, c.Resume = slog.New(slog.DiscardHandler), ResumeOn
	})[:2]
}

// joinAs is a handshake of rank 2 with e. before is called when the proof is about to be given; nil
// if there is nothing to do.
func joinAs(t *testing.T, e *Engine, s wire.Session, before func(his wire.Session)) (net.Conn, *wire.Handshake) {
	t.Helper()
	c, id := dialRaw(t, e), testIdentity(2)
	id.Session = func(uint32) wire.Session { return s }
	h := wire.NewDialer(id, 0, nonce())
	for b := make([]byte, 1); ; h.Input(b) {
		if before != nil && h.State() == wire.StateAwaitVerdict {
			before(h.PeerSession())
			before = nil
		}
		if _, err := c.Write(h.Output()); err != nil {
			t.Fatal(err)
		}
		if s := h.State(); s == wire.StateEstablished || s == wire.StateRefused || s == wire.StateFailed {
			return c, h
		}
		if _, err := io.ReadFull(c, b); err != nil {
			t.Fatal(err)
		}
	}
}

// TestResumeSuddenly: a rank that resumes on one connection and not on the other is given up, and
// no other rank is the worse for it.
func TestResumeSuddenly(t *testing.T) {
	for name, s := range map[string][2]wire.Session{
		"not at first": {{}, {Resume: true, Connection: 1}},
		"at first":     {{Resume: true, Connection: 1}, {}},
	} {
		t.Run(name, func(t *testing.T) {
			es := resumingJob(t)
			if _, h := joinAs(t, es[0], s[0], nil); h.State() != wire.StateEstablished {
				t.Fatal(h)
			}
			if _, h := joinAs(t, es[0], s[1], nil); h.State() != wire.StateRefused {
				t.Error(h)
			}
			both(t, es, func() { exchangeTwo(t, es[0], 1) }, func() { exchangeTwo(t, es[1], 0) })
		})
	}
}

// TestResumeWildNumber: a rank that speaks of more connections of a pair than there can be is given
// up: ours must go on to count.
func TestResumeWildNumber(t *testing.T) {
	es := resumingJob(t)
	if _, h := joinAs(t, es[0], wire.Session{Resume: true, Connection: math.MaxUint32}, nil); h.State() != wire.StateRefused {
		t.Error(h)
	}
	both(t, es, func() { exchangeTwo(t, es[0], 1) }, func() { exchangeTwo(t, es[1], 0) })
}

// TestResumeAfterMore: between what we say that we have received and the end of the connection
// before, more came by that one. The peer says it again, which is dropped, and hears that it is
// there.
func TestResumeAfterMore(t *testing.T) {
	es := resumingJob(t)
	first, h := joinAs(t, es[0], wire.Session{Resume: true, Connection: 1}, nil)
	if h.State() != wire.StateEstablished {
		t.Fatal(h)
	}
	in := &MSO{Kind: KindRecv, Peer: 2, Tag: 1, Buf: make([]byte, 100)}
	es[0].Post(in, Computes)
	whole := append(frame(wire.Header{Kind: wire.KindEager, Tag: 1, Length: 100}), pattern(100, 3)...)
	second, h := joinAs(t, es[0], wire.Session{Resume: true, Connection: 2}, func(his wire.Session) {
		if his.Received != 0 {
			t.Errorf("%d bytes are received of what was not sent", his.Received)
		}
		if _, err := first.Write(whole); err != nil {
			t.Fatal(err)
		}
		waitDone(t, "by the first connection", es[0], in)
	})
	if h.State() != wire.StateEstablished {
		t.Fatal(h)
	}
	if _, err := second.Write(whole); err != nil {
		t.Fatal(err)
	}
	second.SetReadDeadline(time.Now().Add(failsafe))
	for b := make([]byte, wire.HeaderLen); ; {
		if _, err := io.ReadFull(second, b); err != nil {
			t.Fatalf("nothing is acknowledged: %v", err)
		}
		var f wire.Header
		if wire.ConsumeHeader(b, &f) <= 0 {
			t.Fatal("no header")
		}
		if f.Kind == wire.KindReceived && f.Length == uint64(len(whole)) {
			return
		}
	}
}

// TestResumeEverNewer: a rank that answers every dial by saying that it knows of a newer connection
// is dialled with pauses, like one that is not reached, and given up like that.
func TestResumeEverNewer(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it waits for seconds")
	es := job(t, 3, Assist, func(c *Config) {
		c.Resume, c.Connect = ResumeOn, time.Second
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var handshakes atomic.Int32
	var served sync.WaitGroup
	served.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			refuseAsOld(c, uint32(1000*handshakes.Add(1)))
			c.Close()
		}
	})
	defer served.Wait()
	defer l.Close()
	es[0].takeRight()
	es[0].drv.bridge = slices.Clone(es[0].drv.bridge)
	es[0].drv.bridge[2].Routes = Direct(netip.MustParseAddrPort(l.Addr().String()))
	es[0].releaseRight()
	m := &MSO{Kind: KindSend, Peer: 2, Tag: 1, Buf: make([]byte, 10), Mode: Synchronous}
	es[0].Post(m, Computes)
	waitDone(t, "a rank that refuses for ever", es[0], m)
	wantErr(t, "a rank that refuses for ever", m.Err, ErrPeerFailed)
	wantErr(t, "a rank that refuses for ever", m.Err, errNewer)
	if n := handshakes.Load(); n > 20 { // at once, and after 100, 200, 400 ms
		t.Errorf("it was dialled %d times in a second", n)
	}
	both(t, es, func() { exchangeTwo(t, es[0], 1) }, func() { exchangeTwo(t, es[1], 0) })
}

// refuseAsOld answers a dial as rank 2, which says that it knows of the connection with the number
// last.
func refuseAsOld(c net.Conn, last uint32) {
	id := testIdentity(2)
	id.Session = func(uint32) wire.Session { return wire.Session{Resume: true, Connection: last} }
	h := wire.NewAcceptor(id, nonce())
	for b := make([]byte, 1); h.State() != wire.StateRefused && h.State() != wire.StateFailed; {
		if _, err := io.ReadFull(c, b); err != nil {
			return
		}
		if h.Input(b); h.State() == wire.StateProven {
			h.Decide(wire.VerdictDuplicate)
		}
		if _, err := c.Write(h.Output()); err != nil {
			return
		}
	}
}
