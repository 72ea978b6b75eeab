//go:build linux && !fitmpi_portable

package engine

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/progress"
)

// queuedPair is two ranks, and reports whether a message from the second lies on the event queue of
// the first.
func queuedPair(t *testing.T, w Way, p Policy) (es []*Engine, come func(Tag) bool) {
	wayUnderTest = w
	t.Cleanup(func() { wayUnderTest = TCP })
	es = job(t, 2, p, nil)
	exchangeAll(t, es)
	return es, func(tag Tag) bool {
		_, ok := es[0].Iprobe(0, 1, tag)
		return ok
	}
}

// TestRecvQueued: Recv takes a message that lies on the event queue, in every policy and by every
// way, before one that comes after it. Any number of them can be taken: their credit goes back.
func TestRecvQueued(t *testing.T) {
	for _, w := range []Way{TCP, Thread, Shared} {
		for _, p := range []Policy{Assist, Worker, Caller} {
			for next, name := range map[Intent]string{Computes: "computes", Waits: "waits"} {
				t.Run(fmt.Sprint(w, "/", p, "/", name), func(t *testing.T) {
					es, come := queuedPair(t, w, p)
					for i := range 200 {
						out := pattern(1000, i)
						sendShort(t, es[1], Message{Tag: 3, Buf: out})
						eventually(t, "the message has come", func() bool { es[1].Poll(); return come(3) })
						sendShort(t, es[1], Message{Tag: 3, Buf: []byte("after it")})
						in := Message{Peer: 1, Any: i%2 == 1, Tag: AnyTag, Buf: make([]byte, 1000)}
						if in.Any {
							in.Peer = AnyPeer
						}
						if !es[0].Recv(&in, next) || in.Peer != 1 || in.Length != 1000 || in.GotTag != 3 || !bytes.Equal(in.Buf, out) {
							t.Fatalf("message %d: %d bytes, tag %d, genuine: %v", i, in.Length, in.GotTag, bytes.Equal(in.Buf, out))
						}
						recvInto(es[0], make([]byte, 8), 1, 3)
					}
				})
			}
		}
	}
}

func sendShort(t *testing.T, e *Engine, m Message) {
	t.Helper()
	if m.Peer = 0; e.Send(&m, Returns) {
		return
	}
	x := &MSO{Kind: KindSend, Tag: m.Tag, Ctx: m.Ctx, Object: m.Object, Buf: m.Buf}
	e.Post(x, Returns)
	if e.Wait(x); x.Err != nil {
		t.Fatal(x.Err)
	}
}

// TestRecvQueuedLeaves: what a receive must consider stays on the event queue. A synchronous send
// is told.
func TestRecvQueuedLeaves(t *testing.T) {
	for _, w := range []Way{TCP, Shared} {
		t.Run(w.String(), func(t *testing.T) {
			es, come := queuedPair(t, w, Assist)
			refuses := func(what string, m Message) {
				t.Helper()
				if m.Peer = 1; es[0].Recv(&m, Computes) {
					t.Errorf("Recv received %s", what)
				}
			}
			sendShort(t, es[1], Message{Tag: 3, Buf: []byte("longer")})
			eventually(t, "a message has come", func() bool { return come(3) })
			refuses("what does not fit", Message{Tag: 3, Buf: make([]byte, 5)})
			refuses("what has another tag", Message{Tag: 4, Buf: make([]byte, 10)})
			refuses("what has another context", Message{Ctx: 2, Tag: 3, Buf: make([]byte, 10)})
			recvInto(es[0], make([]byte, 6), 1, 3)
			sendShort(t, es[1], Message{Tag: 3, Object: true, Buf: []byte("object")})
			eventually(t, "an object has come", func() bool { return come(3) })
			refuses("an object", Message{Tag: 3, Buf: make([]byte, 10)})
			recvInto(es[0], make([]byte, 6), 1, 3)
			long := &MSO{Kind: KindSend, Tag: 3, Buf: make([]byte, 3<<20)}
			es[1].Post(long, Computes)
			eventually(t, "an announcement has come", func() bool { return come(3) })
			refuses("what is announced", Message{Tag: 3, Buf: make([]byte, 3<<20)})
			recvInto(es[0], make([]byte, 3<<20), 1, 3)
			es[1].Wait(long)

			sync := &MSO{Kind: KindSend, Mode: Synchronous, Tag: 5, Buf: []byte("told")}
			es[1].Post(sync, Computes)
			eventually(t, "a synchronous message has come", func() bool { return come(5) })
			if sync.IsDone() {
				t.Error("a synchronous send is done before it is received")
			}
			if m := (Message{Peer: 1, Tag: 5, Buf: make([]byte, 4)}); !es[0].Recv(&m, Waits) || string(m.Buf) != "told" {
				t.Error("it was not received")
			}
			waitDone(t, "a synchronous send", es[1], sync)
		})
	}
}

// TestRecvYields: where ranks share cores a caller that waits lets others run, and then takes from
// the ring what they have sent.
func TestRecvYields(t *testing.T) {
	wayUnderTest = Shared
	t.Cleanup(func() { wayUnderTest = TCP })
	es := job(t, 2, Assist, func(c *Config) { c.KeepP, c.Spin, c.Yield = true, 0, time.Minute })
	exchangeAll(t, es)
	es[0].right.Note(progress.State.Want) // its worker stays away
	defer es[0].unwant()
	eventually(t, "no message is taken by a caller that yields", func() bool {
		begun := make(chan bool)
		go func() {
			m := Message{Peer: 1, Tag: 3, Buf: make([]byte, 4)}
			begun <- true
			begun <- es[0].Recv(&m, Waits) && string(m.Buf) == "late"
		}()
		<-begun
		sendShort(t, es[1], Message{Tag: 3, Buf: []byte("late")})
		got := <-begun
		if !got {
			recvInto(es[0], make([]byte, 4), 1, 3)
		}
		return got
	})
}
