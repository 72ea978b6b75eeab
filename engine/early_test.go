//go:build linux && !fitmpi_portable

package engine

import (
	"bytes"
	"testing"
)

// TestEarly: with Config.Early a long message is over for its sender though its receiver computes
// and has posted no receive; a late receive gets it, and so does one of another long message that
// has no room there. FiTMPI, Fig. 7: a receive of what is there costs a copy.
func TestEarly(t *testing.T) {
	const n = 1 << 20
	for _, p := range []Policy{Worker, Assist} {
		for _, w := range []Way{TCP, Shared} {
			t.Run(p.String()+"/"+w.String(), func(t *testing.T) {
				wayUnderTest = w
				t.Cleanup(func() { wayUnderTest = TCP })
				es := job(t, 2, p, func(c *Config) { c.Early, c.Copy = n, CopyRing })
				exchangeAll(t, es)
				first, second := &MSO{Kind: KindSend, Peer: 1, Tag: 5, Buf: pattern(n, 1)}, &MSO{Kind: KindSend, Peer: 1, Tag: 6, Buf: pattern(n, 2)}
				es[0].Post(first, Computes)
				es[0].Post(second, Computes)
				eventually(t, "a long message waits for its receive", first.IsDone)
				if s := es[1].Stats(); s.Early != 1 || s.EarlyUsed != n || second.IsDone() {
					t.Errorf("%+v; the second send is done: %v", s.Stats, second.IsDone())
				}
				for tag, out := range map[Tag]*MSO{6: second, 5: first} {
					got := make([]byte, n)
					if recvInto(es[1], got, 0, tag); !bytes.Equal(got, out.Buf) {
						t.Errorf("message %d is damaged", tag)
					}
					waitDone(t, "its send", es[0], out)
				}
				if s := es[1].Stats(); s.EarlyUsed != 0 || s.EventQueue != 0 {
					t.Errorf("at the end: %+v", s.Stats)
				}
			})
		}
	}
}
