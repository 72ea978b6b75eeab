//go:build linux

package mpi

import (
	"strings"

	"github.com/fitmpi/fitmpi/internal/callsite"
	"github.com/fitmpi/fitmpi/mpi/internal/coll"
)

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

// isPersistent reports whether op makes a persistent request: by its name, as for isBlocking.
func isPersistent(op string) bool { return strings.HasSuffix(op, "Init") }

// persistent makes x a persistent request: it builds the schedule that every Start runs.
func (x collective) persistent(c *Comm, op string, build func(g coll.Graph)) *Request {
	g := newPersistentGraph(c.everyone().comm)
	g.s.Op, g.s.Foreign = op, x.foreign
	g.mark(c, op, markOf(blockingForm(op)))
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
		return emptyStatus(), x.result(c, op, r.m)
	}
	r.more().start = func() *Error {
		if broken != nil {
			return opErrorf(ErrRequest, op, "an earlier round failed (%w): the ranks no longer agree where they are, "+
				"make a communicator and requests anew", broken)
		}
		if x.prepare != nil {
			if err := x.prepare(); err != nil {
				return opError(ClassOf(err), op, err)
			}
		}
		if by := r.rare.checked; by != nil && x.sent != nil {
			x.sent.begin()
			by.sent = x.sent
		}
		r.m = &g.s.MSO
		r.m.Reset()
		g.called = c.comm.count(op)
		c.job.engine.StartSchedule(g.s)
		return nil
	}
	return r
}
