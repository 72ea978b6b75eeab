//go:build linux && !fitmpi_portable

package engine

import (
	"bytes"
	"fmt"
	"math"
	"testing"

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

// TestFetchBound: between processes a message as long as the bound is offered, and one byte more
// goes through the ring, whole.
func TestFetchBound(t *testing.T) {
	const bound = 100_000
	wayUnderTest = Shared
	t.Cleanup(func() { wayUnderTest = TCP })
	es := job(t, 2, Assist, func(c *Config) { c.Copy = CopyRead })
	es[0].laneTo(1).most = bound // nothing is sent yet
	for n, fetched := range map[int]int{bound: bound, bound + 1: 0} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			before := es[1].Stats().FetchedBytes
			want := bytes.Repeat([]byte{1, 2, 3}, n/3+1)[:n]
			got := make([]byte, n)
			recv := &MSO{Kind: KindRecv, Peer: 0, Tag: 4, Buf: got}
			send := &MSO{Kind: KindSend, Peer: 1, Tag: 4, Buf: want}
			es[1].Post(recv, Computes)
			es[0].Post(send, Computes)
			es[0].Wait(send)
			es[1].Wait(recv)
			if send.Err != nil || recv.Err != nil || !bytes.Equal(got, want) {
				t.Fatal("the message is damaged", send.Err, recv.Err)
			}
			if got := es[1].Stats().FetchedBytes - before; got != uint64(fetched) {
				t.Errorf("%d bytes were fetched, want %d", got, fetched)
			}
		})
	}
}
