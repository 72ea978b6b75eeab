package core

import (
	"bytes"
	"errors"
	"testing"

	"github.com/fitmpi/fitmpi/internal/wire"
)

// fakeNear is a way to a peer whose memory can be fetched a few times only.
type fakeNear struct {
	src     []byte
	fetches int // that still succeed
	ended   int // calls of EndFetch
	sent    []wire.Header
}

func (f *fakeNear) Put(w wire.Words, _ []byte) bool {
	var h wire.Header
	b := make([]byte, wire.HeaderLen)
	w.Put(b)
	if wire.ConsumeHeader(b, &h) != wire.HeaderLen {
		return false
	}
	f.sent = append(f.sent, h)
	return true
}

func (f *fakeNear) Offer(uint64, []byte) bool { return false }
func (f *fakeNear) Renew(uint64, []byte) bool { return false }
func (f *fakeNear) Withdraw(uint64)           {}
func (f *fakeNear) FetchPart(int, bool) int   { return 64 << 10 }
func (f *fakeNear) EndFetch(uint64)           { f.ended++ }

func (f *fakeNear) Fetch(_ uint64, dst []byte, off, n int) error {
	if f.fetches--; f.fetches < 0 {
		return errors.New("not permitted")
	}
	copy(dst[off:off+n], f.src[off:])
	return nil
}

// TestFetchRefusedMidway: what can no longer be fetched is asked for, from its beginning,
// which is where the sender begins.
func TestFetchRefusedMidway(t *testing.T) {
	src := bytes.Repeat([]byte{1, 2, 3, 4, 5}, 50_000)
	for k := range 4 {
		f := &fakeNear{src: src, fetches: k}
		c := New(Config{Self: 0, Peers: 2})
		c.SetNear(1, f, 0)
		m := &MSO{Kind: KindRecv, Peer: 1, Tag: 5, Buf: make([]byte, len(src))}
		c.Post(m)
		rts := wire.Header{Kind: wire.KindRTS, Flags: wire.FlagPull, Tag: 5, Length: uint64(len(src)), ID: 7}
		if _, err := c.OnHeader(1, &rts); err != nil {
			t.Fatal(err)
		}
		for j, ok := c.NextJob(); ok; j, ok = c.NextJob() {
			j.Run()
			c.Finish(&j)
		}
		if len(f.sent) != 1 || f.sent[0].Kind != wire.KindCTS || f.sent[0].Length != uint64(len(src)) || f.ended != 1 {
			t.Fatalf("after %d fetches it sent %+v and ended %d fetches, want a CTS for all and one end", k, f.sent, f.ended)
		}
		data := wire.Header{Kind: wire.KindData, ID: f.sent[0].Context, Context: 0, Length: uint64(len(src))}
		s, err := c.OnHeader(1, &data)
		if err != nil {
			t.Fatalf("after %d fetches: %v", k, err)
		}
		copy(s.Dst, src)
		c.OnPayload(1, &s)
		if !m.IsDone() || m.Err != nil || !bytes.Equal(m.Buf, src) {
			t.Errorf("after %d fetches: done %v, error %v", k, m.IsDone(), m.Err)
		}
	}
}

// TestEmptyMessageWithoutBuffer: a message without payload is sent when its header is, though the send buffer is full.
func TestEmptyMessageWithoutBuffer(t *testing.T) {
	c := New(Config{Self: 0, Peers: 2})
	f := &fakeNear{}
	c.SetNear(1, f, 0)
	c.PeerUp(1, 1<<20)
	for {
		if _, ok := c.Reserve(1, 1<<20); !ok {
			break
		}
	}
	m := &MSO{Kind: KindSend, Peer: 1, Tag: 5}
	c.Post(m)
	if len(f.sent) != 1 || !m.IsDone() || c.Pending(1) != 0 {
		t.Errorf("sent %+v, done %v, %d bytes pending", f.sent, m.IsDone(), c.Pending(1))
	}
}
