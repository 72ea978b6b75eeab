package mpi

import (
	"math/bits"
	"sync"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/mpi/internal/coll"
)

// graph lets the algorithms of mpi/internal/coll build a schedule of the engine. It is
// used again once its collective has succeeded.
type graph struct {
	s      *engine.Schedule
	places *coll.Places
	tag    uint32 // of messages of stream 0
	after  []int32
	gate   []int32 // steps that all others wait for
	lent   []*scratch
	called *callCount // where the collective that runs is counted
	isOpen bool       // s can take steps

	ctx    engine.ContextID // of messages, as peers, tag and elem are
	peers  []engine.PeerID
	elem   uint8
	differ func(own, got uint8, from engine.PeerID) error // as that of a schedule, as member is
	member func(engine.PeerID) bool
	direct directSteps
	cook   cook
	relent int // so much of lent is taken once more, in its order; len(lent) if none is
}

// Places implements coll.Placed.
func (g *graph) Places() *coll.Places { return g.places }

func (g *graph) deps(after []coll.Step) []int32 {
	g.after = append(g.after[:0], g.gate...)
	for _, a := range after {
		if i, ok := g.direct.later(a); ok {
			g.after = append(g.after, i)
		}
	}
	return g.after
}

func (g *graph) Send(peer int, data coll.Buf, after ...coll.Step) coll.Step {
	if b, ok := data.Memory(); ok {
		if g.sendNow(peer, b, after) {
			return stepDone
		}
		return coll.Step(g.s.Send(peer, b, g.deps(after)...))
	}
	g.slow()
	return coll.Step(g.s.SendLayout(peer, data, g.deps(after)...))
}

func (g *graph) Recv(peer int, buf coll.Buf, after ...coll.Step) coll.Step {
	if b, ok := buf.Memory(); ok {
		if step, ok := g.recvNow(peer, b, after); ok {
			return step
		}
		return coll.Step(g.s.Recv(peer, b, g.deps(after)...))
	}
	g.slow()
	return coll.Step(g.s.RecvLayout(peer, buf, g.deps(after)...))
}

func (g *graph) SendFrom(peer int, data *[]byte, after ...coll.Step) coll.Step {
	g.slow()
	return coll.Step(g.s.SendFrom(peer, data, g.deps(after)...))
}

func (g *graph) RecvInto(peer int, data *[]byte, after ...coll.Step) coll.Step {
	g.slow()
	return coll.Step(g.s.RecvInto(peer, data, g.deps(after)...))
}

// Stream implements coll.Graph.
func (g *graph) Stream(i int) {
	g.slow()
	g.s.Retag(engine.Tag(g.tag + uint32(i)*streamTag))
}

func (g *graph) Do(f func() error, after ...coll.Step) coll.Step {
	if g.doNow(f, after) {
		return stepDone
	}
	return coll.Step(g.s.Do(f, g.deps(after)...))
}

func (g *graph) Copy(dst, src []byte, after ...coll.Step) coll.Step {
	if g.copyNow(dst, src, after) {
		return stepDone
	}
	return coll.Step(g.s.Do(func() error { copy(dst, src); return nil }, g.deps(after)...))
}

func (g *graph) Combine(x coll.Combination, after ...coll.Step) coll.Step {
	if g.combineNow(x, after) {
		return stepDone
	}
	return coll.Step(g.s.Do(func() error { return x.Do() }, g.deps(after)...))
}

// scratch is temporary memory of a collective, of a power of two.
type scratch struct{ b []byte }

// scratches recycles it, by the logarithm of its size.
var scratches [48]sync.Pool

// Scratch implements coll.Scratcher. The memory is aligned for every element
// type: it is at least 64 bytes long.
func (g *graph) Scratch(n int) []byte {
	if g.relent < len(g.lent) {
		b := g.lent[g.relent].b[:n]
		g.relent++
		return b
	}
	class := max(bits.Len(uint(max(n, 1)-1)), 6)
	if class >= len(scratches) {
		g.cook.writes = false
		return make([]byte, n)
	}
	s, ok := scratches[class].Get().(*scratch)
	if !ok {
		s = &scratch{make([]byte, 1<<class)}
	}
	g.lent = append(g.lent, s)
	g.relent = len(g.lent)
	g.cook.lent(s.b[:n])
	return s.b[:n]
}

// graphs recycles graphs with the memory of their schedules.
var graphs = sync.Pool{New: func() any { return &graph{s: new(engine.Schedule)} }}

// persistentTag tells the tags of persistent collectives from those of others. A
// communicator numbers either kind in the order of its calls, which is the same at
// every rank; that of starting persistent ones need not be. streamTag is between the
// tags of two streams of one collective.
const (
	persistentTag = 1 << 30
	streamTag     = 1 << 28
	streamTags    = 3 * streamTag // the bits that tell streams apart
)

// newGraph is the empty graph of the next collective of c.
func newGraph(c *comm) *graph {
	g, number := graphs.Get().(*graph), c.collSeq.Add(1)-1
	if !c.settles {
		number %= streamTag
		c.recycleTags(0, number)
	}
	g.renew(c, number)
	return g
}

// newPersistentGraph is that of the next persistent one. It is not recycled.
func newPersistentGraph(c *comm) *graph {
	g := &graph{s: new(engine.Schedule)}
	number := (c.persistSeq.Add(1) - 1) % streamTag
	c.recycleTags(persistentTag, number)
	g.renew(c, persistentTag+number)
	return g
}

// recycleTags says in the middle of each quarter of the numbers of collectives that those of the
// next quarter will be new again, also if one that had such a number has failed. No other rank is
// as far ahead as that.
func (c *comm) recycleTags(base, number uint32) {
	const quarter = streamTag / 4
	if number%quarter == quarter/2 {
		first := base + (number/quarter+1)%4*quarter
		c.job.engine.Forget(c.coll, engine.Tag(first), engine.Tag(first+quarter-1))
	}
}

// renew makes g an empty graph of all ranks that take part in collectives of c.
func (g *graph) renew(c *comm, tag uint32) {
	g.ctx, g.tag, g.peers, g.member = c.coll, tag, c.peers, c.member
	g.places, g.gate = c.places, g.gate[:0]
	g.elem, g.differ = 0, nil
}

// open lets steps go to the schedule. What is done at once does without.
func (g *graph) open() {
	if g.isOpen {
		return
	}
	g.isOpen = true
	g.s.Renew(g.ctx, engine.Tag(g.tag), g.peers)
	g.s.Elem, g.s.Differ, g.s.Member, g.s.Reason = g.elem, g.differ, g.member, reasonOf
}

// release gives back what the collective of g used, once nothing uses it.
//
// Preconditions:
//   - it has succeeded, and no context may be about to end it.
func (g *graph) release() {
	g.releaseScratch()
	if g.isOpen {
		g.s.Clear()
		g.isOpen = false
	}
	g.places, g.called, g.peers, g.member = nil, nil, nil, nil
	graphs.Put(g)
}

// releaseScratch gives the temporary memory back.
func (g *graph) releaseScratch() {
	for i, s := range g.lent {
		scratches[bits.Len(uint(len(s.b)-1))].Put(s)
		g.lent[i] = nil
	}
	g.lent, g.relent = g.lent[:0], 0
}
