//go:build linux

package mpi

import (
	"math/bits"
	"sync"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/callsite"
	"github.com/fitmpi/fitmpi/internal/coll"
)

// graph lets the algorithms of internal/coll build a schedule of the engine. It is
// used again once its collective has succeeded.
type graph struct {
	s      *engine.Schedule
	places *coll.Places
	tag    uint32 // of messages of lane 0
	after  []int32
	gate   []int32 // steps that all others wait for
	lent   []*scratch
	called *callCount // where the collective that runs is counted

	ctx    engine.ContextID // of messages, as peers and tag are
	peers  []engine.PeerID
	prompt promptSteps
}

// Places implements coll.Placed.
func (g *graph) Places() *coll.Places { return g.places }

func (g *graph) deps(after []coll.Step) []int32 {
	g.after = append(g.after[:0], g.gate...)
	for _, a := range after {
		if i, ok := g.prompt.later(a); ok {
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

// Lane implements coll.Graph.
func (g *graph) Lane(i int) {
	g.slow()
	g.s.Retag(engine.Tag(g.tag + uint32(i)*laneTag))
}

func (g *graph) Do(f func() error, after ...coll.Step) coll.Step {
	if g.doNow(f, after) {
		return stepDone
	}
	return coll.Step(g.s.Do(f, g.deps(after)...))
}

// scratch is temporary memory of a collective, of a power of two.
type scratch struct{ b []byte }

// scratches recycles it, by the logarithm of its size.
var scratches [48]sync.Pool

// Scratch implements coll.Scratcher. The memory is aligned for every element
// type: it is at least 64 bytes long.
func (g *graph) Scratch(n int) []byte {
	class := max(bits.Len(uint(max(n, 1)-1)), 6)
	if class >= len(scratches) {
		return make([]byte, n)
	}
	s, ok := scratches[class].Get().(*scratch)
	if !ok {
		s = &scratch{make([]byte, 1<<class)}
	}
	g.lent = append(g.lent, s)
	return s.b[:n]
}

// graphs recycles graphs with the memory of their schedules.
var graphs = sync.Pool{New: func() any { return &graph{s: new(engine.Schedule)} }}

// persistentTag tells the tags of persistent collectives from those of others. A
// communicator numbers either kind in the order of its calls, which is the same at
// every rank; that of starting persistent ones need not be. laneTag is between the
// tags of two lanes of one collective.
const (
	persistentTag = 1 << 30
	laneTag       = 1 << 28
)

// newGraph is the empty graph of the next collective of c.
func newGraph(c *comm) *graph {
	g, number := graphs.Get().(*graph), c.collSeq.Add(1)-1
	if !c.settles {
		number %= laneTag
	}
	g.renew(c, number)
	return g
}

// newPersistentGraph is that of the next persistent one. It is not recycled.
func newPersistentGraph(c *comm) *graph {
	g := &graph{s: new(engine.Schedule)}
	g.renew(c, persistentTag+(c.persistSeq.Add(1)-1)%laneTag)
	return g
}

// renew makes g an empty graph of all ranks that take part in collectives of c.
func (g *graph) renew(c *comm, tag uint32) {
	g.s.Renew(c.coll, engine.Tag(tag), c.peers)
	g.s.Member = c.member
	g.ctx, g.tag, g.peers = c.coll, tag, c.peers
	g.places, g.gate = c.places, g.gate[:0]
}

// release gives back what the collective of g used, once nobody uses it.
//
// Preconditions:
//   - it has succeeded, and no context may be about to end it.
func (g *graph) release() {
	g.releaseScratch()
	g.s.Clear()
	g.places, g.called, g.peers = nil, nil, nil
	graphs.Put(g)
}

// releaseScratch gives the temporary memory back.
func (g *graph) releaseScratch() {
	for i, s := range g.lent {
		scratches[bits.Len(uint(len(s.b)-1))].Put(s)
		g.lent[i] = nil
	}
	g.lent = g.lent[:0]
}

// algorithm is the one that FITMPI_COLL has chosen for collectives of a kind, coll.Auto
// if none. Where a call does not allow it, every rank finds so and does what Auto would.
func (c *comm) algorithm(k coll.Kind) coll.Algorithm { return c.job.choice.Of(k) }

// collective is what one collective operation does at this rank beside moving messages.
type collective struct {
	// prepare, if not nil, serialises the operands, in the thread that starts.
	prepare func() error
	// deliver, if not nil, runs in the thread that waits, after each success.
	deliver func() error
}

// startColl starts a collective that needs no preparation, or makes it persistent; see collective.
func startColl(c *Comm, op string, build func(g coll.Graph), deliver func() error) *Request {
	return collective{deliver: deliver}.start(c, op, build)
}

// start starts x on c as the operation op; if op is one of those that end in Init, it
// makes a persistent request of it. If op blocks it waits, and returns nil, which is a
// request that is over, or one that has failed.
//
// build adds the steps. It runs once, before start returns, even if the collective is
// persistent and starts many times: it must not look at operands, only steps and prepare may.
func (x collective) start(c *Comm, op string, build func(g coll.Graph)) *Request {
	if isPersistent(op) {
		return x.persistent(c, op, build)
	}
	g := newGraph(c.everyone().comm)
	g.called = c.comm.count(op)
	switch {
	case c.job.checks:
		g.agree(c, op)
	case isBlocking(op):
		g.prompt.begin(c.job.mover)
	}
	if x.prepare != nil {
		if err := x.prepare(); err != nil {
			return failedRequest(c, opError(ClassOf(err), op, err))
		}
	}
	build(g)
	if g.endPrompt() {
		g.release()
		return x.over(c, op)
	}
	g.s.Op = op
	if isBlocking(op) {
		return x.run(c, op, g)
	}
	return x.post(c, op, g)
}

// over is the request of a blocking collective that has succeeded: nil, unless its results cannot be delivered.
func (x collective) over(c *Comm, op string) *Request {
	if err := x.delivered(op); err != nil {
		return failedRequest(c, err)
	}
	return nil
}

// run has the engine run the schedule of g, and waits for it.
func (x collective) run(c *Comm, op string, g *graph) *Request {
	m := &g.s.MSO
	c.job.engine.StartBlocking(g.s)
	ended := c.wait(m)
	g.called.end(m)
	if m.Err != nil {
		g.releaseScratch()
		return failedRequest(c, c.collError(op, m.Err))
	}
	if !ended {
		g.release()
	}
	return x.over(c, op)
}

// post gives the schedule of g to the engine.
func (x collective) post(c *Comm, op string, g *graph) *Request {
	r := newRequest(c, op)
	r.m = &g.s.MSO
	r.more().finish = func(r *Request) (Status, *Error) {
		err := x.result(c, op, r.m)
		g.called.end(r.m)
		switch {
		case r.m.Err != nil:
			g.releaseScratch()
		case err == nil && (c.ctx == nil || c.ctx.Done() == nil):
			r.m = nil
			g.release()
		}
		return emptyStatus(), err
	}
	callsite.Note(g.s.Origin[:])
	c.job.engine.StartSchedule(g.s)
	return r
}

// result delivers what the schedule of m, which is done, has brought.
func (x collective) result(c *Comm, op string, m *engine.MSO) *Error {
	if m.Err != nil {
		return c.collError(op, m.Err)
	}
	return x.delivered(op)
}

// delivered delivers the results of a success.
func (x collective) delivered(op string) *Error {
	if x.deliver != nil {
		if err := x.deliver(); err != nil {
			return opError(classOr(err, ErrOther), op, err)
		}
	}
	return nil
}

// collError translates the failure of a step.
func (c *Comm) collError(op string, err error) *Error {
	e := c.engineError(op, err, -1, 0, 0)
	if e.Class == ErrTruncate {
		e.Cause = &unequalError{cause: e.Cause}
	}
	if e.Class == ErrOther {
		e.Class = classOr(err, ErrOther)
	}
	return e
}

// unequalError explains a truncation inside a collective.
type unequalError struct{ cause error }

func (e *unequalError) Error() string {
	return "the ranks gave buffers of different lengths: " + e.cause.Error()
}
func (e *unequalError) Unwrap() error { return e.cause }

func classOr(err error, otherwise ErrorClass) ErrorClass {
	if c := ClassOf(err); c != ErrUnknown {
		return c
	}
	return otherwise
}

// checkColl is the check that every collective starts with.
func (c *Comm) checkColl(op string, root int) *Error {
	if err := c.usable(op); err != nil {
		return err
	}
	if c.job.checks {
		c.noteCall(op, root)
	}
	if c.isInter() && (root == Root || root == ProcNull) {
		return nil
	}
	if root < 0 || root >= len(c.peers) {
		if c.isInter() {
			return opErrorf(ErrRoot, op, "root %d: need the root's rank, 0 to %d, if it is in the other group; "+
				"in its own, Root at the root and ProcNull elsewhere", root, len(c.peers)-1)
		}
		return opErrorf(ErrRoot, op, "root %d: need 0 to %d", root, len(c.peers)-1)
	}
	return nil
}

// collElem is checkColl of a collective over elements of T, whose description it returns.
func collElem[T any](c *Comm, op string, root int) (*elem, *Error) {
	if err := c.checkColl(op, root); err != nil {
		return nil, err
	}
	e := elemOf[T]()
	if e.err != nil {
		return nil, opError(ErrType, op, e.err)
	}
	c.noteElem(e)
	return e, nil
}

// checkLen says that a buffer is too short.
func checkLen(op, what string, have, need int) *Error {
	if have < need {
		return opErrorf(ErrCount, op, "%s holds %d elements, need %d", what, have, need)
	}
	return nil
}

// checkApart says what is wrong if block and all, buffers without layouts, share memory and block does not begin where its place in all is,
// at elements from the beginning: results would arrive where operands are still to be read. place says in words where it may be.
//
// Preconditions:
//   - T is plain.
func checkApart[T any](op string, block, all []T, at int, place string) *Error {
	if !overlap(bytesOf(block), bytesOf(all)) || at < len(all) && &block[0] == &all[at] {
		return nil
	}
	return opErrorf(ErrBuffer, op, "in and out overlap: they may share memory only if %s", place)
}

// Where buffers of one call may share memory, in words.
const (
	placeSame  = "they begin at the same place"
	placeOfIn  = "in is this rank's block of out"
	placeOfOut = "out is this rank's block of in"
)

// done waits for the request of a blocking operation.
func done(r *Request) error {
	_, err := r.wait()
	return err
}
