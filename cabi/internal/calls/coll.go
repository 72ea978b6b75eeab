package calls

import (
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
	"github.com/fitmpi/fitmpi/mpi"
)

// form is how a call relates to the collective that it is of.
type form int

const (
	blocking form = iota
	nonblocking
	persistent
)

// collective registers the three forms of a collective. Behind its arguments, of which there are
// so many, the nonblocking form has a request, and the persistent one an info object before that.
func collective(ids [3]procedure.ID, args int, h func(c *call, f form) (*mpi.Request, error)) {
	for f, id := range ids {
		register(id, func(c *call) error {
			r, err := h(c, form(f))
			switch {
			case err != nil:
				return err
			case form(f) == nonblocking:
				return c.startedAs(args, request{r: r, on: c.on, collective: true})
			case form(f) == persistent:
				c.infoOr(args)
				return c.made(args+1, r, true)
			}
			return nil
		})
	}
}

func init() {
	collective([3]procedure.ID{procedure.Barrier, procedure.Ibarrier, procedure.BarrierInit}, 1, barrier)
	collective([3]procedure.ID{procedure.Bcast, procedure.Ibcast, procedure.BcastInit}, 5, bcast)
	collective([3]procedure.ID{procedure.Gather, procedure.Igather, procedure.GatherInit}, 8, gather)
	collective([3]procedure.ID{procedure.Gatherv, procedure.Igatherv, procedure.GathervInit}, 9, gatherv)
	collective([3]procedure.ID{procedure.Scatter, procedure.Iscatter, procedure.ScatterInit}, 8, scatter)
	collective([3]procedure.ID{procedure.Scatterv, procedure.Iscatterv, procedure.ScattervInit}, 9, scatterv)
	collective([3]procedure.ID{procedure.Allgather, procedure.Iallgather, procedure.AllgatherInit}, 7, allgather)
	collective([3]procedure.ID{procedure.Allgatherv, procedure.Iallgatherv, procedure.AllgathervInit}, 8, allgatherv)
	collective([3]procedure.ID{procedure.Alltoall, procedure.Ialltoall, procedure.AlltoallInit}, 7, alltoall)
	collective([3]procedure.ID{procedure.Alltoallv, procedure.Ialltoallv, procedure.AlltoallvInit}, 9, alltoallv)
	collective([3]procedure.ID{procedure.Alltoallw, procedure.Ialltoallw, procedure.AlltoallwInit}, 9, alltoallw)
}

func barrier(c *call, f form) (*mpi.Request, error) {
	m := c.comm(0)
	switch f {
	case nonblocking:
		return mpi.Ibarrier(m.Comm), nil
	case persistent:
		return mpi.BarrierInit(m.Comm), nil
	}
	return nil, mpi.Barrier(m.Comm)
}

func bcast(c *call, f form) (*mpi.Request, error) {
	m, root := c.comm(4), c.int(3)
	var x operand
	if !m.IsInter() || root != mpi.ProcNull {
		x = c.whole(c.args[0], c.count(1), c.datatype(2))
	}
	on := m.WithType(x.t)
	switch f {
	case nonblocking:
		return mpi.Ibcast(on, x.b, root), nil
	case persistent:
		return mpi.BcastInit(on, x.b, root), nil
	}
	return nil, mpi.Bcast(on, x.b, root)
}

// own is this rank's block of blocks, each of count values of d, at an address.
func (c *call) own(m *comm, addr int64, count int, d *datatype) operand {
	return c.whole(c.ownAt(m, addr, count, d), count, d)
}

// ownAt is where that block is.
func (c *call) ownAt(m *comm, addr int64, count int, d *datatype) int64 {
	return addr + int64(m.Rank()*count*d.extent)
}

// ownDispl is where this rank's block is, at displacements in extents of d. Between two groups
// there is none.
func (c *call) ownDispl(m *comm, addr int64, displs []int, d *datatype) int64 {
	if m.IsInter() {
		return addr
	}
	return addr + int64(displs[m.Rank()]*d.extent)
}

func gather(c *call, f form) (*mpi.Request, error) {
	m, root := c.comm(7), c.int(6)
	var in, out operand
	if m.isRoot(root) {
		d := c.datatype(5)
		c.apart(m, 0, 3, c.int(1) > 0, c.ownAt(m, c.args[3], c.count(4), d))
		out = c.blocks(c.args[3], c.count(4), d, m.peers())
		if c.inPlace(0) {
			in = c.own(m, c.args[3], c.count(4), d)
		}
	}
	if !c.inPlace(0) && (!m.IsInter() || root >= 0) {
		in = c.whole(c.args[0], c.count(1), c.datatype(2))
	}
	on := m.WithTypes(in.t, out.t)
	switch f {
	case nonblocking:
		return mpi.Igather(on, in.b, out.b, root), nil
	case persistent:
		return mpi.GatherInit(on, in.b, out.b, root), nil
	}
	return nil, mpi.Gather(on, in.b, out.b, root)
}

func gatherv(c *call, f form) (*mpi.Request, error) {
	m, root := c.comm(8), c.int(7)
	var in operand
	var out varied
	if m.isRoot(root) {
		d := c.datatype(6)
		counts, displs := c.ints(4, m.peers()), c.displs(5, m.peers())
		c.apart(m, 0, 3, c.int(1) > 0, c.ownDispl(m, c.args[3], displs, d))
		out = c.varied(c.args[3], counts, displs, d)
		if c.inPlace(0) {
			in = c.whole(c.ownDispl(m, c.args[3], displs, d), counts[m.Rank()], d)
		}
	}
	if !c.inPlace(0) && (!m.IsInter() || root >= 0) {
		in = c.whole(c.args[0], c.count(1), c.datatype(2))
	}
	on := m.WithTypes(in.t, out.t)
	switch f {
	case nonblocking:
		return mpi.Igatherv(on, in.b, out.b, out.counts, out.displs, root), nil
	case persistent:
		return mpi.GathervInit(on, in.b, out.b, out.counts, out.displs, root), nil
	}
	return nil, mpi.Gatherv(on, in.b, out.b, out.counts, out.displs, root)
}

// displs are displacements of a v-form: wide in the large twin.
func (c *call) displs(i, n int) []int { return c.ints(i, n) }

func scatter(c *call, f form) (*mpi.Request, error) {
	m, root := c.comm(7), c.int(6)
	var in, out operand
	if m.isRoot(root) {
		d := c.datatype(2)
		c.apart(m, 3, 0, c.int(4) > 0, c.ownAt(m, c.args[0], c.count(1), d))
		in = c.blocks(c.args[0], c.count(1), d, m.peers())
		if c.inPlace(3) {
			out = c.own(m, c.args[0], c.count(1), d)
		}
	}
	if !c.inPlace(3) && (!m.IsInter() || root >= 0) {
		out = c.whole(c.args[3], c.count(4), c.datatype(5))
	}
	on := m.WithTypes(in.t, out.t)
	switch f {
	case nonblocking:
		return mpi.Iscatter(on, in.b, out.b, root), nil
	case persistent:
		return mpi.ScatterInit(on, in.b, out.b, root), nil
	}
	return nil, mpi.Scatter(on, in.b, out.b, root)
}

func scatterv(c *call, f form) (*mpi.Request, error) {
	m, root := c.comm(8), c.int(7)
	var out operand
	var in varied
	if m.isRoot(root) {
		d := c.datatype(3)
		counts, displs := c.ints(1, m.peers()), c.displs(2, m.peers())
		c.apart(m, 4, 0, c.int(5) > 0, c.ownDispl(m, c.args[0], displs, d))
		in = c.varied(c.args[0], counts, displs, d)
		if c.inPlace(4) {
			out = c.whole(c.ownDispl(m, c.args[0], displs, d), counts[m.Rank()], d)
		}
	}
	if !c.inPlace(4) && (!m.IsInter() || root >= 0) {
		out = c.whole(c.args[4], c.count(5), c.datatype(6))
	}
	on := m.WithTypes(in.t, out.t)
	switch f {
	case nonblocking:
		return mpi.Iscatterv(on, in.b, in.counts, in.displs, out.b, root), nil
	case persistent:
		return mpi.ScattervInit(on, in.b, in.counts, in.displs, out.b, root), nil
	}
	return nil, mpi.Scatterv(on, in.b, in.counts, in.displs, out.b, root)
}
