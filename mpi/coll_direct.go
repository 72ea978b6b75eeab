package mpi

import (
	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/mpi/internal/coll"
)

// A blocking collective of short messages between ranks of a host is nothing but sends and receives
// that are complete at once, and arithmetic between them. So its steps are done while the algorithm
// lists them, as a program would that called Send and Recv, for as long as each can be done without
// waiting for long. From the first that cannot, steps go into the schedule, which the engine runs.

// mover is the part of an engine that moves messages at once.
type mover interface {
	MovesNow() bool
	Send(m *engine.Message, next engine.Intent) bool
	Recv(m *engine.Message, next engine.Intent) bool
}

// directSteps are the steps of a graph that are done at once. Owned by the caller of the
// collective.
type directSteps struct {
	on     bool // nothing has had to wait yet
	by     mover
	posted []directRecv // receives, in their order: each is done when a step needs it, so that what is to be sent leaves first
	taken  int          // so many of them are done
	err    error        // why a step failed: then nothing else is done at once
	skip   int          // so many things that the steps would do were done by a recipe
	failed error        // what the last of those has ended with
	waits  bool         // what comes after those must wait: a recipe has tried it
	out    engine.Message
	in     engine.Message // of the receive that was done last
}

// directRecv is a receive that waits until a step needs it.
type directRecv struct {
	peer int
	buf  []byte
	step int32 // in the schedule, if it is not done when steps begin to go there
}

// A step that is done is stepDone. One that stands for posted[k] is stepPosted-k. Those of the
// schedule are not negative.
const (
	stepDone   coll.Step = -1
	stepPosted coll.Step = -2
)

// begin lets steps be done at once from now on, if any can be.
func (p *directSteps) begin(by mover) {
	if by.MovesNow() {
		p.by, p.on = by, true
	}
}

// endDirect does the receives that no step has needed, and reports whether all has been done. Else
// the schedule has what is left.
func (g *graph) endDirect() (done bool) {
	p := &g.direct
	if done = p.on && p.receive(g, len(p.posted)) && p.err == nil; !done {
		g.slow()
	}
	if p.skip > 0 {
		panic("mpi: an algorithm has listed less than its recipe: a bug of ours")
	}
	clear(p.posted)
	p.posted, p.taken, p.err = p.posted[:0], 0, nil
	p.end()
	return done
}

// end forgets what was done.
func (p *directSteps) end() {
	p.on, p.waits, p.out.Buf, p.in.Buf = false, false, nil, nil
}

// slow lets steps go to the schedule from now on. After an error none of them starts: the schedule
// tells those that wait for this rank.
func (g *graph) slow() {
	p := &g.direct
	if !p.on {
		return
	}
	p.on, g.cook.writes = false, false
	if p.err != nil {
		g.s.Broken = p.err
	}
	for i := p.taken; i < len(p.posted); i++ {
		r := &p.posted[i]
		r.step = g.s.Recv(r.peer, r.buf, g.gate...)
	}
}

// needs does the receives among after, and those before them. It reports false if one must wait.
func (p *directSteps) needs(g *graph, after []coll.Step) bool {
	n := 0
	for _, a := range after {
		n = max(n, int(stepPosted-a)+1)
	}
	return p.receive(g, n)
}

// receive does the first n receives.
func (p *directSteps) receive(g *graph, n int) bool {
	for ; p.taken < n && p.err == nil; p.taken++ {
		if p.isSkipped() {
			continue
		}
		r, ok := &p.posted[p.taken], false
		if p.waits {
			return false
		}
		if ok, p.err = p.recv(g, r.peer, r.buf); !ok {
			return false
		}
		g.cook.did(actRecv, r.peer, r.buf, nil, nil)
	}
	return true
}

// isSkipped reports whether a recipe has done what is next.
func (p *directSteps) isSkipped() bool {
	if p.skip == 0 {
		return false
	}
	if p.skip--; p.skip == 0 {
		p.err, p.failed = p.failed, nil
	}
	return true
}

// recv does a receive. It reports false if it must wait.
func (p *directSteps) recv(g *graph, peer int, b []byte) (ok bool, err error) {
	m := &p.in
	m.Peer, m.Tag, m.Ctx, m.Buf = g.peers[peer], engine.Tag(g.tag), g.ctx, b
	if !p.by.Recv(m, engine.Waits) {
		return false, nil
	}
	if m.Elem != g.elem {
		g.open()
		if err = g.s.FaultOf(m.Elem, m.Peer); err != nil {
			return true, err
		}
	}
	if m.Length != len(b) {
		err = &engine.TruncateError{Message: m.Length, Buffer: len(b)}
	}
	return true, err
}

// send does a send. It reports false if that is not complete at once.
func (p *directSteps) send(g *graph, peer int, b []byte) bool {
	m := &p.out
	m.Peer, m.Tag, m.Ctx, m.Elem, m.Buf = g.peers[peer], engine.Tag(g.tag), g.ctx, g.elem, b
	return p.by.Send(m, engine.Returns)
}

// isDirect reports whether a step that comes after others may be done now. If not, it and those
// that follow go to the schedule.
func (g *graph) isDirect(after []coll.Step) bool {
	if g.direct.on && (!g.direct.needs(g, after) || g.direct.err != nil) {
		g.slow()
	}
	return g.direct.on
}

// sendNow does a send, if it can be done.
func (g *graph) sendNow(peer int, b []byte, after []coll.Step) bool {
	if !g.isDirect(after) {
		return false
	}
	if g.direct.isSkipped() {
		return true
	}
	if g.direct.waits || !g.direct.send(g, peer, b) {
		g.slow()
		return false
	}
	g.cook.did(actSend, peer, nil, b, nil)
	return true
}

// recvNow takes note of a receive.
func (g *graph) recvNow(peer int, b []byte, after []coll.Step) (coll.Step, bool) {
	if !g.isDirect(after) {
		return 0, false
	}
	p := &g.direct
	p.posted = append(p.posted, directRecv{peer: peer, buf: b})
	return stepPosted - coll.Step(len(p.posted)-1), true
}

// doNow does local work of which a recipe can say nothing.
func (g *graph) doNow(f func() error, after []coll.Step) bool {
	if !g.isDirect(after) {
		return false
	}
	g.cook.writes = false
	g.direct.err = engine.Protect(f)
	return true
}

// copyNow copies.
func (g *graph) copyNow(dst, src []byte, after []coll.Step) bool {
	if !g.isDirect(after) {
		return false
	}
	if !g.direct.isSkipped() {
		copy(dst, src)
		g.cook.did(actCopy, 0, dst, src, nil)
	}
	return true
}

// combineNow combines.
func (g *graph) combineNow(x coll.Combination, after []coll.Step) bool {
	if !g.isDirect(after) {
		return false
	}
	if !g.direct.isSkipped() {
		g.direct.err = engine.Protect(func() error { return x.Do() })
		g.cook.did(actCombine, 0, x.To, x.Left, x.Right)
	}
	return true
}

// later is where a step that others come after is in the schedule, if it is there.
func (p *directSteps) later(a coll.Step) (int32, bool) {
	switch {
	case a >= 0:
		return int32(a), true
	case a == stepDone:
		return 0, false
	}
	k := int(stepPosted - a)
	return p.posted[k].step, k >= p.taken
}
