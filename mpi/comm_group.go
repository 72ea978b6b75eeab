package mpi

import (
	"fmt"

	"github.com/fitmpi/fitmpi/engine"
)

// Group is an ordered set of ranks of a job, each with a number in the group, its rank (MPI 4.1,
// section 7.2.1). It is immutable, so it needs no freeing, and goroutines of the rank that made it
// may share it. Operations on groups are local and do not block; their errors go to the error
// handler of Self, or of the session that the group comes from, as MPI 4.1, section 9.3 says.
// Groups of different sessions must not be mixed, nor one of a session and one that comes from the
// world (ErrGroup).
type Group struct {
	// Immutable.
	job     *job            // of the rank that made it; nil in GroupEmpty
	scope   *scope          // nil in GroupEmpty
	members []engine.PeerID // in the order of their ranks
	ranks   ranking         // of members
}

// GroupEmpty is the group without members (MPI 4.1, section 7.2.1, MPI_GROUP_EMPTY).
var GroupEmpty = &Group{}

func newGroup(j *job, from *scope, members []engine.PeerID) *Group {
	return &Group{job: j, scope: from, members: members, ranks: rankingOf(members)}
}

// Group returns the group of c; of an intercommunicator the local one
// (MPI 4.1, section 7.3.2, MPI_Comm_group).
func (c *Comm) Group() *Group {
	return &Group{job: c.job, scope: c.scope, members: c.group, ranks: *c.localRanks()}
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

// TranslateRanks returns for each of ranks, which are ranks in g, the rank that the same
// process has in h, Undefined if it has none. ProcNull stands for itself. A number that is
// no rank in g is an error of class ErrRank (MPI 4.1, section 7.3.1).
func (g *Group) TranslateRanks(ranks []int, h *Group) ([]int, error) {
	const op = "TranslateRanks"
	if err := g.usableWith(op, h); err != nil {
		return nil, g.fail(err)
	}
	out := make([]int, len(ranks))
	for i, r := range ranks {
		if r == ProcNull {
			out[i] = ProcNull
			continue
		}
		if err := g.checkRank(op, r); err != nil {
			return nil, g.fail(err)
		}
		if out[i] = h.ranks.of(g.members[r]); out[i] < 0 {
			out[i] = Undefined
		}
	}
	return out, nil
}

// Union returns the members of g, in their order, and then those of h that are not in g,
// in theirs. A nil group is an error of class ErrGroup (MPI 4.1, section 7.3.2).
func (g *Group) Union(h *Group) (*Group, error) {
	return g.combine("Union", h, func() []engine.PeerID {
		members := g.members[:len(g.members):len(g.members)]
		return append(members, without(h.members, &g.ranks)...)
	})
}

// Intersection returns the members of g that are in h too, in the order of g. A nil group
// is an error of class ErrGroup (MPI 4.1, section 7.3.2).
func (g *Group) Intersection(h *Group) (*Group, error) {
	return g.combine("Intersection", h, func() (members []engine.PeerID) {
		for _, p := range g.members {
			if h.ranks.of(p) >= 0 {
				members = append(members, p)
			}
		}
		return members
	})
}

// Difference returns the members of g that are not in h, in the order of g. A nil group is
// an error of class ErrGroup (MPI 4.1, section 7.3.2).
func (g *Group) Difference(h *Group) (*Group, error) {
	return g.combine("Difference", h, func() []engine.PeerID { return without(g.members, &h.ranks) })
}

// combine makes a group of g and h.
func (g *Group) combine(op string, h *Group, members func() []engine.PeerID) (*Group, error) {
	if err := g.usableWith(op, h); err != nil {
		return nil, g.fail(err)
	}
	whose := g
	if g.job == nil {
		whose = h
	}
	return newGroup(whose.job, whose.scope, members()), nil
}

// without returns those of members that are not in others, in their order.
func without(members []engine.PeerID, others *ranking) (left []engine.PeerID) {
	for _, p := range members {
		if others.of(p) < 0 {
			left = append(left, p)
		}
	}
	return left
}

// usable says why g cannot be used.
func (g *Group) usable(op string) *Error {
	if g == nil {
		return opErrorf(ErrGroup, op, "the group is nil: take one that Comm.Group gives, or GroupEmpty")
	}
	if g.scope != nil && g.scope.session != nil {
		return g.scope.closed(op)
	}
	return nil
}

// usableWith is usable by an operation with a second group.
func (g *Group) usableWith(op string, h *Group) *Error {
	if err := g.usable(op); err != nil {
		return err
	}
	if err := h.usable(op); err != nil {
		return err
	}
	if g.job != nil && h.job != nil && g.job != h.job {
		return opErrorf(ErrGroup, op, "%s and %s belong to different ranks of this process: a group is of use to the rank that made it", g, h)
	}
	if g.scope != nil && h.scope != nil {
		return g.scope.mixes(ErrGroup, op, h.scope)
	}
	return nil
}

// fail gives err to the error handler of the session that g comes from, else to that of Self, if g
// belongs to a job.
func (g *Group) fail(err *Error) error {
	if g == nil || g.job == nil {
		return err
	}
	if s := g.scope.session; s != nil {
		return s.fail(err)
	}
	return g.job.self.fail(err)
}

func (g *Group) checkRank(op string, r int) *Error {
	if r >= 0 && r < len(g.members) {
		return nil
	}
	if len(g.members) == 0 {
		return opErrorf(ErrRank, op, "rank %d: the group is empty", r)
	}
	return opErrorf(ErrRank, op, "rank %d: need 0 to %d, the ranks of the group", r, len(g.members)-1)
}

// Incl returns the group of the given ranks of g, in the order in which they are given. A
// number that is no rank in g, or that is given twice, is an error of class ErrRank
// (MPI 4.1, section 7.3.2).
func (g *Group) Incl(ranks ...int) (*Group, error) { return g.choose("Incl", ranks, true) }

// Excl returns the group of all ranks of g but the given ones, in the order of g. A number
// that is no rank in g, or that is given twice, is an error of class ErrRank
// (MPI 4.1, section 7.3.2).
func (g *Group) Excl(ranks ...int) (*Group, error) { return g.choose("Excl", ranks, false) }

// Range stands for the ranks First, First+Stride, First+2*Stride and so on up to Last, or
// down to it if Stride is negative. Last itself need not be met
// (MPI 4.1, section 7.3.2).
type Range struct{ First, Last, Stride int }

// RangeIncl is Incl of the ranks that ranges stand for, one range after the other. A
// Stride of 0, or one that leads away from Last, is an error of class ErrArg; a rank that
// is none, or is met twice, one of class ErrRank (MPI 4.1, section 7.3.2).
func (g *Group) RangeIncl(ranges ...Range) (*Group, error) {
	return g.chooseRanges("RangeIncl", ranges, true)
}

// RangeExcl is Excl of the ranks that ranges stand for, with the errors of RangeIncl
// (MPI 4.1, section 7.3.2).
func (g *Group) RangeExcl(ranges ...Range) (*Group, error) {
	return g.chooseRanges("RangeExcl", ranges, false)
}

func (g *Group) chooseRanges(op string, ranges []Range, include bool) (*Group, error) {
	if err := g.usable(op); err != nil {
		return nil, g.fail(err)
	}
	var ranks []int
	for i, r := range ranges {
		var err *Error
		if ranks, err = g.appendRange(op, ranks, i, r); err != nil {
			return nil, g.fail(err)
		}
	}
	return g.choose(op, ranks, include)
}

// appendRange appends the ranks of the i-th range. It stops at the first that is none, so
// that a range takes no more memory than g.
func (g *Group) appendRange(op string, ranks []int, i int, r Range) ([]int, *Error) {
	if r.Stride == 0 || r.Stride > 0 && r.First > r.Last || r.Stride < 0 && r.First < r.Last {
		return nil, opErrorf(ErrArg, op, "range %d from %d to %d with stride %d: need a stride that leads from the first to the last", i, r.First, r.Last, r.Stride)
	}
	distance, stride := uint(r.Last)-uint(r.First), uint(r.Stride)
	if r.Stride < 0 {
		distance, stride = -distance, -stride
	}
	at := r.First
	for range distance/stride + 1 {
		if err := g.checkRank(op, at); err != nil {
			return nil, err
		}
		ranks = append(ranks, at)
		at += r.Stride
	}
	return ranks, nil
}

// choose returns the group of the given ranks, in their order, or of all others, in g's.
func (g *Group) choose(op string, ranks []int, include bool) (*Group, error) {
	if err := g.usable(op); err != nil {
		return nil, g.fail(err)
	}
	given := make([]bool, len(g.members))
	for _, r := range ranks {
		if err := g.checkRank(op, r); err != nil {
			return nil, g.fail(err)
		}
		if given[r] {
			return nil, g.fail(opErrorf(ErrRank, op, "rank %d is given twice", r))
		}
		given[r] = true
	}
	if include {
		return newGroup(g.job, g.scope, pick(g.members, ranks)), nil
	}
	var members []engine.PeerID
	for r, p := range g.members {
		if !given[r] {
			members = append(members, p)
		}
	}
	return newGroup(g.job, g.scope, members), nil
}
