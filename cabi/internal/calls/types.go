package calls

import (
	"slices"

	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
	"github.com/fitmpi/fitmpi/mpi"
)

func init() {
	register(procedure.TypeContiguous, typeContiguous)
	register(procedure.TypeVector, typeVector)
	register(procedure.TypeCreateHvector, typeHvector)
	register(procedure.TypeIndexed, typeIndexed)
	register(procedure.TypeCreateHindexed, typeHindexed)
	register(procedure.TypeCreateIndexedBlock, typeIndexedBlock)
	register(procedure.TypeCreateHindexedBlock, typeHindexedBlock)
	register(procedure.TypeCreateStruct, typeStruct)
	register(procedure.TypeCreateResized, typeResized)
	register(procedure.TypeCreateSubarray, typeSubarray)
	register(procedure.TypeCreateDarray, typeDarray)
	register(procedure.TypeDup, typeDup)
	register(procedure.TypeCommit, typeCommit)
	register(procedure.TypeFree, typeFree)
}

// spans are n displacements in bytes: MPI_Aint, and MPI_Count in the large twin.
func (c *call) spans(i, n int) []int { return c.wides(i, n) }

func typeContiguous(c *call) error {
	n, d := c.count(0), c.datatype(1)
	return c.derive(2, mpi.Contiguous(n, d.t), c.contents(abi.CombinerContiguous, []int{n}, nil, d))
}

// contents are those of a datatype whose counts are ints and whose displacements are addrs. A large
// twin has both as counts.
func (c *call) contents(combiner int, ints, addrs []int, types ...*datatype) contents {
	if c.large {
		return contents{combiner: combiner, large: true, counts: slices.Concat(ints, addrs), types: types}
	}
	return contents{combiner: combiner, ints: ints, addrs: addrs, types: types}
}

func typeVector(c *call) error {
	n, block, stride, d := c.count(0), c.int(1), c.int(2), c.datatype(3)
	return c.derive(4, mpi.Vector(n, block, stride, d.t), c.contents(abi.CombinerVector, []int{n, block, stride}, nil, d))
}

func typeHvector(c *call) error {
	n, block, stride, d := c.count(0), c.int(1), c.int(2), c.datatype(3)
	return c.derive(4, mpi.Hvector(n, block, stride, d.t), c.contents(abi.CombinerHvector, []int{n, block}, []int{stride}, d))
}

func typeIndexed(c *call) error {
	n := c.count(0)
	blocks, displs, d := c.ints(1, n), c.ints(2, n), c.datatype(3)
	return c.derive(4, mpi.Indexed(blocks, displs, d.t), c.contents(abi.CombinerIndexed, slices.Concat([]int{n}, blocks, displs), nil, d))
}

func typeHindexed(c *call) error {
	n := c.count(0)
	blocks, displs, d := c.ints(1, n), c.spans(2, n), c.datatype(3)
	return c.derive(4, mpi.Hindexed(blocks, displs, d.t), c.contents(abi.CombinerHindexed, slices.Concat([]int{n}, blocks), displs, d))
}

func typeIndexedBlock(c *call) error {
	n, block := c.count(0), c.count(1)
	displs, d := c.ints(2, n), c.datatype(3)
	return c.derive(4, mpi.IndexedBlock(block, displs, d.t), c.contents(abi.CombinerIndexedBlock, slices.Concat([]int{n, block}, displs), nil, d))
}

func typeHindexedBlock(c *call) error {
	n, block := c.count(0), c.count(1)
	displs, d := c.spans(2, n), c.datatype(3)
	return c.derive(4, mpi.HindexedBlock(block, displs, d.t), c.contents(abi.CombinerHindexedBlock, []int{n, block}, displs, d))
}

func typeStruct(c *call) error {
	n := c.count(0)
	blocks, displs := c.ints(1, n), c.spans(2, n)
	types, ts := c.types(3, n)
	return c.derive(4, aligned(mpi.Struct(blocks, displs, ts), types), c.contents(abi.CombinerStruct, slices.Concat([]int{n}, blocks), displs, types...))
}

// aligned is a struct with the extent that C gives it if it has a long double.
func aligned(t *mpi.Datatype, types []*datatype) *mpi.Datatype {
	const align = 16
	lb, extent := t.Extent()
	if rest := extent % align; rest != 0 && slices.ContainsFunc(types, func(d *datatype) bool { return d.wide }) {
		return mpi.Resized(t, lb, extent+align-rest)
	}
	return t
}

// types are the datatypes of an array, and what package mpi has for them.
func (c *call) types(i, n int) ([]*datatype, []*mpi.Datatype) {
	ds, ts := make([]*datatype, n), make([]*mpi.Datatype, n)
	for k, h := range view[handle](c.args[i], n) {
		ds[k] = datatypes.get(h)
		ts[k] = ds[k].t
	}
	return ds, ts
}

func typeResized(c *call) error {
	d, lb, extent := c.datatype(0), c.int(1), c.int(2)
	return c.derive(3, mpi.Resized(d.t, lb, extent), c.contents(abi.CombinerResized, nil, []int{lb, extent}, d))
}

// order is an order of arrays.
func (c *call) order(i int) mpi.Order {
	switch c.int(i) {
	case abi.OrderC:
		return mpi.OrderC
	case abi.OrderFortran:
		return mpi.OrderFortran
	}
	panic(failf(abi.ErrArg, "the order is %d: need MPI_ORDER_C or MPI_ORDER_FORTRAN", c.int(i)))
}

func typeSubarray(c *call) error {
	n := c.count(0)
	sizes, subsizes, starts, d := c.ints(1, n), c.ints(2, n), c.ints(3, n), c.datatype(5)
	made := contents{combiner: abi.CombinerSubarray, types: []*datatype{d}}
	if made.large = c.large; c.large {
		made.ints, made.counts = []int{n, c.int(4)}, slices.Concat(sizes, subsizes, starts)
	} else {
		made.ints = slices.Concat([]int{n}, sizes, subsizes, starts, []int{c.int(4)})
	}
	return c.derive(6, mpi.Subarray(sizes, subsizes, starts, c.order(4), d.t), made)
}

func typeDarray(c *call) error {
	size, rank, n := c.int(0), c.int(1), c.count(2)
	gsizes, distribs, dargs, psizes := c.ints(3, n), c.shorts(4, n), c.shorts(5, n), c.shorts(6, n)
	d := c.datatype(8)
	made := contents{combiner: abi.CombinerDarray, types: []*datatype{d}}
	if made.large = c.large; c.large {
		made.ints = slices.Concat([]int{size, rank, n}, distribs, dargs, psizes, []int{c.int(7)})
		made.counts = gsizes
	} else {
		made.ints = slices.Concat([]int{size, rank, n}, gsizes, distribs, dargs, psizes, []int{c.int(7)})
	}
	how, args := make([]mpi.Distribution, n), make([]int, n)
	for i := range how {
		how[i] = distribution(distribs[i])
		if args[i] = dargs[i]; args[i] == abi.DistributeDfltDarg {
			args[i] = mpi.DistributeDfltDarg
		} else if args[i] <= 0 {
			return failf(abi.ErrArg, "the argument of dimension %d is %d: need 1 or more, or MPI_DISTRIBUTE_DFLT_DARG", i, args[i])
		}
		if how[i] == mpi.DistributeNone {
			args[i] = mpi.DistributeDfltDarg
		}
	}
	return c.derive(9, mpi.Darray(size, rank, gsizes, how, args, psizes, c.order(7), d.t), made)
}

func distribution(n int) mpi.Distribution {
	switch n {
	case abi.DistributeBlock:
		return mpi.DistributeBlock
	case abi.DistributeCyclic:
		return mpi.DistributeCyclic
	case abi.DistributeNone:
		return mpi.DistributeNone
	}
	panic(failf(abi.ErrArg, "the distribution is %d: need MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC or MPI_DISTRIBUTE_NONE", n))
}

// typeDup copies attributes too. The duplicate is committed if the original is.
func typeDup(c *call) error {
	d := c.datatype(0)
	n := newDatatype(d.t.Dup(), contents{combiner: abi.CombinerDup, types: []*datatype{d}})
	n.flatten()
	n.committed.Store(d.committed.Load())
	if err := d.attrs.copyTo(d.h, &n.attrs); err != nil {
		return err
	}
	d.refs.Add(1)
	n.h = datatypes.add(n)
	c.setHandle(1, n.h)
	return nil
}

func typeCommit(c *call) error {
	datatypes.get(*at[handle](c.need(0))).committed.Store(true)
	return nil
}

func typeFree(c *call) error {
	p := at[handle](c.need(0))
	d := datatypes.get(*p)
	if d.named {
		return failf(abi.ErrType, "%s is predefined and cannot be freed", *d.name.Load())
	}
	if err := d.attrs.clear(d.h); err != nil {
		return err
	}
	datatypes.remove(d.h)
	d.release()
	*p = abi.DatatypeNull
	return nil
}
