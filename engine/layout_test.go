//go:build linux && !fitmpi_portable

package engine

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// spread is a message of which every group of bytes is followed by a gap of as many.
type spread struct {
	mem   []byte
	n     int // bytes of the message
	group int
}

func newSpread(n, group int) *spread { return &spread{make([]byte, 2*n+group), n, group} }

func (s *spread) Len() int { return s.n }

func (s *spread) Pack(dst []byte, off int) {
	for i := 0; i < len(dst); {
		i += copy(dst[i:], s.run(off+i))
	}
}

func (s *spread) Unpack(off int, src []byte) {
	for i := 0; i < len(src); {
		i += copy(s.run(off+i), src[i:])
	}
}

// run is the rest of the group that byte i of the message lies in.
func (s *spread) run(i int) []byte {
	at := i / s.group * 2 * s.group
	return s.mem[at+i%s.group : at+s.group]
}

// message is the bytes of the message, and says whether the gaps are untouched.
func (s *spread) message() (b []byte, clean bool) {
	b = make([]byte, s.n)
	s.Pack(b, 0)
	rest := spread{bytes.Clone(s.mem), s.n, s.group}
	rest.Unpack(0, make([]byte, s.n))
	return b, bytes.Count(rest.mem, []byte{0}) == len(rest.mem)
}

// TestLayouts: what is sent from a layout, or received into one, or both, arrives, posted
// before it comes and after, to oneself as well; gaps are left alone.
func TestLayouts(t *testing.T) {
	sizes := []int{0, 1, 8, 5000, 100_000, 300_000}
	if !raceEnabled && effort.Now() >= effort.Full { // longer messages are more of the same
		sizes = append(sizes, 4096, 2<<20+3)
	}
	policies(t, func(t *testing.T, p Policy) {
		es := job(t, 2, p, nil)
		for _, n := range sizes {
			for how := range 4 {
				packed, placed := how&1 != 0, how&2 != 0
				t.Run(fmt.Sprintf("%d packed=%v placed=%v", n, packed, placed), func(t *testing.T) {
					layoutExchange(t, es[0], es[1], n, packed, placed)
					layoutExchange(t, es[0], es[0], n, packed, placed)
				})
			}
		}
	})
}

func layoutExchange(t *testing.T, from, to *Engine, n int, packed, placed bool) {
	var wg sync.WaitGroup
	for k := range 4 {
		tag, early := Tag(k), k%2 == 0
		m, dst := newLayoutRecv(from, n, tag, placed)
		if early {
			to.Post(m, Computes)
		}
		wg.Go(func() {
			layoutSend(t, from, to, pattern(n, k), tag, packed, k < 2 && from != to)
			recv(from, 0, PeerID(to.cfg.Rank), 99) // under caller the message moves in calls only
		})
		if !early {
			probe := &MSO{Kind: KindProbe, Peer: PeerID(from.cfg.Rank), Tag: tag}
			to.Post(probe, Computes)
			to.Wait(probe)
			to.Post(m, Computes)
		}
		to.Wait(m)
		got, clean := m.Buf, true
		if placed {
			got, clean = dst.message()
		}
		if m.Err != nil || m.Length != n || !clean || !bytes.Equal(got, pattern(n, k)) {
			t.Errorf("message %d: error %v, length %d, gaps clean %v", k, m.Err, m.Length, clean)
		}
		send(to, nil, PeerID(from.cfg.Rank), 99)
		wg.Wait()
	}
}

// groupOf is how long the groups of a message of n bytes are: longer in long ones, which are packed
// in no time then.
func groupOf(n int) int { return 8 + n>>14 }

func newLayoutRecv(from *Engine, n int, tag Tag, placed bool) (*MSO, *spread) {
	m := &MSO{Kind: KindRecv, Peer: PeerID(from.cfg.Rank), Tag: tag}
	if !placed {
		m.Buf = make([]byte, n)
		return m, nil
	}
	dst := newSpread(n, groupOf(n))
	m.Layout = dst
	return m, dst
}

// layoutSend sends b. Packed, it is sent by a standard send that blocks if it may be copied, else
// by a synchronous one, which goes from where it lies.
func layoutSend(t *testing.T, from, to *Engine, b []byte, tag Tag, packed, copied bool) {
	m := &MSO{Kind: KindSend, Peer: PeerID(to.cfg.Rank), Tag: tag, Buf: b}
	if packed {
		src := newSpread(len(b), groupOf(len(b)))
		src.Unpack(0, b)
		m.Layout, m.Buf = src, nil
	}
	next := Computes
	switch {
	case packed && copied:
		next = Returns
	case packed:
		m.Mode = Synchronous
	}
	from.Post(m, next)
	from.Wait(m)
	if m.Err != nil {
		t.Error(m.Err)
	}
}
