package engine

import (
	"bytes"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/buffer"
)

// MPI 4.1, section 3.6: a buffered send completes whether or not a matching
// receive has been posted; detaching waits until all messages have been delivered.
func TestBsend(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		es := job(t, 2, p, nil)
		e := es[0]
		const n = 400_000 // by rendezvous: the memory stays taken until the receive is posted
		mem := make([]byte, 2*(n+buffer.Overhead))
		bsend := func(tag int, n int) bool {
			ok, err := e.Bsend(&MSO{Kind: KindSend, Peer: 1, Tag: Tag(tag), Buf: pattern(n, tag)})
			if err != nil {
				t.Fatal(err)
			}
			return ok
		}
		if bsend(0, 1) {
			t.Error("a buffered send without a buffer")
		}
		if e.Detach(false) != nil {
			t.Error("a buffer detached that was never attached")
		}
		if !e.Attach(mem) || e.Attach(mem) {
			t.Error("attach once, and no more")
		}
		if !bsend(1, n) || !bsend(2, n) || bsend(3, n) {
			t.Error("two messages fit, not three")
		}
		var got []byte
		both(t, es, func() { got = e.Detach(true) }, func() {
			time.Sleep(5 * time.Millisecond)
			for tag := 1; tag <= 2; tag++ {
				if m, b := recv(es[1], n, 0, Tag(tag)); m.Err != nil || !bytes.Equal(b, pattern(n, tag)) {
					t.Errorf("message %d: %v", tag, m.Err)
				}
			}
		})
		if &got[0] != &mem[0] || !bsend(4, n) {
			t.Error("flushed, the buffer must be there and empty")
		}
		both(t, es, func() { got = e.Detach(false) }, func() { recv(es[1], n, 0, 4) })
		if len(got) != len(mem) || bsend(5, 1) {
			t.Error("detached, the buffer must be gone")
		}
	})
}

// TestDetachOfFailure: the peer dies; nobody waits for it for ever.
func TestDetachOfFailure(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		es := job(t, 2, p, nil)
		exchangeAll(t, es)
		es[0].Attach(make([]byte, 1<<20))
		if ok, err := es[0].Bsend(&MSO{Kind: KindSend, Peer: 1, Tag: 1, Buf: make([]byte, 500_000)}); !ok || err != nil {
			t.Fatal(ok, err)
		}
		both(t, es, func() { es[0].Detach(false) }, func() { es[1].Kill() })
	})
}
