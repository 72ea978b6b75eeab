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
	out, in []byte
}

func newPartPair(t failer, theirs, ours, each int) *partPair {
	p := &partPair{fakeNet: newNet(t, 2, Config{ShortMax: 8, EagerMax: 100, Chunk: 128})}
	p.connectAll()
	n := theirs * ours * each
	p.out, p.in = pattern(n, 1), make([]byte, n)
	p.s = &Parts{Send: true, Peer: 1, Tag: 7, Hello: 2, Data: 3, Base: 40, Count: theirs, Total: n, Buf: p.out}
	p.r = &Parts{Peer: 0, Tag: 7, Hello: 2, Data: 3, Count: ours, Total: n, Buf: p.in}
	return p
}

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

// TestPartsArrive starts both ends before and after the hello, makes partitions ready one by one, and looks at what has
// arrived after each.
func TestPartsArrive(t *testing.T) {
	for _, cut := range [][2]int{{1, 1}, {3, 3}, {4, 3}, {3, 4}, {1, 5}, {6, 1}, {6, 2}} {
		for _, each := range []int{0, 1, 8, 90} { // empty, short, eager, rendezvous
			for _, early := range []bool{false, true} {
				t.Run(fmt.Sprint(cut, each, early), func(t *testing.T) {
					p := newPartPair(t, cut[0], cut[1], each)
					p.cores[1].InitParts(p.r)
					if early {
						p.start(1)
					}
					p.cores[0].InitParts(p.s)
					p.run()
					for range 3 {
						p.partsRound(early)
						early = false
					}
					p.wantRest("after three rounds")
				})
			}
		}
	}
}

// partsRound is one round, of which started says that the receiver has started it.
func (p *partPair) partsRound(started bool) {
	clear(p.in)
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
	if !p.s.MSO.IsDone() || !p.r.MSO.IsDone() || p.s.MSO.Err != nil || p.r.MSO.Err != nil || !bytes.Equal(p.in, p.out) {
		p.t.Fatalf("the round: %v %v, %v %v", p.s.MSO.State(), p.s.MSO.Err, p.r.MSO.State(), p.r.MSO.Err)
	}
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
			t.Run(fmt.Sprint(ev.name, each), func(t *testing.T) {
				for at := 0; oneParts(t, each, at, ev.do, ev.rest); at++ {
				}
			})
		}
	}
}

// oneParts makes some partitions ready, lets do happen before step at, and reports whether the round lasted so long.
func oneParts(t *testing.T, each, at int, do func(*partPair), rest bool) bool {
	p := newPartPair(t, 4, 2, each)
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
	copy(p.in, pattern(len(p.in), 99)) // nobody writes there any more
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
	if len(p.cores[0].sends) != 0 {
		t.Fatalf("event before step %d: a send is on the list", at)
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
		putHello(&b, base, count, total)
		return b[:]
	}
	for name, b := range map[string][]byte{
		"short": {1, 2, 3}, "empty": {}, "long": make([]byte, helloLen+1),
		"none":      hello(0, 0, 0),
		"too many":  hello(0, MaxPartitions+1, 0),
		"tags":      hello(1<<31-2, 3, 6),
		"no tag":    hello(-1, 1, 6),
		"endless":   hello(0, 1, 1<<62),
		"remainder": hello(0, 4, 6),
	} {
		t.Run(name, func(t *testing.T) {
			p := newPartPair(t, 2, 3, 1)
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
