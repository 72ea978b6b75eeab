//go:build linux

package mpi

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fitmpi/fitmpi/engine"
)

// derive makes a communicator that inherits c's error handler and context.Context.
func (c *Comm) derive(name string, rank int, peers []engine.PeerID, id engine.ContextID) *Comm {
	n := newComm(c.job, c.scope, name, rank, peers, id)
	n.errh.Store(c.errh.Load())
	n.ctx = c.ctx
	return n
}

// everyone is the communicator of all ranks that take part in collective operations on c:
// c itself, or both groups of an intercommunicator. Operations on it fail as those on c.
func (c *Comm) everyone() *Comm {
	if !c.IsInter() {
		return c
	}
	return &Comm{comm: c.both.comm, ctx: c.ctx, untold: c.untold}
}

// gatherEntries tells all ranks of c, of both groups in an intercommunicator, what each says.
func gatherEntries[T any](c *Comm, op string, mine T) ([]T, error) {
	a := c.everyone()
	all := make([]T, a.Size())
	if err := done(iallgather(a, op, []T{mine}, all)); err != nil {
		return nil, err
	}
	return all, nil
}

// splitEntry is what each rank tells the others in a Split.
type splitEntry struct {
	Color, Key int64
	Context    uint64
}

// Split makes one communicator for each color: its ranks are those that gave
// that color, in the order of key, and of their rank in c for equal keys. A rank
// whose color is Undefined gets nil.
//
// Of an intercommunicator it makes intercommunicators: each has the ranks of a color in either
// group. A rank gets nil if no rank of the other group gave its color. Collective, in both groups
// of an intercommunicator (MPI 4.1, section 7.4.2).
func (c *Comm) Split(color, key int) (made *Comm, outcome error) {
	defer c.begin("Split").endMade(&made, &outcome)
	const op = "Split"
	if err := c.usable(op); err != nil {
		return nil, c.fail(err)
	}
	if color < 0 && color != Undefined {
		return nil, c.fail(opErrorf(ErrArg, op, "color %d: need 0 or more, or Undefined", color))
	}
	return c.split(op, fmt.Sprintf("%s/%d", c.Name(), color), color, key)
}

// split is Split of checked arguments into communicators that get the name.
func (c *Comm) split(op, name string, color, key int) (*Comm, error) {
	all, err := gatherEntries(c, op, splitEntry{int64(color), int64(key), uint64(c.job.leadContext())})
	if err != nil || color == Undefined {
		return nil, err
	}
	if c.IsInter() {
		return c.splitInter(name, all, int64(color)), nil
	}
	members := membersOf(all, int64(color))
	id := engine.ContextID(all[members[0]].Context)
	return c.derive(name, slices.Index(members, c.rank), pick(c.group, members), id), nil
}

// membersOf returns the ranks of a color in their new order.
func membersOf(all []splitEntry, color int64) []int {
	var members []int
	for r, e := range all {
		if e.Color == color {
			members = append(members, r)
		}
	}
	slices.SortStableFunc(members, func(a, b int) int { return cmp.Compare(all[a].Key, all[b].Key) })
	return members
}

// pick returns the peers with the given ranks.
func pick(peers []engine.PeerID, ranks []int) []engine.PeerID {
	picked := make([]engine.PeerID, len(ranks))
	for i, r := range ranks {
		picked[i] = peers[r]
	}
	return picked
}

// World is the communicator of all ranks of the job that c belongs to: what Main gave (MPI 4.1,
// section 7.2.4, MPI_COMM_WORLD). In a program that has sessions only, and calls neither Init nor
// Main, its operations fail (ErrComm), and so do those of Self.
func (c *Comm) World() *Comm { return c.job.world }

// Self is the communicator of the calling rank alone.
func (c *Comm) Self() *Comm { return c.job.self }
