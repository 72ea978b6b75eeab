//go:build linux

package mpi

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fitmpi/fitmpi/engine"
)

// Dup makes a communicator of the same ranks with a context of its own, so that
// a library's messages never meet its user's. Collective (MPI 4.1, section 7.4.2).
func (c *Comm) Dup() (*Comm, error) {
	id := []uint64{uint64(c.leadContext())}
	if err := done(ibcast(c, "Dup", id, 0)); err != nil {
		return nil, err
	}
	return c.derive(c.name+"+dup", c.rank, c.peers, engine.ContextID(id[0])), nil
}

// leadContext returns a context that no other communicator of the job has or
// will have: its name is this rank's world number and a counter.
func (c *Comm) leadContext() engine.ContextID {
	if c == nil || c.comm == nil {
		return 0
	}
	j := c.job
	return contextID(j.engine.Rank(), int(j.nextContext.Add(1)-1))
}

// derive makes a communicator that inherits c's error handler and context.Context.
func (c *Comm) derive(name string, rank int, peers []engine.PeerID, id engine.ContextID) *Comm {
	n := newComm(c.job, name, rank, peers, id)
	n.errh.Store(c.errh.Load())
	n.ctx = c.ctx
	return n
}

// splitEntry is what each rank tells the others in a Split.
type splitEntry struct {
	Color, Key int64
	Context    uint64
}

// Split makes one communicator for each color: its ranks are those that gave
// that color, in the order of key, and of their rank in c for equal keys. A rank
// whose color is Undefined gets nil. Collective (MPI 4.1, section 7.4.2).
func (c *Comm) Split(color, key int) (*Comm, error) {
	const op = "Split"
	if err := c.usable(op); err != nil {
		return nil, c.fail(err)
	}
	if color < 0 && color != Undefined {
		return nil, c.fail(opErrorf(ErrArg, op, "color %d: need 0 or more, or Undefined", color))
	}
	all := make([]splitEntry, c.Size())
	mine := []splitEntry{{int64(color), int64(key), uint64(c.leadContext())}}
	if err := done(iallgather(c, op, mine, all)); err != nil || color == Undefined {
		return nil, err
	}
	members := groupOf(all, int64(color))
	peers := make([]engine.PeerID, len(members))
	for i, r := range members {
		peers[i] = c.peers[r]
	}
	id := engine.ContextID(all[members[0]].Context)
	return c.derive(fmt.Sprintf("%s/%d", c.name, color), slices.Index(members, c.rank), peers, id), nil
}

// groupOf returns the ranks of a color in their new order.
func groupOf(all []splitEntry, color int64) []int {
	var members []int
	for r, e := range all {
		if e.Color == color {
			members = append(members, r)
		}
	}
	slices.SortStableFunc(members, func(a, b int) int { return cmp.Compare(all[a].Key, all[b].Key) })
	return members
}

// World is the communicator of all ranks of the job that c belongs to.
func (c *Comm) World() *Comm { return c.job.world }

// Self is the communicator of the calling rank alone.
func (c *Comm) Self() *Comm { return c.job.self }
