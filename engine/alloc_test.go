//go:build linux && !fitmpi_portable

package engine

import (
	"fmt"
	"testing"
)

// again posts m again.
func again(e *Engine, m *MSO) {
	m.Reset()
	e.Post(m, Computes)
}

// silently is for tests that count what the process allocates: now and then a beat does, whatever
// the ranks say.
func silently(c *Config) { c.HeartbeatTimeout = -1 }

// echo answers n messages of the length of b and ends.
func echo(e *Engine, n int, b []byte) {
	in := &MSO{Kind: KindRecv, Peer: 0, Tag: 1, Buf: b}
	out := &MSO{Kind: KindSend, Peer: 0, Tag: 1, Buf: b}
	for range n {
		again(e, in)
		e.Wait(in)
		again(e, out)
		e.Wait(out)
	}
}

// TestAllocs: in steady state neither side of a message allocates, whatever its protocol.
func TestAllocs(t *testing.T) {
	for _, p := range []Policy{Worker, Assist} {
		for _, n := range []int{8, 20_000, 200_000, 3 << 20} {
			t.Run(fmt.Sprintf("%v/%d", p, n), func(t *testing.T) {
				es := job(t, 2, p, silently)
				const warm, runs = 50, 50
				done := make(chan struct{})
				go func() {
					defer close(done)
					echo(es[1], warm+runs+1, make([]byte, n)) // AllocsPerRun makes one run more
				}()
				in := &MSO{Kind: KindRecv, Peer: 1, Tag: 1, Buf: make([]byte, n)}
				out := &MSO{Kind: KindSend, Peer: 1, Tag: 1, Buf: make([]byte, n)}
				round := func() {
					again(es[0], in)
					again(es[0], out)
					es[0].Wait(out)
					es[0].Wait(in)
				}
				for range warm {
					round()
				}
				if a := testing.AllocsPerRun(runs, round); a != 0 {
					t.Errorf("%v allocations for a message there and back", a)
				}
				<-done
			})
		}
		t.Run(p.String()+"/self", func(t *testing.T) {
			e := job(t, 1, p, silently)[0]
			b := make([]byte, 1000)
			in := &MSO{Kind: KindRecv, Peer: 0, Tag: 1, Buf: make([]byte, 1000)}
			out := &MSO{Kind: KindSend, Peer: 0, Tag: 1, Buf: b}
			round := func() {
				again(e, in)
				again(e, out)
				e.Wait(in)
				again(e, out)
				again(e, in)
				e.Wait(out)
			}
			round()
			if a := testing.AllocsPerRun(100, round); a != 0 {
				t.Errorf("%v allocations", a)
			}
		})
	}
}

// TestSendAllocs: nor does a standard send from the library buffer.
func TestSendAllocs(t *testing.T) {
	for _, n := range []int{8, 50_000, 500_000} {
		es := job(t, 2, Worker, silently)
		const warm, runs = 50, 50
		done := make(chan struct{})
		go func() {
			defer close(done)
			in := &MSO{Kind: KindRecv, Peer: 0, Tag: 1, Buf: make([]byte, n)}
			answer := &MSO{Kind: KindSend, Peer: 0, Tag: 2}
			for range warm + runs + 1 {
				again(es[1], in)
				es[1].Wait(in)
				again(es[1], answer)
			}
		}()
		out := &MSO{Kind: KindSend, Peer: 1, Tag: 1, Buf: make([]byte, n)}
		answer := &MSO{Kind: KindRecv, Peer: 1, Tag: 2}
		round := func() {
			again(es[0], answer)
			defer es[0].Wait(answer)
			out.Reset()
			es[0].Post(out, Returns)
			if es[0].Wait(out); out.Err != nil {
				t.Error(out.Err)
			}
		}
		for range warm {
			round()
		}
		if a := testing.AllocsPerRun(runs, round); a != 0 {
			t.Errorf("%d bytes: %v allocations for a send", n, a)
		}
		<-done
	}
}
