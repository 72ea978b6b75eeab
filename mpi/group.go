//go:build linux

package mpi

import (
	"fmt"

	"github.com/fitmpi/fitmpi/engine"
)

// Group is an ordered set of ranks of a job, each with a number in the group, its rank
// (MPI 4.1, section 7.2.1). It is immutable: goroutines of the rank that made it may
// share it, and it needs no freeing. Operations on groups are local. Their errors go to the
// error handler of Self, as MPI 4.1, section 9.3 says.
type Group struct {
	// Immutable.
	job     *job            // of the rank that made it; nil in GroupEmpty
	members []engine.PeerID // in the order of their ranks
	ranks   ranking         // of members
}

// GroupEmpty is the group without members (MPI 4.1, section 7.2.1, MPI_GROUP_EMPTY).
var GroupEmpty = &Group{}

// Group returns the group of c; of an intercommunicator the local one
// (MPI 4.1, section 7.3.2, MPI_Comm_group).
func (c *Comm) Group() *Group {
	if c.IsInter() {
		return &Group{job: c.job, members: c.group, ranks: c.inner.ranks}
	}
	return &Group{job: c.job, members: c.group, ranks: c.ranks}
}

// Size is the number of ranks in g (MPI 4.1, section 7.3.1).
func (g *Group) Size() int { return len(g.members) }

// Rank is the number of the calling rank in g; Undefined if it is no member
// (MPI 4.1, section 7.3.1).
func (g *Group) Rank() int {
	if g.job != nil {
		if r := g.ranks.of(engine.PeerID(g.job.engine.Rank())); r >= 0 {
			return r
		}
	}
	return Undefined
}

// String describes g for logs.
func (g *Group) String() string { return fmt.Sprintf("group of world ranks %v", g.members) }
