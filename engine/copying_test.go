//go:build linux && !fitmpi_portable

package engine

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/shm"
)

// TestCopying: names are read back, and the ways bound what is fetched as they say.
func TestCopying(t *testing.T) {
	for _, c := range []Copying{CopyAuto, CopyRing, CopyRead} {
		if got, ok := ParseCopying(c.String()); !ok || got != c {
			t.Errorf("%v is read back as %v, %v", c, got, ok)
		}
	}
	if _, ok := ParseCopying("teleport"); ok {
		t.Error("a way that does not exist is accepted")
	}
	auto := 0
	if shm.ReadsFast() {
		auto = autoFetch
	}
	for c, want := range map[Copying]int{CopyAuto: auto, CopyRing: 0, CopyRead: math.MaxInt} {
		if got := c.mostFetched(); got != want {
			t.Errorf("%v fetches up to %d bytes, want %d", c, got, want)
		}
	}
}

// TestFetchBound: a message between processes that its sender only waits for is offered up to the
// bound, and goes through the ring beyond. Longer ones are offered as well where the sender
// computes, awaits a long message itself, or shares its core.
func TestFetchBound(t *testing.T) {
	const bound = 100_000
	wayUnderTest = Shared
	t.Cleanup(func() { wayUnderTest = TCP })
	for _, x := range []struct {
		name    string
		n       int
		next    Intent
		spin    time.Duration
		awaits  int // bytes of a receive that the sender has posted; 0: none
		fetched int
	}{
		{"as long as the bound", bound, Returns, time.Millisecond, 0, bound},
		{"one byte more", bound + 1, Returns, time.Millisecond, 0, 0},
		{"one byte more, synchronous", bound + 1, Waits, time.Millisecond, 0, 0},
		{"the sender computes", bound + 1, Computes, time.Millisecond, 0, bound + 1},
		{"the sender awaits as much", bound + 1, Returns, time.Millisecond, bound + 1, bound + 1},
		{"the sender awaits a short message", bound + 1, Returns, time.Millisecond, 8, 0},
		{"the sender shares its core", bound + 1, Returns, 0, 0, bound + 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			es := job(t, 2, Assist, func(c *Config) { c.Copy, c.Spin = CopyRead, x.spin })
			es[0].laneTo(1).most = bound // nothing is sent yet
			back := &MSO{Kind: KindRecv, Peer: 1, Tag: 5, Buf: make([]byte, x.awaits)}
			if x.awaits > 0 {
				es[0].Post(back, Computes)
			}
			want := bytes.Repeat([]byte{1, 2, 3}, x.n/3+1)[:x.n]
			got := make([]byte, x.n)
			recv := &MSO{Kind: KindRecv, Peer: 0, Tag: 4, Buf: got}
			send := &MSO{Kind: KindSend, Peer: 1, Tag: 4, Buf: want}
			if x.next == Waits {
				send.Mode = Synchronous
			}
			es[1].Post(recv, Computes)
			es[0].Post(send, x.next)
			es[0].Wait(send)
			es[1].Wait(recv)
			if send.Err != nil || recv.Err != nil || !bytes.Equal(got, want) {
				t.Fatal("the message is damaged", send.Err, recv.Err)
			}
			if got := es[1].Stats().FetchedBytes; got != uint64(x.fetched) {
				t.Errorf("%d bytes were fetched, want %d", got, x.fetched)
			}
			if x.awaits > 0 {
				late := &MSO{Kind: KindSend, Peer: 0, Tag: 5, Buf: make([]byte, x.awaits)}
				es[1].Post(late, Computes)
				es[0].Wait(back)
				es[1].Wait(late)
			}
		})
	}
}
