package core

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/engine/internal/wire"
)

// TestAnnouncedLimit: announcements are counted as long as they wait, whatever ends that. One too
// many is refused in words that say which peer is to blame.
func TestAnnouncedLimit(t *testing.T) {
	const most = 4
	f := newNet(t, 3, Config{EagerMax: 10, Announced: most})
	f.connectAll()
	c := f.cores[2]
	announce := func(from PeerID, tag Tag) error {
		_, err := c.OnHeader(from, &wire.Header{Kind: wire.KindRTS, Tag: int32(tag), ID: uint64(tag), Length: 100})
		return err
	}
	fillUp := func() {
		t.Helper()
		for tag := Tag(1); c.announced < most; tag++ {
			if err := announce(PeerID(b2n(c.announced == 0)), tag); err != nil {
				t.Fatal(err)
			}
		}
		err := announce(1, 99)
		if u, ok := errors.AsType[*UnexpectedError](err); !ok || u.Messages != most || u.Most != 0 || u.OfMost < most-1 || !strings.Contains(err.Error(), "FITMPI_UNEXPECTED") {
			t.Fatalf("one announcement too many: %v", err)
		}
	}
	ways := []struct {
		name string
		free func()
	}{
		{"receive", func() { f.post(2, &MSO{Kind: KindRecv, Peer: 0, Tag: AnyTag, Buf: make([]byte, 100)}) }},
		{"receive nothing", func() { f.post(2, &MSO{Kind: KindRecv, Peer: AnyPeer, Tag: AnyTag}) }},
		{"cancel", func() {
			u := c.Iprobe(0, AnyPeer, AnyTag)
			if _, err := c.OnHeader(u.Peer, &wire.Header{Kind: wire.KindCancel, Tag: int32(u.Tag), ID: u.remote}); err != nil {
				t.Fatal(err)
			}
		}},
		{"matched probe", func() {
			f.post(2, &MSO{Kind: KindRecv, Message: c.Improbe(0, AnyPeer, AnyTag), Buf: make([]byte, 100)})
		}},
	}
	for _, way := range ways {
		fillUp()
		if way.free(); c.announced != most-1 {
			t.Errorf("%s: %d announcements are counted, want %d", way.name, c.announced, most-1)
		}
	}
	fillUp()
	f.post(2, &MSO{Kind: KindRecv, Peer: 1, Tag: 5, Buf: make([]byte, 100)})
	if err := announce(1, 5); err != nil {
		t.Errorf("a message that a receive waits for: %v", err)
	}
	c.FailPeer(0, errCut, false, nil)
	c.FailPeer(1, errCut, false, nil)
	if c.announced != 0 {
		t.Errorf("%d announcements are counted after their senders are gone", c.announced)
	}
}

// TestParked: callers may leave a stated number of messages with a receiver that does not receive;
// then they wait.
func TestParked(t *testing.T) {
	const most = 3
	f := newNet(t, 3, Config{EagerMax: 10, Parked: most})
	f.connectAll()
	c := f.cores[0]
	leave := func(to PeerID) bool {
		b, ok := c.Reserve(to, 100)
		if ok {
			copy(b, pattern(100, 3))
			c.PostCopied(&MSO{Kind: KindSend, Peer: to, Tag: 1}, b)
		}
		return ok
	}
	for range most {
		if !leave(1) {
			t.Fatal("a message is not taken")
		}
	}
	if leave(1) {
		t.Error("one message more than may be parked is taken")
	}
	if !leave(2) {
		t.Error("a message to another receiver is not taken")
	}
	m := &MSO{Kind: KindSend, Peer: 1, Tag: 1, Buf: pattern(100, 3)}
	f.post(0, m)
	if block, ok := c.Reserve(1, 100); ok {
		c.Unreserve(block)
		t.Error("room to take a message over that would be parked")
	}
	f.run()
	for range most {
		f.post(1, &MSO{Kind: KindRecv, Peer: 0, Tag: 1, Buf: make([]byte, 100)})
	}
	if f.run(); !leave(1) || c.peers[1].parked != 1 {
		t.Errorf("after its receives %d messages are parked", c.peers[1].parked)
	}
	for range 2 {
		f.post(1, &MSO{Kind: KindRecv, Peer: 0, Tag: 1, Buf: make([]byte, 100)})
	}
	f.post(2, &MSO{Kind: KindRecv, Peer: 0, Tag: 1, Buf: make([]byte, 100)})
	f.run()
	f.wantRest("in the end")
}

// TestDefaultsOfManyPeers: what all peers together may leave at a rank does not grow with their
// number, as long as each keeps the least.
func TestDefaultsOfManyPeers(t *testing.T) {
	for _, test := range []struct{ peers, window, parked int }{
		{1, 8 << 20, 1024}, {2, 8 << 20, 1024}, {9, 8 << 20, 1024}, {17, 4 << 20, 1024}, {65, 1 << 20, 1024}, {129, 512 << 10, 512}, {1025, 64 << 10, 64}, {5000, 64 << 10, 64},
	} {
		c := Config{Peers: test.peers}
		if c.setDefaults(); c.Window != test.window || c.Parked != test.parked {
			t.Errorf("%d peers: a window of %d bytes and %d parked sends, want %d and %d", test.peers, c.Window, c.Parked, test.window, test.parked)
		}
	}
	if allParked*EntrySize > MinUnexpected {
		t.Errorf("%d bytes may be parked, and %d are granted", allParked*EntrySize, MinUnexpected)
	}
}

// TestSpared: payloads that wait unreceived follow their headers for 1 MiB of the default window if
// they are long, and for all of it if they are short, and credit comes back as often as from a
// small window.
func TestSpared(t *testing.T) {
	f := newNet(t, 2, Config{})
	f.connectAll()
	c := f.cores[0]
	fill := func(n int) (sent int) { // until one is announced
		for before := c.Stats().CreditStalls; c.Stats().CreditStalls == before; sent++ {
			f.post(0, &MSO{Kind: KindSend, Peer: 1, Tag: Tag(n), Buf: make([]byte, n)})
		}
		return sent - 1
	}
	const long, short = 100_000, 8
	longs := fill(long)
	if want := longWindow / (long + wire.EagerCost); longs != want {
		t.Errorf("%d long ones follow unasked, want %d", longs, want)
	}
	shorts := fill(short)
	if want := (DefaultWindow - longs*(long+wire.EagerCost)) / (short + wire.EagerCost); shorts != want || shorts < 10_000 {
		t.Errorf("%d short ones besides, want %d", shorts, want)
	}
	f.run()
	for range 3 { // a quarter of what long ones may take is owed then
		f.post(1, &MSO{Kind: KindRecv, Peer: 0, Tag: long, Buf: make([]byte, long)})
	}
	f.run()
	if want := 3 * (long + wire.EagerCost); c.peers[1].credit < want {
		t.Errorf("%d bytes of credit after three receives, want %d", c.peers[1].credit, want)
	}
	for range longs + 1 - 3 {
		f.post(1, &MSO{Kind: KindRecv, Peer: 0, Tag: long, Buf: make([]byte, long)})
	}
	for range shorts + 1 {
		f.post(1, &MSO{Kind: KindRecv, Peer: 0, Tag: short, Buf: make([]byte, short)})
	}
	f.run()
	f.wantRest("all is received")
	if again := fill(long); again < longs-longs/4-1 {
		t.Errorf("%d long ones follow unasked then, %d before", again, longs)
	}
}

// TestKeptSlabs: of a window full of short messages that were received, a rank keeps for later what
// long ones may take, and no more.
func TestKeptSlabs(t *testing.T) {
	f := newNet(t, 2, Config{})
	f.connectAll()
	const n = 2 << 10
	msgs := 0
	for ; (msgs+1)*(n+wire.EagerCost) <= DefaultWindow; msgs++ {
		f.post(0, &MSO{Kind: KindSend, Peer: 1, Buf: make([]byte, n)})
	}
	f.run()
	if used := f.cores[1].Stats().SlabsUsed; used < 3*longWindow {
		t.Fatalf("%d bytes wait for receives: too few for this test", used)
	}
	for range msgs {
		f.post(1, &MSO{Kind: KindRecv, Peer: 0, Buf: make([]byte, n)})
	}
	f.run()
	f.wantRest("all is received")
	if kept := f.cores[1].Stats().SlabsKept; kept < longWindow || kept > 2*longWindow {
		t.Errorf("%d bytes are kept of %d messages, want %d at most, for 2 peers", kept, msgs, 2*longWindow)
	}
}

// TestUnexpectedMemory: messages that fill the window of a peer take what docs/LIMITS.md says: at
// most 1.7 times the window.
func TestUnexpectedMemory(t *testing.T) {
	for _, n := range []int{0, 8, 200, 1000, 1025, 5000, 70_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			c := New(Config{Self: 0, Peers: 2})
			before := heapInUse()
			sent := 0
			for ; (sent+1)*(n+wire.EagerCost) <= c.cfg.Window; sent++ {
				s, err := c.OnHeader(1, &wire.Header{Kind: wire.KindEager, Tag: int32(sent), Length: uint64(n)})
				if err != nil {
					t.Fatal(err)
				}
				if s.Len() > 0 {
					c.OnPayload(1, &s)
				}
			}
			if grown := heapInUse() - before; grown > c.cfg.Window*17/10 {
				t.Errorf("%d messages of %d bytes take %d bytes, the window is %d", sent, n, grown, c.cfg.Window)
			}
			if _, err := c.OnHeader(1, &wire.Header{Kind: wire.KindEager, Length: uint64(n)}); err == nil {
				t.Error("more than the window is taken")
			}
			runtime.KeepAlive(c)
		})
	}
}

// TestAnnouncementMemory: an announcement that waits takes EntrySize.
func TestAnnouncementMemory(t *testing.T) {
	c := New(Config{Self: 0, Peers: 2, Announced: 100_000})
	before := heapInUse()
	for i := range c.cfg.Announced {
		if _, err := c.OnHeader(1, &wire.Header{Kind: wire.KindRTS, Tag: int32(i), ID: uint64(i), Length: 1 << 30}); err != nil {
			t.Fatal(err)
		}
	}
	if grown := heapInUse() - before; grown > c.cfg.Announced*EntrySize*5/4 {
		t.Errorf("%d announcements take %d bytes, %d each, want at most %d", c.cfg.Announced, grown, grown/c.cfg.Announced, EntrySize*5/4)
	}
	c.FailPeer(1, errCut, false, nil)
	if grown := heapInUse() - before; grown > 16<<20 {
		t.Errorf("when their sender is gone %d bytes are still kept", grown)
	}
	runtime.KeepAlive(c)
}

func heapInUse() int {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int(s.HeapAlloc)
}
