//go:build linux && !fitmpi_portable

package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"
)

var errLeave = errors.New("its time is over")

// abandonSizes are those of messages of every protocol: short, eager, announced, offered and
// fetched in one part and in several.
var abandonSizes = []int{8, 1000, 20_000, 70_000, 300_000, 1 << 20}

// numbered is the payload of message k of n bytes.
func numbered(n, k int) []byte {
	b := pattern(n, k)
	binary.LittleEndian.PutUint64(b, uint64(k))
	return b
}

// drawn draws messages, receives and the moments at which they are given up.
type drawn struct {
	*testing.T
	es   []*Engine
	rand *rand.Rand
}

// leave gives m up at a moment that is drawn, or not at all.
func (d *drawn) leave(e *Engine, m *MSO) {
	if d.rand.IntN(4) > 0 {
		for range d.rand.IntN(1 << d.rand.IntN(8)) {
			e.progressForTest()
		}
		e.Abandon(m, errLeave)
	}
	e.Wait(m)
}

// receive posts a receive of one of all kinds that has room for n bytes, and returns what it has
// got, nil if it was given up.
func (d *drawn) receive(n int) []byte {
	e := d.es[1]
	m := &MSO{Kind: KindRecv, Peer: 0, Tag: 1}
	kind := d.rand.IntN(5)
	if kind == 0 {
		p := &MSO{Kind: KindMprobe, Peer: 0, Tag: 1}
		e.Post(p, Computes)
		d.leave(e, p)
		if p.Err != nil {
			return nil
		}
		m.Peer, m.Tag, m.Message = AnyPeer, AnyTag, p.Message
	}
	switch kind {
	case 1:
		m.Alloc = func(n int) []byte { return make([]byte, n) }
	case 2:
		m.Layout = newSpread(n, 8)
	case 3:
		m.Peer, m.Tag = AnyPeer, AnyTag
		fallthrough
	default:
		m.Buf = make([]byte, n)
	}
	e.Post(m, Computes)
	d.leave(e, m)
	switch {
	case m.Err == nil && kind == 2:
		b := make([]byte, m.Length)
		m.Layout.Pack(b, 0)
		return b
	case m.Err == nil:
		return m.Buf[:m.Length]
	case !errors.Is(m.Err, errLeave):
		d.Fatal(m.Err)
	}
	return nil
}

// TestAbandonedReceives: whatever receives are given up, and when, the messages of a sender are
// received in their order, each once and whole.
func TestAbandonedReceives(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		seed := rand.Uint64()
		t.Log("seed", seed)
		es := job(t, 2, p, nil)
		exchangeAll(t, es)
		const messages = 60
		both(t, es, func() {
			sizes := rand.New(rand.NewPCG(seed, 0))
			for k := range messages {
				m := &MSO{Kind: KindSend, Peer: 1, Tag: 1, Buf: numbered(abandonSizes[sizes.IntN(len(abandonSizes))], k)}
				if k%2 == 1 {
					m.Mode = Synchronous
				}
				es[0].Post(m, Computes)
				es[0].Wait(m)
				if m.Err != nil && !errors.Is(m.Err, ErrStopped) {
					t.Error(m.Err)
				}
				clear(m.Buf)
			}
			passWord(es[0], KindRecv, 1)
		}, func() {
			sizes := rand.New(rand.NewPCG(seed, 0))
			d := &drawn{t, es, rand.New(rand.NewPCG(seed, 1))}
			for k := range messages {
				n := abandonSizes[sizes.IntN(len(abandonSizes))]
				b := d.receive(n)
				for b == nil {
					b = d.receive(n)
				}
				if !bytes.Equal(b, numbered(n, k)) {
					t.Fatalf("message %d of %d bytes: got %d bytes of message %d", k, n, len(b), binary.LittleEndian.Uint64(b))
				}
			}
			passWord(es[1], KindSend, 0)
		})
		for _, e := range es {
			wantIdle(t, e)
		}
		closeAll(t, es)
	})
}

// passWord sends or receives a word that says that a test is at its end.
func passWord(e *Engine, k Kind, peer PeerID) {
	m := &MSO{Kind: k, Peer: peer, Tag: 2}
	e.Post(m, Computes)
	e.Wait(m)
}

// TestAbandonedSends: whatever sends are given up, and when, each message that is received is
// whole, and they come in their order. Those of sends that succeed do come.
func TestAbandonedSends(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		seed := rand.Uint64()
		t.Log("seed", seed)
		es := job(t, 2, p, nil)
		exchangeAll(t, es)
		const messages = 60
		var sent [messages + 1]bool
		both(t, es, func() {
			d := &drawn{t, es, rand.New(rand.NewPCG(seed, 0))}
			for k := range messages {
				m := &MSO{Kind: KindSend, Peer: 1, Tag: 1, Buf: numbered(abandonSizes[d.rand.IntN(len(abandonSizes))], k)}
				if d.rand.IntN(2) == 1 {
					m.Mode = Synchronous
				}
				es[0].Post(m, Computes)
				d.leave(es[0], m)
				if sent[k] = m.Err == nil; !sent[k] && !errors.Is(m.Err, errLeave) {
					t.Errorf("message %d: %v", k, m.Err)
				}
				clear(m.Buf)
			}
			sent[messages] = true
			m := &MSO{Kind: KindSend, Peer: 1, Tag: 1, Buf: numbered(8, messages)}
			es[0].Post(m, Computes)
			es[0].Wait(m)
			passWord(es[0], KindRecv, 1)
		}, func() {
			for next := 0; next <= messages; {
				m := &MSO{Kind: KindRecv, Peer: 0, Tag: 1, Buf: make([]byte, 1<<20)}
				es[1].Post(m, Computes)
				es[1].Wait(m)
				k := int(binary.LittleEndian.Uint64(m.Buf))
				if m.Err != nil || k < next || !bytes.Equal(m.Buf[:m.Length], numbered(m.Length, k)) {
					t.Fatalf("message %d or a later one is to come: got %d bytes of message %d, error %v", next, m.Length, k, m.Err)
				}
				for ; next < k; next++ {
					if sent[next] {
						t.Errorf("message %d was sent, and did not come", next)
					}
				}
				next++
			}
			passWord(es[1], KindSend, 0)
		})
		for _, e := range es {
			wantIdle(t, e)
		}
		closeAll(t, es)
	})
}
