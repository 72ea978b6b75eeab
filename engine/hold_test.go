//go:build linux && !fitmpi_portable

package engine

import (
	"runtime"
	"testing"
	"time"
	"weak"
)

// TestHoldsNothing: memory of users that operations which are over had read or written is garbage,
// in whatever way it went.
func TestHoldsNothing(t *testing.T) {
	for _, w := range []Way{TCP, Shared, Thread} {
		t.Run(w.String(), func(t *testing.T) {
			wayUnderTest = w
			t.Cleanup(func() { wayUnderTest = TCP })
			es := job(t, 2, Assist, func(c *Config) { c.Workers = 1 + c.Rank }) // one of them with hands
			held := map[weak.Pointer[byte]]string{}
			within(t, "the messages", func() {
				for _, n := range []int{300 << 10, 3 << 20} {
					exchangeNew(t, es, n, held)
				}
			})
			for until := time.Now().Add(failsafe); len(held) > 0 && time.Now().Before(until); {
				runtime.GC()
				for p := range held {
					if p.Value() == nil {
						delete(held, p)
					}
				}
			}
			for _, what := range held {
				t.Errorf("something holds the memory of %s", what)
			}
		})
	}
}

// exchangeNew sends some messages of n bytes at a time, all of memory of their own, which it notes.
//
//go:noinline
func exchangeNew(t *testing.T, es []*Engine, n int, held map[weak.Pointer[byte]]string) {
	var open []*MSO
	post := func(e *Engine, m *MSO, what string) {
		m.Buf = make([]byte, n)
		held[weak.Make(&m.Buf[0])] = what
		e.Post(m, Computes)
		open = append(open, m)
	}
	for k := range 5 {
		post(es[0], &MSO{Kind: KindSend, Peer: 1, Tag: Tag(k), Mode: Synchronous}, "a send")
		post(es[1], &MSO{Kind: KindRecv, Peer: 0, Tag: Tag(k)}, "a receive")
	}
	for i, m := range open {
		if es[i%2].Wait(m); m.Err != nil {
			t.Error(m.Err)
		}
	}
}
