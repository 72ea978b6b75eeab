package core

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/fitmpi/fitmpi/engine/internal/wire"
)

// fakeLocal is a way to a peer whose memory can be fetched a few times only.
type fakeLocal struct {
	src      []byte
	fetches  int            // that still succeed
	bad      map[uint64]int // messages that cannot be fetched
	together int            // bytes
	calls    []int          // of Fetch: how many payloads each
	ended    int            // calls of EndFetch
	sent     []wire.Header
	helped   []bool // what Offer was told
}

func (f *fakeLocal) Put(w wire.Words, _ []byte) bool {
	var h wire.Header
	b := make([]byte, wire.HeaderLen)
	w.Put(b)
	if wire.ConsumeHeader(b, &h) != wire.HeaderLen {
		return false
	}
	f.sent = append(f.sent, h)
	return true
}

func (f *fakeLocal) Offer(_ uint64, _ []byte, helps bool) bool {
	f.helped = append(f.helped, helps)
	return false
}

func (f *fakeLocal) Renew(_ uint64, _ []byte, must bool) bool { return must }
func (f *fakeLocal) Withdraw(uint64)                          {}
func (f *fakeLocal) FetchPart(int, bool) int                  { return 64 << 10 }
func (f *fakeLocal) FetchTogether() int                       { return f.together }
func (f *fakeLocal) EndFetch(uint64)                          { f.ended++ }

func (f *fakeLocal) Fetch(fs []Fetch) {
	f.calls = append(f.calls, len(fs))
	for i := range fs {
		d := &fs[i]
		if f.fetches--; f.fetches < 0 || f.bad[d.ID] > 0 {
			d.Err = errors.New("not permitted")
			continue
		}
		copy(d.Dst[d.Off:d.Off+d.N], f.src[d.Off:])
	}
}

// TestOfferSaysWhoHelps: a long send whose caller waits on a core of its own is offered as one that
// it helps with, unless a long message is to come here meanwhile. Of schedules only one that is a
// single send is so.
func TestOfferSaysWhoHelps(t *testing.T) {
	const long = 1 << 20
	b := make([]byte, long)
	send := func(c *Core, stays bool) { c.Post(&MSO{Kind: KindSend, Peer: 1, Buf: b, Stays: stays}) }
	schedule := func(c *Core, stays bool, build func(s *Schedule)) {
		s := NewSchedule(0, 1, []PeerID{0, 1})
		if build(s); stays {
			s.Stay()
		}
		c.StartSchedule(s)
	}
	for name, x := range map[string]struct {
		post func(c *Core)
		want []bool
	}{
		"it waits":                    {func(c *Core) { send(c, true) }, []bool{true}},
		"it computes":                 {func(c *Core) { send(c, false) }, []bool{false}},
		"it awaits a long message":    {func(c *Core) { c.Post(&MSO{Kind: KindRecv, Peer: 1, Buf: b}); send(c, true) }, []bool{false}},
		"it awaits a short message":   {func(c *Core) { c.Post(&MSO{Kind: KindRecv, Peer: 1, Buf: b[:8]}); send(c, true) }, []bool{true}},
		"a schedule, it waits":        {func(c *Core) { schedule(c, true, func(s *Schedule) { s.Send(1, b) }) }, []bool{true}},
		"a schedule, it computes":     {func(c *Core) { schedule(c, false, func(s *Schedule) { s.Send(1, b) }) }, []bool{false}},
		"a schedule of two sends":     {func(c *Core) { schedule(c, true, func(s *Schedule) { s.Send(1, b); s.Send(1, b) }) }, []bool{false, false}},
		"a schedule that also waits":  {func(c *Core) { schedule(c, true, func(s *Schedule) { s.Send(1, b); s.Recv(1, b) }) }, []bool{false}},
		"a schedule that only awaits": {func(c *Core) { schedule(c, true, func(s *Schedule) { s.Recv(1, b) }) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakeLocal{}
			c := New(Config{Self: 0, Peers: 2})
			c.SetLocal(1, f, 4<<10)
			c.PeerUp(1, 1<<20)
			x.post(c)
			if !slices.Equal(f.helped, x.want) {
				t.Errorf("offers were told %v, want %v", f.helped, x.want)
			}
		})
	}
}

// TestFetchRefusedMidway: what can no longer be fetched is asked for, from its beginning,
// which is where the sender begins.
func TestFetchRefusedMidway(t *testing.T) {
	src := bytes.Repeat([]byte{1, 2, 3, 4, 5}, 50_000)
	for k := range 4 {
		f := &fakeLocal{src: src, fetches: k}
		c := New(Config{Self: 0, Peers: 2})
		c.SetLocal(1, f, 0)
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

// TestFetchTogether: payloads of one peer are fetched by one call as long as they fit, in their
// order; one that cannot be is asked for, and the others are received.
func TestFetchTogether(t *testing.T) {
	const n = 100
	near := [3]*fakeLocal{1: {src: bytes.Repeat([]byte{1}, n), together: 4 * n}, 2: {src: bytes.Repeat([]byte{2}, n), together: 4 * n}}
	c := New(Config{Self: 0, Peers: 3})
	var ms []*MSO
	for i, from := range []PeerID{1, 1, 1, 1, 1, 1, 2, 1, 2, 2} {
		f := near[from]
		f.fetches, f.bad = 1000, map[uint64]int{3: 1}
		c.SetLocal(from, f, 0)
		m := &MSO{Kind: KindRecv, Peer: from, Tag: Tag(i), Buf: make([]byte, n)}
		c.Post(m)
		ms = append(ms, m)
		rts := wire.Header{Kind: wire.KindRTS, Flags: wire.FlagPull, Tag: int32(i), Length: n, ID: uint64(i + 1)}
		if _, err := c.OnHeader(from, &rts); err != nil {
			t.Fatal(err)
		}
	}
	for j, ok := c.NextJob(); ok; j, ok = c.NextJob() {
		j.Run()
		c.Finish(&j)
		if c.fetching[0].Dst != nil {
			t.Error("what was fetched is kept")
		}
	}
	if want := []int{4, 2, 1}; !slices.Equal(near[1].calls, want) {
		t.Errorf("from rank 1 it fetched %v at a time, want %v", near[1].calls, want)
	}
	if want := []int{1, 2}; !slices.Equal(near[2].calls, want) {
		t.Errorf("from rank 2 it fetched %v at a time, want %v", near[2].calls, want)
	}
	for i, m := range ms {
		want := near[m.Peer].src
		if refused := i == 2; refused == m.IsDone() || !refused && (m.Err != nil || !bytes.Equal(m.Buf, want)) {
			t.Errorf("message %d: done %v, error %v", i, m.IsDone(), m.Err)
		}
	}
	fins, asked := 0, 0
	for _, h := range slices.Concat(near[1].sent, near[2].sent) {
		switch {
		case h.Kind == wire.KindFin && h.Length == n && h.ID != 3:
			fins++
		case h.Kind == wire.KindCTS && h.ID == 3:
			asked++
		}
	}
	if fins != len(ms)-1 || asked != 1 || c.Stats().FetchedBytes != uint64(fins)*n || near[1].ended != 1 {
		t.Errorf("%d Fins, %d CTS, %d bytes, %d fetches ended", fins, asked, c.Stats().FetchedBytes, near[1].ended)
	}
}

// TestEmptyMessageWithoutBuffer: a message without payload is sent when its header is, though the
// send buffer is full.
func TestEmptyMessageWithoutBuffer(t *testing.T) {
	c := New(Config{Self: 0, Peers: 2})
	f := &fakeLocal{}
	c.SetLocal(1, f, 0)
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
