package calls

import (
	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
	"github.com/fitmpi/fitmpi/mpi"
)

// group is a group of C.
type group struct{ *mpi.Group }

func init() {
	groups.predefine(abi.GroupEmpty, &group{mpi.GroupEmpty})
	register(procedure.GroupSize, func(c *call) error { c.setInt(1, c.group(0).Size()); return nil })
	register(procedure.GroupRank, func(c *call) error {
		r := c.group(0).Rank()
		if r == mpi.Undefined {
			r = abi.Undefined
		}
		c.setInt(1, r)
		return nil
	})
	register(procedure.GroupTranslateRanks, groupTranslate)
	register(procedure.GroupCompare, groupCompare)
	register(procedure.CommGroup, func(c *call) error { return c.giveGroup(1, c.comm(0).Group(), nil) })
	register(procedure.CommRemoteGroup, func(c *call) error {
		m := c.comm(0)
		if !m.IsInter() {
			return failf(abi.ErrComm, "the communicator is no intercommunicator")
		}
		return c.giveGroup(1, m.RemoteGroup(), nil)
	})
	two := func(f func(a, b *mpi.Group) (*mpi.Group, error)) handler {
		return func(c *call) error {
			g, err := f(c.group(0).Group, c.group(1).Group)
			return c.giveGroup(2, g, err)
		}
	}
	register(procedure.GroupUnion, two((*mpi.Group).Union))
	register(procedure.GroupIntersection, two((*mpi.Group).Intersection))
	register(procedure.GroupDifference, two((*mpi.Group).Difference))
	ranks := func(f func(*mpi.Group, ...int) (*mpi.Group, error)) handler {
		return func(c *call) error {
			n := c.int(1)
			if n < 0 {
				return failf(abi.ErrArg, "the number of ranks is %d: need 0 or more", n)
			}
			g, err := f(c.group(0).Group, c.shorts(2, n)...)
			return c.giveGroup(3, g, err)
		}
	}
	register(procedure.GroupIncl, ranks((*mpi.Group).Incl))
	register(procedure.GroupExcl, ranks((*mpi.Group).Excl))
	ranges := func(f func(*mpi.Group, ...mpi.Range) (*mpi.Group, error)) handler {
		return func(c *call) error {
			g, err := f(c.group(0).Group, c.ranges(2, c.int(1))...)
			return c.giveGroup(3, g, err)
		}
	}
	register(procedure.GroupRangeIncl, ranges((*mpi.Group).RangeIncl))
	register(procedure.GroupRangeExcl, ranges((*mpi.Group).RangeExcl))
	register(procedure.GroupFree, groupFree)
}

func (c *call) ranges(i, n int) []mpi.Range {
	if n < 0 {
		panic(failf(abi.ErrArg, "the number of ranges is %d: need 0 or more", n))
	}
	all := c.shorts(i, 3*n)
	list := make([]mpi.Range, n)
	for k := range list {
		list[k] = mpi.Range{First: all[3*k], Last: all[3*k+1], Stride: all[3*k+2]}
	}
	return list
}

// giveGroup writes the handle of a group. Empty ones are the predefined one.
func (c *call) giveGroup(i int, g *mpi.Group, err error) error {
	if err != nil {
		return err
	}
	if g.Size() == 0 {
		c.setHandle(i, abi.GroupEmpty)
		return nil
	}
	c.setHandle(i, groups.add(&group{g}))
	return nil
}

func groupTranslate(c *call) error {
	n := c.int(1)
	if n < 0 {
		return failf(abi.ErrArg, "the number of ranks is %d: need 0 or more", n)
	}
	g, h := c.group(0), c.group(3)
	out, err := g.TranslateRanks(c.shorts(2, n), h.Group)
	if err != nil {
		return err
	}
	for i, r := range out {
		if r == mpi.Undefined {
			out[i] = abi.Undefined
		}
	}
	c.setInts(4, out)
	return nil
}

func groupCompare(c *call) error {
	how, err := c.group(0).Compare(c.group(1).Group)
	if err == nil {
		c.setInt(2, comparisons[how])
	}
	return err
}

func groupFree(c *call) error {
	p := at[handle](c.need(0))
	groups.get(*p)
	groups.remove(*p)
	*p = abi.GroupNull
	return nil
}
