//go:build linux && !fitmpi_portable

package engine

import (
	"bytes"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/netpoll"
)

// Hands make the calls that the holder of the right leaves to them, each of them once. After their
// end it makes them itself.
func TestHands(t *testing.T) {
	p, err := netpoll.NewPoller()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	h, err := newHands(p, 2)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := make([]*netpoll.Socket, len(h.calls)), make([]*netpoll.Socket, len(h.calls))
	for i := range ours {
		ours[i], theirs[i] = socketPair(t)
		defer ours[i].Close()
		defer theirs[i].Close()
	}
	for round := range 100 {
		for i, s := range ours {
			c := h.next(&conn{sock: s}, true)
			c.bufs = append(c.bufs, []byte{byte(round), byte(i)})
		}
		if h.next(nil, true) != nil {
			t.Fatal("there is room for one more call than for those that there is room for")
		}
		n := h.begin()
		for until := time.Now().Add(failsafe); h.left.Load() > 0; sys.Yield() {
			if time.Now().After(until) {
				t.Fatalf("round %d: %d calls are not made", round, h.left.Load())
			}
		}
		if h.next(nil, true) != nil {
			t.Fatal("there is room for a call while those of a round are looked at")
		}
		for i := range h.calls[:n] {
			if c := h.calls[i]; c.n != 2 || c.err != nil {
				t.Fatalf("round %d: call %d moved %d bytes: %v", round, i, c.n, c.err)
			}
			if b := readAll(t, theirs[i], 2); b[0] != byte(round) || b[1] != byte(i) {
				t.Fatalf("round %d: call %d moved %v", round, i, b)
			}
		}
		h.forget()
	}
	if err := h.end(); err != nil {
		t.Error(err)
	}
	h.forget()
	h.next(&conn{sock: ours[0]}, true).bufs = [][]byte{{1}}
	if c := h.round(); len(c) != 1 || c[0].n != 1 {
		t.Errorf("after the end: %+v", c)
	}
}

// socketPair is a connection.
func socketPair(t *testing.T) (a, b *netpoll.Socket) {
	t.Helper()
	l, err := netpoll.Listen(netip.MustParseAddrPort("127.0.0.1:0"), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if a, err = netpoll.Dial(l.Addr(), netpoll.Options{}); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(failsafe); ; sys.Yield() {
		if b, err = l.Accept(netpoll.Options{}); err == nil {
			break
		}
		if time.Now().After(until) {
			t.Fatal(err)
		}
	}
	return a, b
}

func readAll(t *testing.T, s *netpoll.Socket, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	for got, until := 0, time.Now().Add(failsafe); got < n; {
		k, err := s.Read(b[got:])
		if got += max(k, 0); err != nil && err != netpoll.ErrAgain || time.Now().After(until) {
			t.Fatalf("%d of %d bytes: %v", got, n, err)
		}
	}
	return b
}

// With several workers every message is the same, whichever rank drives and whatever its length,
// and long ones are written and read in rounds. Here one goroutine drives all ranks, so there are
// such rounds in each run.
func TestSeveralWorkers(t *testing.T) {
	for _, resume := range []Resume{ResumeOff, ResumeOn} {
		t.Run(fmt.Sprint("resume ", resume), func(t *testing.T) {
			es := job(t, 4, Caller, func(c *Config) { c.Workers, c.Resume = 3, resume })
			var all []*MSO
			for own, e := range es {
				for peer := range es {
					for tag, n := range []int{8, 200 << 10, 3 << 20, 20 << 10} {
						r := &MSO{Kind: KindRecv, Peer: PeerID(peer), Tag: Tag(tag), Buf: make([]byte, n)}
						s := &MSO{Kind: KindSend, Peer: PeerID(peer), Tag: Tag(tag), Buf: pattern(n, 16*own+4*peer+tag)}
						e.Post(r, Computes)
						e.Post(s, Computes)
						all = append(all, r, s)
					}
				}
			}
			driveAll(t, es, all)
			for i := 0; i < len(all); i += 2 {
				r := all[i]
				to, from, tag := i/32, i/8%4, i/2%4
				if r.Err != nil || all[i+1].Err != nil || !bytes.Equal(r.Buf, pattern(len(r.Buf), 16*from+4*to+tag)) {
					t.Errorf("message %d of %d bytes from %d to %d: %v, %v", tag, len(r.Buf), from, to, r.Err, all[i+1].Err)
				}
			}
			for i, e := range es {
				if n := e.drv.hands.rounds; n == 0 {
					t.Errorf("rank %d made no calls in rounds", i)
				}
			}
		})
	}
}

// driveAll drives ranks in turn until all is done.
func driveAll(t *testing.T, es []*Engine, ms []*MSO) {
	t.Helper()
	for until := time.Now().Add(failsafe); ; {
		done := true
		for _, m := range ms {
			done = done && m.IsDone()
		}
		if done {
			return
		}
		if time.Now().After(until) {
			t.Fatal("messages do not arrive")
		}
		for _, e := range es {
			if e.tryRight() {
				e.turn()
				e.releaseRight()
			}
		}
	}
}
