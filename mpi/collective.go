//go:build linux

package mpi

import (
	"math/bits"
	"sync"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/coll"
)

// graph lets the algorithms of internal/coll build a schedule of the engine. It is
// used again once its collective has succeeded.
type graph struct {
	s      *engine.Schedule
	places *coll.Places
	after  []int32
	lent   []*scratch
}

// Places implements coll.Placed.
func (g *graph) Places() *coll.Places { return g.places }

func (g *graph) deps(after []coll.Step) []int32 {
	g.after = g.after[:0]
	for _, a := range after {
		g.after = append(g.after, int32(a))
	}
	return g.after
}

func (g *graph) Send(peer int, data []byte, after ...coll.Step) coll.Step {
	return coll.Step(g.s.Send(peer, data, g.deps(after)...))
}

func (g *graph) Recv(peer int, buf []byte, after ...coll.Step) coll.Step {
	return coll.Step(g.s.Recv(peer, buf, g.deps(after)...))
}

func (g *graph) SendFrom(peer int, data *[]byte, after ...coll.Step) coll.Step {
	return coll.Step(g.s.SendFrom(peer, data, g.deps(after)...))
}

func (g *graph) RecvInto(peer int, data *[]byte, after ...coll.Step) coll.Step {
	return coll.Step(g.s.RecvInto(peer, data, g.deps(after)...))
}

func (g *graph) Do(f func() error, after ...coll.Step) coll.Step {
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

func newGraph(c *Comm) *graph {
	g := graphs.Get().(*graph)
	g.s.Renew(c.coll, engine.Tag((c.collSeq.Add(1)-1)&TagUB), c.peers)
	g.places = c.places
	return g
}

// release gives back what the collective of g used, once nobody uses it.
//
// Preconditions:
//   - it has succeeded, and no context may be about to end it.
func (g *graph) release() {
	g.releaseScratch()
	g.s.Clear()
	g.places = nil
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

// startColl starts a collective on c: build adds its steps, deliver, if not nil,
// runs in the thread that waits, once it has succeeded.
func startColl(c *Comm, op string, build func(g coll.Graph) error, deliver func() error) *Request {
	g := newGraph(c)
	if err := build(g); err != nil {
		return failedRequest(c, opError(ClassOf(err), op, err))
	}
	r := newCollRequest(c, op)
	r.m = &g.s.MSO
	r.finish = func(r *Request) (Status, *Error) {
		if err := r.m.Err; err != nil {
			g.releaseScratch()
			return emptyStatus(), c.collError(op, err)
		}
		if deliver != nil {
			if err := deliver(); err != nil {
				return emptyStatus(), opError(classOr(err, ErrOther), op, err)
			}
		}
		if c.ctx == nil || c.ctx.Done() == nil {
			r.m = nil
			g.release()
		}
		return emptyStatus(), nil
	}
	if isBlocking(op) {
		c.job.engine.StartBlocking(g.s)
	} else {
		c.job.engine.StartSchedule(g.s)
	}
	return r
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
	if c.inner != nil {
		return opErrorf(ErrComm, op, "%s is an intercommunicator: use a communicator of one group, such as Merge gives", c)
	}
	if root < 0 || root >= len(c.peers) {
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
	return e, nil
}

// checkLen says that a buffer is too short.
func checkLen(op, what string, have, need int) *Error {
	if have < need {
		return opErrorf(ErrCount, op, "%s holds %d elements, need %d", what, have, need)
	}
	return nil
}

// blocked recycles the requests of blocking collectives, which their users never see.
var blocked = sync.Pool{New: func() any { return new(Request) }}

func newCollRequest(c *Comm, op string) *Request {
	if !isBlocking(op) {
		return newRequest(c, op)
	}
	r := blocked.Get().(*Request)
	r.c, r.op, r.peer = c, op, -1
	return r
}

// done waits for the request of a blocking collective.
func done(r *Request) error {
	_, err := r.Wait()
	if err == nil && r.m == nil && r.finish != nil {
		*r = Request{}
		blocked.Put(r)
	}
	return err
}
