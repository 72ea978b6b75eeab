package core

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// partPair is a partitioned message from rank 0 to rank 1.
type partPair struct {
	*fakeNet
	s, r    *Parts
	out, in []byte // memory, of which a comb has more than the message
}

// newPartPair makes both ends; of a gap that is not 0 their memory is a comb with groups of so many
// bytes.
func newPartPair(t failer, theirs, ours, each, outGap, inGap int) *partPair {
	p := &partPair{fakeNet: newNet(t, 2, Config{ShortMax: 8, EagerMax: 100, Chunk: 128})}
	p.connectAll()
	n := theirs * ours * each
	p.s = &Parts{Send: true, Peer: 1, Tag: 7, Hello: 2, Data: 3, Base: 40, Count: theirs, Total: n}
	p.r = &Parts{Peer: 0, Tag: 7, Hello: 2, Data: 3, Count: ours, Total: n}
	p.out, p.in = lay(p.s, outGap), lay(p.r, inGap)
	p.fill(1)
	return p
}

// lay gives p memory, which it returns.
func lay(p *Parts, group int) []byte {
	if group == 0 {
		p.Buf = make([]byte, p.Total)
		return p.Buf
	}
	c := newComb(p.Total, group)
	p.Layout = c
	return c.mem
}

// fill gives the sender a message and the receiver's memory something else.
func (p *partPair) fill(seed int) {
	copy(p.out, pattern(len(p.out), seed))
	for i := range p.in {
		p.in[i] = fillByte
	}
}

// message is the data of p.
func message(p *Parts) []byte {
	if p.Layout == nil {
		return p.Buf
	}
	b := make([]byte, p.Total)
	p.Layout.Pack(b, 0)
	return b
}

// wantMessage looks that the receiver has what was sent, and nothing else has changed.
func (p *partPair) wantMessage(why string) {
	p.t.Helper()
	if !bytes.Equal(message(p.r), message(p.s)) {
		p.t.Fatalf("%s: another message has arrived", why)
	}
	if c, ok := p.r.Layout.(*comb); ok && !c.isClean(fillByte) {
		p.t.Fatalf("%s: a gap was written to", why)
	}
}

// fillByte is in a receiver's memory before anything arrives.
const fillByte = 'Z'

// comb is a layout of groups of bytes with gaps as long.
type comb struct {
	mem      []byte
	n, group int
}

func newComb(n, group int) *comb { return &comb{make([]byte, 2*n+2*group), n, group} }

func (c *comb) at(i int) int { return i/c.group*2*c.group + i%c.group }
func (c *comb) Len() int     { return c.n }

func (c *comb) Pack(dst []byte, off int) {
	must(off >= 0 && off+len(dst) <= c.n)
	for i := range dst {
		dst[i] = c.mem[c.at(off+i)]
	}
}

func (c *comb) Unpack(off int, src []byte) {
	must(off >= 0 && off+len(src) <= c.n)
	for i, b := range src {
		c.mem[c.at(off+i)] = b
	}
}

func (c *comb) Piece(off, n int) []byte {
	if n == 0 || off/c.group != (off+n-1)/c.group {
		return nil
	}
	return c.mem[c.at(off):][:n:n]
}

// isClean reports whether all gaps are filled with b.
func (c *comb) isClean(b byte) bool {
	rest := bytes.Clone(c.mem)
	for i := range c.n {
		rest[c.at(i)] = b
	}
	return len(bytes.Trim(rest, string(rune(b)))) == 0
}

// gaps are the groups of the memory at both ends: 0 is memory without gaps.
var gaps = [][2]int{{0, 0}, {3, 0}, {0, 7}, {5, 2}, {90, 64}}

func (p *partPair) start(rank int) {
	x := p.s
	if rank == 1 {
		x = p.r
	}
	x.MSO.Reset()
	p.cores[rank].StartParts(x)
}

func (p *partPair) ready(i int) {
	if err := p.s.CanReady(i); err != nil {
		p.t.Fatalf("partition %d: %v", i, err)
	}
	if j, ok := p.cores[0].Ready(p.s, i, nil); ok {
		p.finish(p.cores[0], &j)
	}
}

// little moves a few bytes each way; it reports whether anything moved.
func (p *partPair) little() bool {
	moved := 0
	for a := range 2 {
		moved += p.jobs(a)
		p.drainDirty(a)
		if p.cores[a].PeerGone(PeerID(1-a)) == nil {
			moved += p.write(a, 1-a, lifeBytes)
		}
		n, err := p.deliver(a, 1-a, lifeBytes, 1)
		if err != nil {
			p.t.Fatal(err)
		}
		moved += n
	}
	return moved > 0
}

// TestPartsArrive starts both ends before and after the hello, makes partitions ready one by one,
// and looks at what has arrived after each.
func TestPartsArrive(t *testing.T) {
	for _, cut := range [][2]int{{1, 1}, {3, 3}, {4, 3}, {3, 4}, {1, 5}, {6, 1}, {6, 2}} {
		for _, each := range []int{0, 1, 8, 90} { // empty, short, eager, rendezvous
			for _, early := range []bool{false, true} {
				for _, gap := range gaps {
					t.Run(fmt.Sprint(cut, each, early, gap), func(t *testing.T) {
						partsArrive(newPartPair(t, cut[0], cut[1], each, gap[0], gap[1]), early)
					})
				}
			}
		}
	}
}

func partsArrive(p *partPair, early bool) {
	p.cores[1].InitParts(p.r)
	if early {
		p.start(1)
	}
	p.cores[0].InitParts(p.s)
	p.run()
	for round := range 3 {
		p.fill(round)
		p.partsRound(early && round == 0)
	}
	p.wantRest("after three rounds")
	if n, m := len(p.s.under), len(p.r.under); n+m != 0 {
		p.t.Fatalf("%d and %d blocks are under way after all rounds", n, m)
	}
}

// partsRound is one round, of which started says that the receiver has started it.
func (p *partPair) partsRound(started bool) {
	p.start(0)
	if !started {
		p.start(1)
	}
	n, m := p.s.Count, p.r.Count
	for i := range n {
		if p.s.MSO.IsDone() || p.r.MSO.IsDone() {
			p.t.Fatalf("done with %d partitions ready", i)
		}
		p.ready(i)
		p.run()
		if err := p.s.CanReady(i); !errors.Is(err, ErrReadyAlready) {
			p.t.Fatalf("ready, but %v", err)
		}
		for j := range m {
			ok, err := p.r.Arrived(j)
			if want := (j+1)*n <= (i+1)*m; ok != want || err != nil {
				p.t.Fatalf("partitions 0 to %d ready: %d arrived: %v, %v", i, j, ok, err)
			}
		}
	}
	if !p.s.MSO.IsDone() || !p.r.MSO.IsDone() || p.s.MSO.Err != nil || p.r.MSO.Err != nil {
		p.t.Fatalf("the round: %v %v, %v %v", p.s.MSO.State(), p.s.MSO.Err, p.r.MSO.State(), p.r.MSO.Err)
	}
	p.wantMessage("the round")
}

// TestPartsEvents lets something happen in each state of a round: no end waits for ever after it.
func TestPartsEvents(t *testing.T) {
	givenUp := errors.New("given up")
	events := []struct {
		name string
		rest bool // nothing is left at either end
		do   func(*partPair)
	}{
		{"cut", true, func(p *partPair) { p.cut(0, 1) }},
		{"sender stops", true, func(p *partPair) { p.cores[0].Stop(); p.cutSide(0, 1) }},
		{"receiver stops", true, func(p *partPair) {
			p.cores[1].FailPeer(0, ErrStopped, false, p.sinks(1)(0))
			p.cores[1].Stop()
			p.pipes[[2]int{0, 1}].cut = true
			p.cutSide(1, 0)
		}},
		{"both abandon", false, func(p *partPair) {
			p.cores[0].Abandon(&p.s.MSO, givenUp, p.sinks(0))
			p.cores[1].Abandon(&p.r.MSO, givenUp, p.sinks(1))
			p.jobs(0)
			p.jobs(1)
		}},
	}
	for _, ev := range events {
		for _, each := range []int{8, 50, 90} {
			for _, gap := range [][2]int{{0, 0}, {3, 5}} {
				t.Run(fmt.Sprint(ev.name, each, gap), func(t *testing.T) {
					for at := 0; oneParts(t, each, gap, at, ev.do, ev.rest); at++ {
					}
				})
			}
		}
	}
}

// oneParts makes some partitions ready, lets do happen before step at, and reports whether the
// round lasted so long.
func oneParts(t *testing.T, each int, gap [2]int, at int, do func(*partPair), rest bool) bool {
	p := newPartPair(t, 4, 2, each, gap[0], gap[1])
	p.cores[1].InitParts(p.r)
	p.cores[0].InitParts(p.s)
	p.start(1)
	p.start(0)
	p.ready(2)
	p.ready(0)
	lasts := true
	for range at {
		lasts = p.little()
	}
	do(p)
	for _, m := range []*MSO{&p.s.MSO, &p.r.MSO} {
		if !m.IsDone() || m.Err == nil {
			t.Fatalf("event before step %d: %v, %v", at, m.State(), m.Err)
		}
	}
	if err := p.s.CanReady(1); err == nil || errors.Is(err, ErrReadyAlready) {
		t.Fatalf("event before step %d: the other partitions can be made ready: %v", at, err)
	}
	if ok, err := p.r.Arrived(1); ok && err == nil {
		t.Fatalf("event before step %d: what was not sent has arrived", at)
	}
	copy(p.in, pattern(len(p.in), 99)) // nothing writes there any more
	for p.little() {
	}
	if !bytes.Equal(p.in, pattern(len(p.in), 99)) {
		t.Fatalf("event before step %d: the buffer changed after the round", at)
	}
	for rank, m := range []*MSO{&p.s.MSO, &p.r.MSO} {
		if p.start(rank); !m.IsDone() || m.Err == nil {
			t.Fatalf("event before step %d: another round: %v, %v", at, m.State(), m.Err)
		}
	}
	if len(p.cores[0].sends) != 0 || len(p.cores[1].peers[0].recvs) != 0 {
		t.Fatalf("event before step %d: a send or a receive is on a list", at)
	}
	if rest {
		p.wantRest(fmt.Sprintf("event before step %d", at))
	}
	return lasts
}

// TestPartsBadHello: what a peer says is not believed if it cannot be true.
func TestPartsBadHello(t *testing.T) {
	hello := func(base Tag, count, total int) []byte {
		var b [helloLen]byte
		putHello(b[:], base, count, total)
		return b[:]
	}
	for name, b := range map[string][]byte{
		"short": {1, 2, 3}, "empty": {}, "long": make([]byte, helloLen+1), "longer": make([]byte, helloLen+NoteLen+1),
		"without its note": append(hello(0, 2, 6), 1),
		"none":             hello(0, 0, 0),
		"too many":         hello(0, MaxPartitions+1, 0),
		"tags":             hello(1<<31-2, 3, 6),
		"no tag":           hello(-1, 1, 6),
		"endless":          hello(0, 1, 1<<62),
		"remainder":        hello(0, 4, 6),
	} {
		t.Run(name, func(t *testing.T) {
			p := newPartPair(t, 2, 3, 1, 0, 0)
			p.cores[1].InitParts(p.r)
			p.start(1)
			p.post(0, &MSO{Kind: KindSend, Peer: 1, Tag: p.s.Tag, Ctx: p.s.Hello, Buf: b})
			p.run()
			if !p.r.MSO.IsDone() || p.r.MSO.Err == nil {
				t.Fatalf("%v, %v", p.r.MSO.State(), p.r.MSO.Err)
			}
			if _, ok := errors.AsType[*TruncateError](p.r.MSO.Err); !ok && !strings.Contains(p.r.MSO.Err.Error(), "cannot be true") {
				t.Error(p.r.MSO.Err)
			}
			p.wantRest("after it")
		})
	}
}

// TestPartsList: the list of sends in a round survives any order of ending.
func TestPartsList(t *testing.T) {
	f := newNet(t, 2, Config{})
	c := f.cores[0]
	ps := make([]*Parts, 5)
	for i := range ps {
		ps[i] = &Parts{Send: true, Null: true, Count: 1}
		c.InitParts(ps[i])
		c.StartParts(ps[i])
	}
	for k, i := range []int{1, 4, 0, 3} {
		c.Ready(ps[i], 0, nil)
		if !ps[i].MSO.IsDone() || len(c.sends) != len(ps)-1-k {
			t.Fatalf("%d ended: %d are left", i, len(c.sends))
		}
	}
	if c.Stop(); !ps[2].MSO.IsDone() || !errors.Is(ps[2].MSO.Err, ErrStopped) || len(c.sends) != 0 {
		t.Fatalf("stopped: %v, %v", ps[2].MSO.State(), ps[2].MSO.Err)
	}
}
