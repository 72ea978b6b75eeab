//go:build linux && !fitmpi_portable

package engine

import (
	"bytes"
	"testing"
	"time"
)

// TestSendDirect: a standard send returns before its receiver comes, whatever its
// length while the library buffer has room, and the memory is the caller's then.
func TestSendDirect(t *testing.T) {
	for _, spin := range []time.Duration{0, 50 * time.Microsecond} {
		es := job(t, 2, Assist, func(c *Config) { c.Spin = spin })
		both(t, es, func() { exchangeTwo(t, es[0], 1) }, func() { exchangeTwo(t, es[1], 0) })
		for _, n := range []int{5000, 64 << 10, 64<<10 + 1, 1 << 20, 5 << 20} {
			buf := pattern(n, n)
			if err := send(es[0], buf, 1, 7); err != nil { // would hang: no caller receives
				t.Fatal(err)
			}
			clear(buf)
			m, in := listen(es[1], n, 0, 7)
			waitDone(t, "late receive", es[1], m)
			if m.Err != nil || !bytes.Equal(in, pattern(n, n)) {
				t.Errorf("spin %v, %d bytes: %v, or wrong bytes", spin, n, m.Err)
			}
		}
	}
}

// TestSendDirectInPlace: a receiver that is there costs no copy to the library buffer.
func TestSendDirectInPlace(t *testing.T) {
	const n = 300_000
	es := job(t, 2, Assist, func(c *Config) { c.SendBuffer = n / 2 }) // no room for a copy
	both(t, es, func() { exchangeTwo(t, es[0], 1) }, func() { exchangeTwo(t, es[1], 0) })
	for k := range 10 {
		m, in := listen(es[1], n, 0, 7)
		both(t, es, func() {
			if err := send(es[0], pattern(n, k), 1, 7); err != nil {
				t.Error(err)
			}
		}, func() { es[1].Wait(m) })
		if m.Err != nil || !bytes.Equal(in, pattern(n, k)) {
			t.Errorf("%v, or wrong bytes", m.Err)
		}
	}
}

// TestSendDirectToTheDead: the peer dies while a direct send waits for it.
func TestSendDirectToTheDead(t *testing.T) {
	es := job(t, 2, Assist, func(c *Config) { c.SendBuffer = 1 << 20 })
	both(t, es, func() { exchangeTwo(t, es[0], 1) }, func() { exchangeTwo(t, es[1], 0) })
	failed := make(chan error)
	go func() { failed <- send(es[0], pattern(2<<20, 1), 1, 7) }() // does not fit the buffer: it waits
	eventually(t, "the RTS does not arrive", func() bool { return es[1].Stats().EventQueue == 1 })
	if err := es[1].Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err == nil {
		t.Error("a send to a dead peer succeeded")
	}
}

// TestSendBesideReceives: a direct send looks after what others have posted while it
// drives, and gives that back to the worker.
func TestSendBesideReceives(t *testing.T) {
	es := job(t, 2, Assist, nil)
	both(t, es, func() { exchangeTwo(t, es[0], 1) }, func() { exchangeTwo(t, es[1], 0) })
	for k := range 50 {
		a, _ := listen(es[0], 8, 1, 1)
		if err := send(es[0], pattern(200_000, k), 1, 7); err != nil {
			t.Fatal(err)
		}
		if err := send(es[1], pattern(8, k), 0, 1); err != nil {
			t.Fatal(err)
		}
		eventually(t, "nobody attends to the receive", a.IsDone)
		b, in := listen(es[1], 200_000, 0, 7)
		waitDone(t, "the long one", es[1], b)
		if !bytes.Equal(in, pattern(200_000, k)) {
			t.Error("wrong bytes")
		}
	}
}

// listen posts a receive and does not wait for it.
func listen(e *Engine, n int, from PeerID, tag Tag) (*MSO, []byte) {
	m := &MSO{Kind: KindRecv, Peer: from, Tag: tag, Buf: make([]byte, n)}
	e.Post(m, Computes)
	return m, m.Buf
}
