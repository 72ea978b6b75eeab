package calls

import (
	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
	"github.com/fitmpi/fitmpi/mpi"
)

// degrees are the numbers of a rank's sources and destinations in its topology.
func (m *comm) degrees() (in, out int) {
	switch m.TopoTest() {
	case mpi.Cart:
		n, err := m.CartdimGet()
		if err != nil {
			panic(failf(codeOf(err), "%v", err))
		}
		return 2 * n, 2 * n
	case mpi.Graph:
		n, err := m.GraphNeighborsCount(m.Rank())
		if err != nil {
			panic(failf(codeOf(err), "%v", err))
		}
		return n, n
	case mpi.DistGraph:
		in, out, _, err := m.DistGraphNeighborsCount()
		if err != nil {
			panic(failf(codeOf(err), "%v", err))
		}
		return in, out
	}
	panic(failf(abi.ErrTopology, "the communicator has no topology"))
}

func init() {
	collective([3]procedure.ID{procedure.NeighborAllgather, procedure.IneighborAllgather, procedure.NeighborAllgatherInit}, 7, neighborAllgather)
	collective([3]procedure.ID{procedure.NeighborAllgatherv, procedure.IneighborAllgatherv, procedure.NeighborAllgathervInit}, 8, neighborAllgatherv)
	collective([3]procedure.ID{procedure.NeighborAlltoall, procedure.IneighborAlltoall, procedure.NeighborAlltoallInit}, 7, neighborAlltoall)
	collective([3]procedure.ID{procedure.NeighborAlltoallv, procedure.IneighborAlltoallv, procedure.NeighborAlltoallvInit}, 9, neighborAlltoallv)
	collective([3]procedure.ID{procedure.NeighborAlltoallw, procedure.IneighborAlltoallw, procedure.NeighborAlltoallwInit}, 9, neighborAlltoallw)
}

func neighborAllgather(c *call, f form) (*mpi.Request, error) {
	m := c.comm(6)
	sources, _ := m.degrees()
	in, out := c.whole(c.args[0], c.count(1), c.datatype(2)), c.blocks(c.args[3], c.count(4), c.datatype(5), sources)
	on := m.WithTypes(in.t, out.t)
	switch f {
	case nonblocking:
		return mpi.IneighborAllgather(on, in.b, out.b), nil
	case persistent:
		return mpi.NeighborAllgatherInit(on, in.b, out.b), nil
	}
	return nil, mpi.NeighborAllgather(on, in.b, out.b)
}

func neighborAllgatherv(c *call, f form) (*mpi.Request, error) {
	m := c.comm(7)
	sources, _ := m.degrees()
	in := c.whole(c.args[0], c.count(1), c.datatype(2))
	out := c.varied(c.args[3], c.ints(4, sources), c.ints(5, sources), c.datatype(6))
	on := m.WithTypes(in.t, out.t)
	switch f {
	case nonblocking:
		return mpi.IneighborAllgatherv(on, in.b, out.b, out.counts, out.displs), nil
	case persistent:
		return mpi.NeighborAllgathervInit(on, in.b, out.b, out.counts, out.displs), nil
	}
	return nil, mpi.NeighborAllgatherv(on, in.b, out.b, out.counts, out.displs)
}

func neighborAlltoall(c *call, f form) (*mpi.Request, error) {
	m := c.comm(6)
	sources, destinations := m.degrees()
	in := c.blocks(c.args[0], c.count(1), c.datatype(2), destinations)
	out := c.blocks(c.args[3], c.count(4), c.datatype(5), sources)
	on := m.WithTypes(in.t, out.t)
	switch f {
	case nonblocking:
		return mpi.IneighborAlltoall(on, in.b, out.b), nil
	case persistent:
		return mpi.NeighborAlltoallInit(on, in.b, out.b), nil
	}
	return nil, mpi.NeighborAlltoall(on, in.b, out.b)
}

func neighborAlltoallv(c *call, f form) (*mpi.Request, error) {
	m := c.comm(8)
	sources, destinations := m.degrees()
	in := c.varied(c.args[0], c.ints(1, destinations), c.ints(2, destinations), c.datatype(3))
	out := c.varied(c.args[4], c.ints(5, sources), c.ints(6, sources), c.datatype(7))
	on := m.WithTypes(in.t, out.t)
	switch f {
	case nonblocking:
		return mpi.IneighborAlltoallv(on, in.b, in.counts, in.displs, out.b, out.counts, out.displs), nil
	case persistent:
		return mpi.NeighborAlltoallvInit(on, in.b, in.counts, in.displs, out.b, out.counts, out.displs), nil
	}
	return nil, mpi.NeighborAlltoallv(on, in.b, in.counts, in.displs, out.b, out.counts, out.displs)
}

func neighborAlltoallw(c *call, f form) (*mpi.Request, error) {
	m := c.comm(8)
	sources, destinations := m.degrees()
	counts := c.ints(1, destinations)
	in := c.separate(c.args[0], counts, c.wides(2, destinations), c.arrayOf(3, counts))
	counts = c.ints(5, sources)
	out := c.separate(c.args[4], counts, c.wides(6, sources), c.arrayOf(7, counts))
	switch f {
	case nonblocking:
		return mpi.IneighborAlltoallw(m.Comm, in.b, in.types, out.b, out.types), nil
	case persistent:
		return mpi.NeighborAlltoallwInit(m.Comm, in.b, in.types, out.b, out.types), nil
	}
	return nil, mpi.NeighborAlltoallw(m.Comm, in.b, in.types, out.b, out.types)
}
