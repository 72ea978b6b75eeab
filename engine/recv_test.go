//go:build linux && !fitmpi_portable

package engine

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/progress"
	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// receiveNow is a blocking receive as package mpi makes it. It reports which of the two ways it
// took.
func receiveNow(e *Engine, tag Tag, buf []byte) (n int, got Tag, now bool) {
	r := Message{Peer: 1, Tag: tag, Buf: buf}
	if e.Recv(&r, Waits) {
		return r.Length, r.GotTag, true
	}
	m := &MSO{Kind: KindRecv, Peer: 1, Tag: tag, Buf: buf}
	e.Post(m, Waits)
	e.Wait(m)
	return m.Length, m.GotTag, false
}

// receiveAny is receiveNow from any peer.
func receiveAny(t *testing.T, e *Engine, r *Message) Tag {
	t.Helper()
	if r.Peer = AnyPeer; e.Recv(r, Waits) {
		if r.Peer != 1 {
			t.Errorf("a message of peer 1 is said to be of %d", r.Peer)
		}
		return r.GotTag
	}
	m := &MSO{Kind: KindRecv, Peer: AnyPeer, Tag: r.Tag, Buf: r.Buf}
	e.Post(m, Waits)
	e.Wait(m)
	return m.GotTag
}

// localPair is two thread ranks whose callers poll for long.
func localPair(t *testing.T, w Way) []*Engine {
	wayUnderTest = w
	t.Cleanup(func() { wayUnderTest = TCP })
	return job(t, 2, Assist, func(c *Config) { c.KeepP, c.Spin, c.Copy = true, 20*time.Millisecond, CopyRead })
}

// TestRecvMatches: receives that wait in the caller, those that only look, posted ones, and
// wildcards among all, get the messages that they would get if all were posted (MPI 4.1, section
// 3.5). Each, in their order, gets the first that is left and fits.
func TestRecvMatches(t *testing.T) {
	effort.Need(t, effort.Usual, "it tries hundreds of thousands of messages")
	for _, w := range []Way{Thread, Shared} {
		t.Run(w.String(), func(t *testing.T) {
			es := localPair(t, w)
			for seed := range uint64(effort.Share(40)) {
				recvRound(t, es, rand.New(rand.NewPCG(seed, 7)))
			}
			receiveInCaller(t, es)
		})
	}
}

// receiveInCaller sends messages until one is received in its caller. It needs no second core: what
// is to be received lies there already.
func receiveInCaller(t *testing.T, es []*Engine) {
	es[0].right.Note(progress.State.Want) // its worker stays away
	defer es[0].unwant()
	eventually(t, "no receive in its caller", func() (now bool) {
		send(es[1], []byte{0}, 0, 3)
		_, _, now = receiveNow(es[0], 3, make([]byte, 1))
		return now
	})
}

func recvInto(e *Engine, b []byte, from PeerID, tag Tag) {
	m := &MSO{Kind: KindRecv, Peer: from, Tag: tag, Buf: b}
	e.Post(m, Waits)
	e.Wait(m)
}

// recvRound sends numbered messages with two tags, some long enough to be offered, and receives
// them in one way or the other.
func recvRound(t *testing.T, es []*Engine, rng *rand.Rand) {
	const n = 60
	tags, messages := make([]Tag, n), make([][]byte, n)
	for i := range tags {
		tags[i], messages[i] = Tag(1+rng.IntN(2)), pattern(1+rng.IntN(2)*(ringMax+rng.IntN(100)), i)
		messages[i][0] = byte(i)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for i, tag := range tags {
			out := &MSO{Kind: KindSend, Peer: 0, Tag: tag, Buf: messages[i]}
			es[1].Post(out, Returns)
			if es[1].Wait(out); out.Err != nil {
				t.Error(out.Err)
			}
		}
	})
	defer wg.Wait()
	left := make([]int, n) // numbers of the messages that no receive has been given yet
	for i := range left {
		left[i] = i
	}
	take := func(tag Tag) int {
		for k, i := range left {
			if tag == AnyTag || tags[i] == tag {
				left = append(left[:k:k], left[k+1:]...)
				return i
			}
		}
		return -1
	}
	type posted struct {
		m    *MSO
		want int
	}
	var open []posted
	for len(left) > 0 {
		tag := []Tag{AnyTag, 1, 2}[rng.IntN(3)]
		want := take(tag)
		if want < 0 {
			continue // no such message is left
		}
		buf := make([]byte, len(messages[want])+rng.IntN(2)*100)
		way, got := rng.IntN(4), Tag(0)
		switch r := (Message{Peer: 1, Any: rng.IntN(2) == 0, Tag: tag, Buf: buf}); {
		case way == 0 && r.Any:
			got = receiveAny(t, es[0], &r)
		case way == 0:
			_, got, _ = receiveNow(es[0], tag, buf)
		case way <= 2 && es[0].Recv(&r, Computes):
			got = r.GotTag
		default:
			m := &MSO{Kind: KindRecv, Peer: 1, Tag: tag, Buf: buf}
			es[0].Post(m, Computes)
			open = append(open, posted{m, want})
			continue
		}
		if !bytes.HasPrefix(buf, messages[want]) || got != tags[want] {
			t.Fatalf("a receive of tag %d got message %d of tag %d, want %d, whole", tag, buf[0], got, want)
		}
	}
	for _, p := range open {
		es[0].Wait(p.m)
		if !bytes.HasPrefix(p.m.Buf, messages[p.want]) {
			t.Fatalf("a posted receive of tag %d got message %d, want %d, whole", p.m.Tag, p.m.Buf[0], p.want)
		}
	}
}

// TestRecvLeaves: what Recv is not for stays where it is, for a receive that is.
func TestRecvLeaves(t *testing.T) {
	es := localPair(t, Thread)
	send := func(m Message) {
		m.Peer, m.Tag = 0, 3
		if !es[1].Send(&m, Returns) {
			t.Fatal("no room for a short message")
		}
	}
	refuses := func(what string, r Message) {
		t.Helper()
		r.Peer = 1
		if es[0].Recv(&r, Waits) {
			t.Errorf("Recv received %s", what)
		}
	}
	send(Message{Buf: []byte("longer")})
	refuses("what does not fit", Message{Tag: 3, Buf: make([]byte, 5)})
	refuses("what has another tag", Message{Tag: 4, Buf: make([]byte, 10)})
	refuses("what has another context", Message{Ctx: 2, Tag: 3, Buf: make([]byte, 10)})
	buf := make([]byte, 5)
	m := &MSO{Kind: KindRecv, Peer: 1, Tag: 3, Buf: buf}
	es[0].Post(m, Waits)
	es[0].Wait(m)
	if m.Length != 6 || m.Err == nil || string(buf) != "longe" {
		t.Errorf("%q, %d bytes, error %v, want a truncation", buf, m.Length, m.Err)
	}
	send(Message{Object: true, Buf: []byte("object")})
	refuses("an object", Message{Tag: 3, Buf: make([]byte, 10)})
	if n, _, now := receiveNow(es[0], AnyTag, make([]byte, 10)); n != 6 || now {
		t.Errorf("%d bytes, in the caller: %v", n, now)
	}
}

// TestHasCome: a caller that is about to wait for a message knows of one that lies in the event
// queue, and of none when that is empty again.
func TestHasCome(t *testing.T) {
	es := localPair(t, Thread)
	exchangeAll(t, es)
	l := es[0].laneTo(1)
	es[0].takeRight()
	m := Message{Peer: 0, Tag: 3, Buf: []byte("short")}
	if !es[1].Send(&m, Returns) {
		t.Fatal("no room for a short message")
	}
	es[0].local.poll()
	for tag, want := range map[Tag]bool{3: true, 4: false, AnyTag: true} {
		if r := (Message{Peer: 1, Tag: tag}); !l.queued || l.hasCome(&r) != want || !l.queued {
			t.Errorf("tag %d: has come: %v; messages are queued: %v", tag, !want, l.queued)
		}
	}
	es[0].releaseRight()
	recvInto(es[0], make([]byte, 5), 1, 3)
	es[0].takeRight()
	if r := (Message{Peer: 1, Tag: 3}); l.hasCome(&r) || l.queued {
		t.Error("it is said to lie there still")
	}
	es[0].releaseRight()
}
