//go:build linux

package mpi

import "github.com/fitmpi/fitmpi/engine"

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
