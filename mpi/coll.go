package mpi

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/callsite"
	"github.com/fitmpi/fitmpi/mpi/internal/coll"
)

// algorithm is the one that FITMPI_COLL has chosen for collectives of a kind, coll.Auto
// if none. Where a call does not allow it, every rank finds so and does what Auto would.
func (c *comm) algorithm(k coll.Kind) coll.Algorithm { return c.job.choice.Of(k) }

// form is how a call relates to what it posts.
type form uint8

const (
	blocking    form = iota // it waits for that
	nonblocking             // it returns a request
	persistent              // it returns an inactive request, which Start starts as often as its owner likes
)

// formOf is the form of the call of that name. The standard makes the name say it: a nonblocking
// call is its blocking form with I before it, a persistent one has Init behind it. TestForms holds
// that against what the calls of this package return.
func formOf(op string) form {
	switch {
	case len(op) > len("Init") && strings.HasSuffix(op, "Init"):
		return persistent
	case op[0] == 'I' && !strings.HasPrefix(op, "Inter") && !strings.HasPrefix(op, "Init"):
		return nonblocking
	}
	return blocking
}

// collective is what one collective operation does at this rank beside moving messages.
type collective struct {
	// prepare, if not nil, serialises the operands, in the thread that starts. After an error the
	// collective starts all the same, to tell the other ranks, and ends with it.
	prepare func() error
	// deliver, if not nil, runs in the thread that waits, after each success.
	deliver func() error
	// foreign says that steps call functions of the user's.
	foreign bool
	// sent is what it sends, if that is checked.
	sent *sentData

	// recipe is the key of its recipe, if it can have one; it is of two operands that are memory,
	// and combines by an operation, if it is a reduction.
	recipe  recipeKey
	in, out []byte
	combine func(acc, in []byte) error
}

// startColl starts a collective that needs no preparation, or makes it persistent; see collective.
func startColl(c *Comm, op string, build func(g coll.Graph), deliver func() error) *Request {
	return (&collective{deliver: deliver}).start(c, op, build)
}

// start starts x on c as the operation op; if op is one of those that end in Init, it
// makes a persistent request of it. If op blocks it waits, and returns nil, which is a
// request that is over, or one that has failed.
//
// build adds the steps. It runs once, before start returns, even if the collective is
// persistent and starts many times: it must not look at operands, only steps and prepare may.
func (x *collective) start(c *Comm, op string, build func(g coll.Graph)) *Request {
	how := formOf(op)
	if how == persistent {
		return x.persistent(c, op, build)
	}
	c.lookAround()
	g := newGraph(c.everyone().comm)
	g.called = c.comm.count(op)
	g.mark(c, op, g.called.mark)
	var broken error
	if x.prepare != nil {
		broken = x.prepare()
	}
	if how == blocking && c.ctx == nil && broken == nil && !c.job.checks { // what a context may end is the engine's
		g.direct.begin(c.job.mover)
	}
	if g.direct.on && x.recipe.hasOne && g.byRecipe(x, &c.recipes) {
		g.direct.end()
		g.release()
		return x.over(c, op)
	}
	g.open()
	g.s.Op, g.s.Foreign, g.s.Broken = op, x.foreign, broken
	if c.job.checks {
		g.agree(c, op)
	}
	build(g)
	if g.endDirect() {
		if g.cook.writes {
			c.recipes.keep(&g.cook.recipe)
		}
		g.cook.clear()
		g.release()
		return x.over(c, op)
	}
	g.cook.clear()
	if how == blocking {
		return x.run(c, op, g)
	}
	return x.post(c, op, g)
}

// lookAround makes progress for others in a collective of this rank alone, which waits for nothing:
// a program may spin in such.
func (c *Comm) lookAround() {
	if len(c.peers) == 1 && !c.isInter() {
		c.job.engine.Poll()
	}
}

// over is the request of a blocking collective that has succeeded: nil, unless its results cannot
// be delivered.
func (x *collective) over(c *Comm, op string) *Request {
	if err := x.delivered(op); err != nil {
		return failedRequest(c, err)
	}
	return nil
}

// run has the engine run the schedule of g, and waits for it.
func (x *collective) run(c *Comm, op string, g *graph) *Request {
	m := &g.s.MSO
	c.job.engine.StartSchedule(g.s, engine.Waits)
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
func (x *collective) post(c *Comm, op string, g *graph) *Request {
	r := newRequest(c, op)
	r.m = &g.s.MSO
	r.held = true
	y := *x // x stays with the caller
	r.more().finish = func(r *Request) (Status, *Error) {
		err := y.result(c, op, r.m)
		if err != nil {
			err.begunAt(g.s.Origin[:])
		}
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
	if x.sent != nil {
		x.sent.begin()
		r.rare.sent = x.sent
	}
	callsite.Note(g.s.Origin[:])
	c.job.engine.StartSchedule(g.s, engine.Computes)
	return r
}

// result delivers what the schedule of m, which is done, has brought.
func (x *collective) result(c *Comm, op string, m *engine.MSO) *Error {
	if m.Err != nil {
		return c.collError(op, m.Err)
	}
	return x.delivered(op)
}

// delivered delivers the results of a success.
func (x *collective) delivered(op string) *Error {
	if x.deliver != nil {
		if err := x.deliver(); err != nil {
			return opError(classOr(err, ErrOther), op, err)
		}
	}
	return nil
}

// collError translates the failure of a step.
func (c *Comm) collError(op string, err error) *Error {
	c.job.collFailed.Store(true)
	e := c.engineError(op, err, -1, 0, 0)
	if e.Class == ErrTruncate {
		e.Cause = &unequalError{cause: e.Cause}
	}
	if m, ok := errors.AsType[*markError](err); ok {
		rank, name := c.memberOf(m.from)
		return opErrorf(ClassOf(m), op, "%s", m.text(name)).with(rank)
	}
	if m, ok := errors.AsType[*engine.PartError](err); ok {
		rank, name := c.memberOf(m.From)
		return opErrorf(classOfPart(m.Reason), op, "%s has found an error in its part and has nothing to send: its own error says what is wrong", name).with(rank)
	}
	if e.Class == ErrOther {
		return opError(classOr(err, ErrOther), op, e.Cause)
	}
	return e
}

// partClasses are the classes of errors of which a rank tells those that wait for its part of a
// collective, in the order of the marks from engine.PartFailed on. They are part of the protocol.
var partClasses = [...]ErrorClass{ErrOther, ErrTruncate, ErrCount, ErrType, ErrOp, ErrBuffer, ErrArg}

// reasonOf is the mark for err, which a step of a collective has found.
func reasonOf(err error) uint8 {
	class := ClassOf(err)
	if p, ok := errors.AsType[*engine.PartError](err); ok {
		return p.Reason
	}
	if _, ok := errors.AsType[*engine.TruncateError](err); ok {
		class = ErrTruncate
	}
	if _, ok := errors.AsType[*forbiddenCallError](err); ok {
		class = ErrOp
	}
	return engine.PartFailed + uint8(max(slices.Index(partClasses[:], class), 0))
}

// classOfPart is the class of error that a mark stands for.
func classOfPart(reason uint8) ErrorClass {
	if i := int(reason) - engine.PartFailed; i < len(partClasses) {
		return partClasses[i]
	}
	return ErrOther
}

// memberOf is the rank of a peer that takes part in collectives of c, and that in words.
func (c *Comm) memberOf(id engine.PeerID) (rank int, name string) {
	rank, name = c.rankOf(id), "rank"
	switch {
	case c.isInter() && rank < 0:
		rank = c.inner.rankOf(id)
	case c.isInter():
		name = "remote rank"
	}
	return rank, fmt.Sprint(name, " ", rank)
}

// unequalError explains a truncation inside a collective.
type unequalError struct{ cause error }

func (e *unequalError) Error() string {
	return "the ranks gave buffers of different lengths, or roots: " + e.cause.Error() + ": " + checkHint
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
	c.noteCall(op, root)
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

// checkApart says what is wrong if block and all, buffers without layouts, share memory and block
// does not begin where its place in all is, at elements from the beginning: results would arrive
// where operands are still to be read. place says in words where it may be.
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
	if r == nil {
		return nil // as of a blocking collective
	}
	_, err := r.wait()
	return err
}

// The persistent form of a collective is its name with Init behind it
// (MPI 4.1, section 6.13). All of them work alike:
//
//   - Making the request is a collective operation as far as its order goes: all ranks
//     make their persistent collectives of one communicator in the same order. No rank
//     waits for another to make one.
//   - The request is inactive at first. Start and StartAll start a round of it, which
//     all ranks must start, Wait, Test and their like complete it. Rounds of different
//     requests may be started in any order, which need not be the same everywhere, and
//     beside any other collectives.
//   - The operands are the slices given when the request was made, with what they hold
//     when a round starts. Until it is complete they belong to the library. Counts,
//     displacements and the operation must not change as long as the request is used.
//   - A round that fails while messages move leaves the communicator unusable for
//     collectives, as any other would, and the request cannot be started again.
//
// The schedule of a persistent collective is built once and keeps its memory, so that
// a round over plain memory allocates nothing.

// persistent makes x a persistent request: it builds the schedule that every Start runs.
func (x *collective) persistent(c *Comm, op string, build func(g coll.Graph)) *Request {
	y := *x // x stays with the caller
	g := newPersistentGraph(c.everyone().comm)
	g.mark(c, op, markOf(blockingForm(op)))
	g.open()
	g.s.Op, g.s.Foreign = op, x.foreign
	if c.job.checks {
		g.agree(c, op)
	}
	build(g)
	r := newRequest(c, op)
	r.delivered, r.held = true, true
	callsite.Note(g.s.Origin[:])
	var broken error // what ended a round while its steps may have been with the engine
	r.more().finish = func(r *Request) (Status, *Error) {
		broken = r.m.Err
		g.called.end(r.m)
		return emptyStatus(), y.result(c, op, r.m)
	}
	r.more().start = func() *Error {
		if broken != nil {
			return opErrorf(ErrRequest, op, "an earlier round failed (%w): the ranks no longer agree where they are, "+
				"make a communicator and requests anew", broken)
		}
		if y.prepare != nil {
			g.s.Broken = y.prepare()
		}
		if by := r.rare.checked; by != nil && y.sent != nil {
			y.sent.begin()
			by.sent = y.sent
		}
		r.m = &g.s.MSO
		r.m.Reset()
		g.called = c.comm.count(op)
		c.job.engine.StartSchedule(g.s, engine.Computes)
		c.lookAround()
		return nil
	}
	return r
}
