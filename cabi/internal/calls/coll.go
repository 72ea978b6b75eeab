package calls

import (
	"github.com/fitmpi/fitmpi/cabi/internal/abi"
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
				return c.startedCollective(args, r)
			case form(f) == persistent:
				c.infoOr(args)
				return c.made(args+1, r, true)
			}
			return nil
		})
	}
}

// operand is a buffer with blocks for ranks: plain bytes, or a layout for each block.
type operand struct {
	b []byte
	t *mpi.Datatype // nil: the bytes are the data
}

// whole is count values of d at an address, as one block. The address of what has no data does not
// matter.
func (c *call) whole(addr int64, count int, d *datatype) operand { return c.blocks(addr, count, d, 1) }

// blocks is n blocks of count values of d, one after the other.
func (c *call) blocks(addr int64, count int, d *datatype, n int) operand {
	b := c.values(addr, count*n, d).asBytes()
	if b.t == nil {
		return operand{b: b.bytes()}
	}
	if n == 1 {
		return operand{b.bytes(), b.t}
	}
	l := d.lay(count * n)
	block := mpi.Resized(mpi.Hindexed([]int{count}, []int{-l.lo}, d.t), 0, count*d.extent)
	return operand{b.bytes(), block}
}

// varied is blocks of different lengths. Counts and displacements are what package mpi takes for
// them: in values of the layout, or in bytes.
type varied struct {
	operand
	counts, displs []int
}

// varied is blocks of counts values of d, at displacements in its extents.
func (c *call) varied(addr int64, counts, displs []int, d *datatype) varied {
	first, end := reach(counts, displs)
	for i, n := range counts {
		if n < 0 {
			panic(failf(abi.ErrCount, "the count of rank %d is %d: need 0 or more", i, n))
		}
	}
	at := make([]int, len(displs))
	for i := range displs {
		if counts[i] > 0 {
			at[i] = displs[i] - first
		}
	}
	v := varied{operand{}, counts, at}
	start := addr + int64(first*d.extent)
	b := c.values(start, end-first, d).asBytes()
	if v.b, v.t = b.bytes(), b.t; b.t == nil {
		v.counts = scaled(counts, d.size)
		v.displs = scaled(at, d.size)
		return v
	}
	v.t = mpi.Resized(mpi.Hindexed([]int{1}, []int{-d.lay(end - first).lo}, d.t), 0, d.extent)
	return v
}

// reach is where blocks that are not empty begin and end, in values.
func reach(counts, displs []int) (first, end int) {
	any := false
	for i, n := range counts {
		if n <= 0 {
			continue
		}
		if !any {
			first, end, any = displs[i], displs[i]+n, true
		}
		first, end = min(first, displs[i]), max(end, displs[i]+n)
	}
	return first, end
}

func scaled(list []int, by int) []int {
	out := make([]int, len(list))
	for i, n := range list {
		out[i] = n * by
	}
	return out
}

// inPlace reports whether a buffer is MPI_IN_PLACE.
func (c *call) inPlace(i int) bool { return c.args[i] == abi.InPlace }

// peers is how many ranks a collective addresses: those of the other group, if there is one.
func (m *comm) peers() int {
	if m.IsInter() {
		return m.RemoteSize()
	}
	return m.Size()
}

// isRoot reports whether this rank is the root.
func (m *comm) isRoot(root int) bool {
	if m.IsInter() {
		return root == mpi.Root
	}
	return root == m.Rank()
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
	return c.whole(addr+int64(m.Rank()*count*d.extent), count, d)
}

func gather(c *call, f form) (*mpi.Request, error) {
	m, root := c.comm(7), c.int(6)
	var in, out operand
	if m.isRoot(root) {
		d := c.datatype(5)
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
		out = c.varied(c.args[3], counts, displs, d)
		if c.inPlace(0) {
			in = c.whole(c.args[3]+int64(displs[m.Rank()]*d.extent), counts[m.Rank()], d)
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
		in = c.varied(c.args[0], counts, displs, d)
		if c.inPlace(4) {
			out = c.whole(c.args[0]+int64(displs[m.Rank()]*d.extent), counts[m.Rank()], d)
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

func allgather(c *call, f form) (*mpi.Request, error) {
	m, d, n := c.comm(6), c.datatype(5), c.count(4)
	out := c.blocks(c.args[3], n, d, m.peers())
	var in operand
	if c.inPlace(0) {
		in = c.own(m, c.args[3], n, d)
	} else {
		in = c.whole(c.args[0], c.count(1), c.datatype(2))
	}
	on := m.WithTypes(in.t, out.t)
	switch f {
	case nonblocking:
		return mpi.Iallgather(on, in.b, out.b), nil
	case persistent:
		return mpi.AllgatherInit(on, in.b, out.b), nil
	}
	return nil, mpi.Allgather(on, in.b, out.b)
}

func allgatherv(c *call, f form) (*mpi.Request, error) {
	m, d := c.comm(7), c.datatype(6)
	counts, displs := c.ints(4, m.peers()), c.displs(5, m.peers())
	out := c.varied(c.args[3], counts, displs, d)
	var in operand
	if c.inPlace(0) {
		in = c.whole(c.args[3]+int64(displs[m.Rank()]*d.extent), counts[m.Rank()], d)
	} else {
		in = c.whole(c.args[0], c.count(1), c.datatype(2))
	}
	on := m.WithTypes(in.t, out.t)
	switch f {
	case nonblocking:
		return mpi.Iallgatherv(on, in.b, out.b, out.counts, out.displs), nil
	case persistent:
		return mpi.AllgathervInit(on, in.b, out.b, out.counts, out.displs), nil
	}
	return nil, mpi.Allgatherv(on, in.b, out.b, out.counts, out.displs)
}

func alltoall(c *call, f form) (*mpi.Request, error) {
	m := c.comm(6)
	out := c.blocks(c.args[3], c.count(4), c.datatype(5), m.peers())
	in := out
	if !c.inPlace(0) {
		in = c.blocks(c.args[0], c.count(1), c.datatype(2), m.peers())
	}
	on := m.WithTypes(in.t, out.t)
	switch f {
	case nonblocking:
		return mpi.Ialltoall(on, in.b, out.b), nil
	case persistent:
		return mpi.AlltoallInit(on, in.b, out.b), nil
	}
	return nil, mpi.Alltoall(on, in.b, out.b)
}

func alltoallv(c *call, f form) (*mpi.Request, error) {
	m := c.comm(8)
	n := m.peers()
	out := c.varied(c.args[4], c.ints(5, n), c.displs(6, n), c.datatype(7))
	in := out
	if !c.inPlace(0) {
		in = c.varied(c.args[0], c.ints(1, n), c.displs(2, n), c.datatype(3))
	}
	on := m.WithTypes(in.t, out.t)
	switch f {
	case nonblocking:
		return mpi.Ialltoallv(on, in.b, in.counts, in.displs, out.b, out.counts, out.displs), nil
	case persistent:
		return mpi.AlltoallvInit(on, in.b, in.counts, in.displs, out.b, out.counts, out.displs), nil
	}
	return nil, mpi.Alltoallv(on, in.b, in.counts, in.displs, out.b, out.counts, out.displs)
}

// separate is blocks that each have a datatype of their own, at displacements in bytes.
type separate struct {
	b     []byte
	types []*mpi.Datatype
}

// separate is n blocks: counts, displacements and datatypes are arrays. All lie over the memory
// from the first byte of data to the last.
func (c *call) separate(addr int64, counts, displs []int, types []*datatype) separate {
	lo, hi, any := 0, 0, false
	for i, d := range types {
		if counts[i] < 0 {
			panic(failf(abi.ErrCount, "the count of rank %d is %d: need 0 or more", i, counts[i]))
		}
		if counts[i] == 0 || d.size == 0 {
			continue
		}
		l := d.lay(counts[i])
		from, to := displs[i]+l.lo, displs[i]+l.lo+l.n
		if !any {
			lo, hi, any = from, to, true
		}
		lo, hi = min(lo, from), max(hi, to)
	}
	s := separate{b: view[byte](addr+int64(lo), hi-lo), types: make([]*mpi.Datatype, len(types))}
	for i, d := range types {
		if counts[i] > 0 && d.size > 0 {
			s.types[i] = mpi.Hindexed([]int{counts[i]}, []int{displs[i] - lo}, d.t)
		}
	}
	return s
}

// arrayOf are the datatypes of an array; those with no count need not be any.
func (c *call) arrayOf(i int, counts []int) []*datatype {
	list := make([]*datatype, len(counts))
	for k, h := range view[handle](c.args[i], len(counts)) {
		if list[k] = datatypes.find(h); list[k] == nil && counts[k] == 0 {
			list[k] = datatypes.find(abi.Byte)
		} else {
			list[k] = datatypes.get(h)
		}
	}
	return list
}

// apart is s in memory of its own, as it is now: its blocks follow each other.
func (s separate) apart() (separate, error) {
	out := separate{types: make([]*mpi.Datatype, len(s.types))}
	for i, t := range s.types {
		if t == nil {
			continue
		}
		at := len(out.b)
		var err error
		if out.b, err = mpi.Pack(out.b, s.b, t); err != nil {
			return out, err
		}
		out.types[i] = mpi.Hindexed([]int{len(out.b) - at}, []int{at}, byteType)
	}
	return out, nil
}

func alltoallw(c *call, f form) (*mpi.Request, error) {
	m := c.comm(8)
	n := m.peers()
	counts := c.ints(5, n)
	out := c.separate(c.args[4], counts, c.ints(6, n), c.arrayOf(7, counts))
	in := out
	if c.inPlace(0) {
		if f == persistent {
			return nil, failf(abi.ErrUnsupportedOperation, "MPI_IN_PLACE is not supported by this form yet: give a send buffer")
		}
		var err error
		if in, err = out.apart(); err != nil {
			return nil, err
		}
	} else {
		counts := c.ints(1, n)
		in = c.separate(c.args[0], counts, c.ints(2, n), c.arrayOf(3, counts))
	}
	switch f {
	case nonblocking:
		return mpi.Ialltoallw(m.Comm, in.b, in.types, out.b, out.types), nil
	case persistent:
		return mpi.AlltoallwInit(m.Comm, in.b, in.types, out.b, out.types), nil
	}
	return nil, mpi.Alltoallw(m.Comm, in.b, in.types, out.b, out.types)
}
