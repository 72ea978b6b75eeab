//go:build linux && !fitmpi_portable

package engine

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/buffer"
)

// bsend sends n bytes through b to rank 1 and reports whether there was room.
func bsend(t *testing.T, e *Engine, b *Buffer, tag, n int) bool {
	t.Helper()
	ok, err := e.Bsend(b, &MSO{Kind: KindSend, Peer: 1, Tag: Tag(tag), Buf: pattern(n, tag)})
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

// flush waits until everything has left b.
func flush(e *Engine, b *Buffer) error {
	var m MSO
	e.Flush(b, &m)
	e.Wait(&m)
	return m.Err
}

// MPI 4.1, section 3.6: a buffered send completes whether or not a matching
// receive has been posted; a flush waits until all messages have left.
func TestBsend(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		es := job(t, 2, p, nil)
		e := es[0]
		const n = 400_000 // by rendezvous: the memory stays taken until the receive is posted
		mem := make([]byte, 2*(n+buffer.Overhead))
		b := NewBuffer(mem, false)
		if !bsend(t, e, b, 1, n) || !bsend(t, e, b, 2, n) || bsend(t, e, b, 3, n) {
			t.Error("two messages fit, not three")
		}
		var early MSO
		e.Flush(b, &early)
		if e.Test(&early) || e.CloseBuffer(b) {
			t.Error("flushed, or closed, with messages in it")
		}
		both(t, es, func() { e.Wait(&early) }, func() {
			time.Sleep(5 * time.Millisecond)
			for tag := 1; tag <= 2; tag++ {
				if m, b := recv(es[1], n, 0, Tag(tag)); m.Err != nil || !bytes.Equal(b, pattern(n, tag)) {
					t.Errorf("message %d: %v", tag, m.Err)
				}
			}
		})
		if !bsend(t, e, b, 4, n) {
			t.Error("flushed, the buffer must be empty")
		}
		both(t, es, func() {
			if err := flush(e, b); err != nil {
				t.Error(err)
			}
		}, func() { recv(es[1], n, 0, 4) })
		for range 2 {
			if !e.CloseBuffer(b) || bsend(t, e, b, 5, 1) {
				t.Error("closed, the buffer must take nothing")
			}
		}
		if &b.Mem()[0] != &mem[0] {
			t.Error("not the memory that was given")
		}
		if err := flush(e, b); err != nil {
			t.Error("flush of a closed buffer:", err)
		}
	})
}

// TestBsendBuffers: what lies in one buffer takes no room in another, and holds up no flush of it.
func TestBsendBuffers(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		es := job(t, 2, p, nil)
		e := es[0]
		const n = 400_000
		a, b := NewBuffer(make([]byte, n+buffer.Overhead), false), NewBuffer(make([]byte, n+buffer.Overhead), false)
		auto := NewBuffer(nil, true)
		if !bsend(t, e, a, 1, n) || bsend(t, e, a, 1, n) || !bsend(t, e, b, 2, n) || !bsend(t, e, auto, 3, n) || !bsend(t, e, auto, 3, n) {
			t.Error("one message fits in each of two buffers, any number where there is no bound")
		}
		both(t, es, func() { flush(e, b) }, func() { recv(es[1], n, 0, 2) })
		if !e.CloseBuffer(b) || e.CloseBuffer(a) || e.CloseBuffer(auto) {
			t.Error("one is empty, two are not")
		}
		both(t, es, func() { flush(e, auto); flush(e, a) }, func() { recv(es[1], n, 0, 3); recv(es[1], n, 0, 1); recv(es[1], n, 0, 3) })
		if !e.CloseBuffer(a) || !e.CloseBuffer(auto) {
			t.Error("all have left")
		}
		wantIdle(t, e)
	})
}

// TestFlushAbandoned: a caller that gives a flush up gets its error, and the buffer goes on.
func TestFlushAbandoned(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		es := job(t, 2, p, nil)
		e := es[0]
		const n = 400_000
		b := NewBuffer(make([]byte, n+buffer.Overhead), false)
		bsend(t, e, b, 1, n)
		var given, kept MSO
		e.Flush(b, &given)
		e.Flush(b, &kept)
		enough := errors.New("enough")
		e.Abandon(&given, enough)
		e.Wait(&given)
		if given.Err != enough || kept.IsDone() {
			t.Errorf("given up: %v; the other is done: %v", given.Err, kept.IsDone())
		}
		given.Reset()
		both(t, es, func() { e.Wait(&kept) }, func() { recv(es[1], n, 0, 1) })
		if kept.Err != nil || given.IsDone() {
			t.Errorf("%v; a flush that was given up is done: %v", kept.Err, given.IsDone())
		}
	})
}

// TestFlushOfFailure: the peer dies, and no flush waits for it for ever.
func TestFlushOfFailure(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		es := job(t, 2, p, nil)
		exchangeAll(t, es)
		b := NewBuffer(make([]byte, 1<<20), false)
		bsend(t, es[0], b, 1, 500_000)
		both(t, es, func() { flush(es[0], b) }, func() { es[1].Kill() })
		if !es[0].CloseBuffer(b) {
			t.Error("the message to the dead is still there")
		}
	})
}
