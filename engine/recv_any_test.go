//go:build linux && !fitmpi_portable

package engine

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// anyJob is ranks of one host, whose callers poll for long if they have more than one core.
func anyJob(t *testing.T, w Way, n int) []*Engine {
	wayUnderTest = w
	t.Cleanup(func() { wayUnderTest = TCP })
	es := job(t, n, Assist, func(c *Config) {
		if c.Copy = CopyRead; runtime.GOMAXPROCS(0) > 1 {
			c.KeepP, c.Spin = true, 20*time.Millisecond
		}
	})
	exchangeAll(t, es)
	return es
}

// McMPI: "a wildcard receive takes the same way as a named one": messages that lie in the rings are
// taken there, by turns, each with the word whose it is.
func TestRecvAnyByTurns(t *testing.T) {
	const senders, rounds = 4, 5
	for _, w := range []Way{Thread, Shared} {
		t.Run(w.String(), func(t *testing.T) {
			es := anyJob(t, w, senders+1)
			es[0].takeRight() // nothing moves a message to the event queue meanwhile
			for i := range rounds {
				for _, e := range es[1:] {
					if m := (Message{Tag: 3, Buf: []byte{byte(i)}}); !e.Send(&m, Computes) {
						t.Fatal("no room for a short message")
					}
				}
			}
			took := map[PeerID]int{}
			for i := range senders * rounds {
				m := Message{Peer: AnyPeer, Any: true, Tag: AnyTag, Buf: make([]byte, 1)}
				es[0].mu.Lock()
				l := es[0].local.showing()
				if l == nil || !l.takeAnyLocked(&m) {
					es[0].mu.Unlock()
					t.Fatalf("message %d does not show in a ring", i)
				}
				es[0].mu.Unlock()
				if int(m.Buf[0]) != took[m.Peer] || took[m.Peer] != i/senders {
					t.Fatalf("receive %d got message %d of peer %d, which has had %d turns", i, m.Buf[0], m.Peer, took[m.Peer])
				}
				took[m.Peer]++
			}
			es[0].releaseRight()
		})
	}
}

// Several peers send all the time, one of them with an announced message now and then. Receives of
// any peer, by those that wait and those that look only, keep the order of each peer (MPI 4.1,
// section 3.5), and leave none out.
func TestRecvAnyOrder(t *testing.T) {
	const senders = 3
	each := effort.Share(2000)
	for _, w := range []Way{TCP, Thread, Shared} {
		t.Run(w.String(), func(t *testing.T) {
			es := anyJob(t, w, senders+1)
			var sending sync.WaitGroup
			defer sending.Wait()
			for p := 1; p <= senders; p++ {
				sending.Go(func() {
					for i := range each {
						b := make([]byte, 2+i%2*p%2*20_000)
						b[0], b[1] = byte(i), byte(i>>8)
						m := &MSO{Kind: KindSend, Peer: 0, Tag: Tag(p), Buf: b}
						es[p].Post(m, Returns)
						if es[p].Wait(m); m.Err != nil {
							t.Error(m.Err)
							return
						}
					}
				})
			}
			next, now := map[PeerID]int{}, 0
			within(t, "all messages", func() {
				buf := make([]byte, 1<<15)
				for i := range senders * each {
					r := Message{Peer: AnyPeer, Any: true, Tag: AnyTag, Buf: buf}
					var from PeerID
					var tag Tag
					if es[0].Recv(&r, []Intent{Waits, Computes}[i/64%2]) {
						from, tag = r.Peer, r.GotTag
						now++
					} else {
						m := &MSO{Kind: KindRecv, Peer: AnyPeer, Tag: AnyTag, Buf: buf}
						es[0].Post(m, Waits)
						if es[0].Wait(m); m.Err != nil || m.Length < 2 {
							panic(fmt.Sprintf("receive %d, posted: %d bytes of peer %d, %v", i, m.Length, m.Source, m.Err))
						}
						from, tag = m.Source, m.GotTag
					}
					if got := int(buf[0]) | int(buf[1])<<8; got != next[from] || tag != Tag(from) {
						panic(fmt.Sprintf("receive %d got message %d of peer %d, tag %d, want %d", i, got, from, tag, next[from]))
					}
					next[from]++
				}
			})
			t.Logf("%d messages were taken at once", now)
			sending.Wait()
			sendShort(t, es[1], Message{Tag: 1, Buf: []byte{1}})
			last := Message{Peer: AnyPeer, Any: true, Tag: AnyTag, Buf: make([]byte, 1)}
			eventually(t, "a message that is there is not taken at once", func() bool { return es[0].Recv(&last, Computes) })
			if last.Peer != 1 || last.Buf[0] != 1 {
				t.Errorf("the last message is %d of peer %d", last.Buf[0], last.Peer)
			}
		})
	}
}

// What a receive of any peer cannot take at once stays where it is.
func TestRecvAnyLeaves(t *testing.T) {
	es := anyJob(t, Thread, 2)
	refuses := func(what string, r Message) {
		t.Helper()
		r.Peer, r.Any = AnyPeer, true
		if es[0].Recv(&r, Waits) || r.Peer != AnyPeer {
			t.Errorf("Recv received %s, of %d", what, r.Peer)
		}
	}
	if m := (Message{Tag: 3, Buf: []byte("longer")}); !es[1].Send(&m, Returns) {
		t.Fatal("no room for a short message")
	}
	refuses("what does not fit", Message{Tag: 3, Buf: make([]byte, 5)})
	refuses("what has another tag", Message{Tag: 4, Buf: make([]byte, 10)})
	refuses("what has another context", Message{Ctx: 2, Tag: 3, Buf: make([]byte, 10)})
	// A receive that was posted before gets it, though one of any peer looks first.
	m := &MSO{Kind: KindRecv, Peer: 1, Tag: 4, Buf: make([]byte, 10)}
	es[0].Post(m, Computes)
	if s := (Message{Tag: 4, Buf: []byte("posted")}); !es[1].Send(&s, Returns) {
		t.Fatal("no room for a short message")
	}
	refuses("what another receive was posted for", Message{Tag: 4, Buf: make([]byte, 10)})
	es[0].Wait(m)
	recvInto(es[0], make([]byte, 6), 1, 3)
}
