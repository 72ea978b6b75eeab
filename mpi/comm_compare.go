package mpi

import (
	"slices"
	"strconv"

	"github.com/fitmpi/fitmpi/engine"
)

// Comparison is how two groups or two communicators compare (MPI 4.1, sections 7.3.1 and 7.4.1).
type Comparison int

const (
	Ident     Comparison = iota // groups: the same ranks in the same order; communicators: the same one
	Congruent                   // communicators: the same ranks in the same order, different contexts
	Similar                     // the same ranks in another order
	Unequal                     // different ranks
)

// String returns the name of the comparison.
func (c Comparison) String() string {
	switch c {
	case Ident:
		return "identical"
	case Congruent:
		return "congruent"
	case Similar:
		return "similar"
	case Unequal:
		return "unequal"
	default:
		return "Comparison(" + strconv.Itoa(int(c)) + ")"
	}
}

// comparePeers compares two lists of different peers: Ident, Similar or Unequal.
//
// Preconditions:
//   - in is the ranking of b.
func comparePeers(a, b []engine.PeerID, in *ranking) Comparison {
	switch {
	case slices.Equal(a, b):
		return Ident
	case len(a) != len(b):
		return Unequal
	}
	for _, p := range a {
		if in.of(p) < 0 {
			return Unequal
		}
	}
	return Similar
}

// Compare compares g with h: Ident if they have the same members in the same order, Similar
// if in another order, else Unequal. A nil group, or one of another rank's job, is an error
// of class ErrGroup. It is local (MPI 4.1, section 7.3.1, MPI_Group_compare).
func (g *Group) Compare(h *Group) (Comparison, error) {
	if err := g.usableWith("Compare", h); err != nil {
		return Unequal, g.fail(err)
	}
	return comparePeers(g.members, h.members, &h.ranks), nil
}

// Compare compares c with d: Ident if they are one communicator, Congruent if they have
// the same ranks in the same order, Similar if in another order, else Unequal. Of
// intercommunicators both groups are compared; one is never equal to an intracommunicator.
// What WithContext returns is the same communicator. A nil or freed one is an error of
// class ErrComm. It is local (MPI 4.1, sections 7.4.1 and 7.6.1, MPI_Comm_compare).
func (c *Comm) Compare(d *Comm) (how Comparison, err error) {
	defer c.begin("Compare").endAt(&err)
	const op = "Compare"
	if err := c.present(op); err != nil {
		return Unequal, c.fail(err)
	}
	if err := d.present(op); err != nil {
		return Unequal, c.fail(opErrorf(err.Class, op, "the other communicator: %w", err.Cause))
	}
	if c.comm == d.comm {
		return Ident, nil
	}
	if c.IsInter() != d.IsInter() || c.job != d.job {
		return Unequal, nil
	}
	// Intracommunicators compare their one group twice.
	local := comparePeers(c.group, d.group, d.localRanks())
	remote := comparePeers(c.peers, d.peers, &d.ranks)
	return max(local, remote, Congruent), nil
}

// localRanks is the ranking of the local group.
func (c *Comm) localRanks() *ranking {
	if c.IsInter() {
		return &c.inner.ranks
	}
	return &c.ranks
}
