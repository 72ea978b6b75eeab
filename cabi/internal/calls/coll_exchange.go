package calls

import (
	"slices"

	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/mpi"
)

func allgather(c *call, f form) (*mpi.Request, error) {
	m, d, n := c.comm(6), c.datatype(5), c.count(4)
	out := c.blocks(c.args[3], n, d, m.peers())
	var in operand
	if c.inPlace(0) {
		in = c.own(m, c.args[3], n, d)
	} else {
		c.apart(m, 0, 3, c.int(1) > 0, c.ownAt(m, c.args[3], n, d))
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
		in = c.whole(c.ownDispl(m, c.args[3], displs, d), counts[m.Rank()], d)
	} else {
		c.apart(m, 0, 3, c.int(1) > 0, c.ownDispl(m, c.args[3], displs, d))
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
		c.apart(m, 0, 3, c.int(1) > 0)
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
	to, counts, displs := c.datatype(7), c.ints(5, n), c.displs(6, n)
	out := c.varied(c.args[4], counts, displs, to)
	in := out
	if !c.inPlace(0) {
		from, sent, at := c.datatype(3), c.ints(1, n), c.displs(2, n)
		if from == to {
			c.apartBlocks(m, 0, 4, [2][]int{sent, counts}, [2][]int{at, displs})
		}
		in = c.varied(c.args[0], sent, at, from)
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
	counts, displs := c.ints(5, n), c.ints(6, n)
	types := c.arrayOf(7, counts)
	out := c.separate(c.args[4], counts, displs, types)
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
		sent, at := c.ints(1, n), c.ints(2, n)
		from := c.arrayOf(3, sent)
		if slices.Equal(from, types) {
			c.apartBlocks(m, 0, 4, [2][]int{sent, counts}, [2][]int{at, displs})
		}
		in = c.separate(c.args[0], sent, at, from)
	}
	switch f {
	case nonblocking:
		return mpi.Ialltoallw(m.Comm, in.b, in.types, out.b, out.types), nil
	case persistent:
		return mpi.AlltoallwInit(m.Comm, in.b, in.types, out.b, out.types), nil
	}
	return nil, mpi.Alltoallw(m.Comm, in.b, in.types, out.b, out.types)
}
