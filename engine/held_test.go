//go:build linux && !fitmpi_portable

package engine

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/core"
)

// TestManySendsAtFirst: blocking sends that a rank makes before it knows how much the receiver
// grants go on as soon as it does, though nothing is received. The receiver makes no progress
// before.
func TestManySendsAtFirst(t *testing.T) {
	overTCP(t)
	const n = 10_000
	for _, p := range []Policy{Worker, Assist} {
		t.Run(p.String(), func(t *testing.T) {
			es := job(t, 2, p, func(c *Config) {
				if c.Rank == 1 {
					c.Progress = Caller
				}
			})
			sent := make(chan error, 1)
			go func() { sent <- sendNumbers(es[0], 1, n) }()
			eventually(t, "no send is held", func() bool {
				es[0].mu.Lock()
				defer es[0].mu.Unlock()
				return es[0].core.Plan(1, 8) == core.PlanHeld
			})
			for giveUp, under := time.Now().Add(failsafe), true; under; {
				es[1].progressForTest()
				select {
				case err := <-sent:
					if under = false; err != nil {
						t.Fatal(err)
					}
				default:
					if time.Now().After(giveUp) {
						t.Fatal("the sender waits for a receive")
					}
				}
			}
			in := &MSO{Kind: KindRecv, Peer: 0, Tag: 1, Buf: make([]byte, 8)}
			for i := range n {
				in.Reset()
				es[1].Post(in, Computes)
				if es[1].Wait(in); in.Err != nil || binary.LittleEndian.Uint64(in.Buf) != uint64(i) {
					t.Fatal("message", i, "is", in.Buf, in.Err)
				}
			}
			if s := es[0].Stats(); s.CreditStalls != 0 {
				t.Error(s.CreditStalls, "were announced")
			}
		})
	}
}

// sendNumbers sends n messages of 8 bytes, one after the other.
func sendNumbers(e *Engine, to PeerID, n int) error {
	m := &MSO{Kind: KindSend, Peer: to, Tag: 1, Buf: make([]byte, 8)}
	for i := range n {
		m.Reset()
		binary.LittleEndian.PutUint64(m.Buf, uint64(i))
		e.Post(m, Returns)
		if e.Wait(m); m.Err != nil {
			return m.Err
		}
	}
	return nil
}
