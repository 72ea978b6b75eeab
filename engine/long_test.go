//go:build linux && !fitmpi_portable

package engine

import (
	"bytes"
	"sync"
	"testing"
)

// TestManyLong: more long messages at once than may be offered, and than a ring holds, round three
// ranks, which all wait: the goroutine that makes room must see to it that the room is used.
func TestManyLong(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		const ranks, count, n = 3, 100, 300_000
		es := job(t, ranks, p, nil)
		var wg sync.WaitGroup
		for r, e := range es {
			wg.Go(func() {
				right, left := PeerID((r+1)%ranks), PeerID((r+ranks-1)%ranks)
				data, want := pattern(n, r), pattern(n, int(left))
				var ms []*MSO
				for k := range count {
					in := &MSO{Kind: KindRecv, Peer: left, Tag: Tag(k), Buf: make([]byte, n)}
					out := &MSO{Kind: KindSend, Peer: right, Tag: Tag(k), Buf: data}
					e.Post(in, Computes)
					e.Post(out, Computes)
					ms = append(ms, in, out)
				}
				e.WaitMany(len(ms), ms)
				for _, m := range ms {
					if m.Err != nil || m.Kind == KindRecv && !bytes.Equal(m.Buf, want) {
						t.Errorf("rank %d, message %d: %v", r, m.Tag, m.Err)
					}
				}
			})
		}
		wg.Wait()
	})
}
