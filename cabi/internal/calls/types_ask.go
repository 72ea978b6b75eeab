package calls

import (
	"math"

	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
	"github.com/fitmpi/fitmpi/mpi"
)

func init() {
	register(procedure.TypeSize, func(c *call) error { c.set(1, c.datatype(0).size); return nil })
	register(procedure.TypeSizeX, func(c *call) error { c.setWide(1, c.datatype(0).size); return nil })
	extent := func(c *call) error {
		d := c.datatype(0)
		c.setWide(1, d.lb)
		c.setWide(2, d.extent)
		return nil
	}
	register(procedure.TypeGetExtent, extent)
	register(procedure.TypeGetExtentX, extent)
	trueExtent := func(c *call) error {
		d := c.datatype(0)
		c.setWide(1, d.trueLB)
		c.setWide(2, d.trueExtent)
		return nil
	}
	register(procedure.TypeGetTrueExtent, trueExtent)
	register(procedure.TypeGetTrueExtentX, trueExtent)
	register(procedure.TypeSetName, func(c *call) error {
		name := c.text(1)
		c.datatype(0).name.Store(&name)
		return nil
	})
	register(procedure.TypeGetName, func(c *call) error {
		name := ""
		if p := c.datatype(0).name.Load(); p != nil {
			name = *p
		}
		c.setText(1, name, abi.MaxObjectName, 2)
		return nil
	})
	register(procedure.TypeGetEnvelope, typeGetEnvelope)
	register(procedure.TypeGetContents, typeGetContents)
	register(procedure.TypeMatchSize, typeMatchSize)
	register(procedure.TypeGetValueIndex, typeGetValueIndex)
	register(procedure.Pack, pack)
	register(procedure.Unpack, unpack)
	register(procedure.PackSize, packSize)
}

func typeGetEnvelope(c *call) error {
	m := c.datatype(0).made
	if !c.large {
		if m.large {
			return failf(abi.ErrType, "the datatype was made with large counts: use MPI_Type_get_envelope_c")
		}
		c.setInt(1, len(m.ints))
		c.setInt(2, len(m.addrs))
		c.setInt(3, len(m.types))
		c.setInt(4, m.combiner)
		return nil
	}
	c.setWide(1, len(m.ints))
	c.setWide(2, len(m.addrs))
	c.setWide(3, len(m.counts))
	c.setWide(4, len(m.types))
	c.setInt(5, m.combiner)
	return nil
}

func typeGetContents(c *call) error {
	m := c.datatype(0).made
	if m.combiner == abi.CombinerNamed {
		return failf(abi.ErrType, "a predefined datatype has no contents")
	}
	if !c.large {
		if m.large {
			return failf(abi.ErrType, "the datatype was made with large counts: use MPI_Type_get_contents_c")
		}
		return c.giveContents(m, []int{1, 2, -1, 3}, []int{4, 5, -1, 6})
	}
	return c.giveContents(m, []int{1, 2, 3, 4}, []int{5, 6, 7, 8})
}

// giveContents writes contents, of which room says the arguments with the lengths of the arrays,
// and to those with their addresses.
func (c *call) giveContents(m contents, room, to []int) error {
	have := []int{len(m.ints), len(m.addrs), len(m.counts), len(m.types)}
	for i, n := range have {
		if room[i] >= 0 && c.int(room[i]) < n {
			return failf(abi.ErrArg, "argument %d has room for %d entries, there are %d", to[i]+1, c.int(room[i]), n)
		}
	}
	c.setInts(to[0], m.ints)
	copyWide(c.args[to[1]], m.addrs)
	if to[2] >= 0 {
		copyWide(c.args[to[2]], m.counts)
	}
	for k, d := range m.types {
		view[handle](c.args[to[3]], len(m.types))[k] = d.again()
	}
	return nil
}

// again is a handle of d for MPI_Type_get_contents: one that the program frees, unless it is
// predefined.
func (d *datatype) again() handle {
	if d.named {
		return d.h
	}
	n := newDatatype(d.t, d.made)
	n.flatten()
	n.committed.Store(d.committed.Load())
	n.name.Store(d.name.Load())
	n.h = datatypes.add(n)
	return n.h
}

func copyWide(addr int64, list []int) {
	to := view[int64](addr, len(list))
	for k, v := range list {
		to[k] = int64(v)
	}
}

func typeMatchSize(c *call) error {
	bySize := map[int]map[int]handle{
		abi.TypeclassReal:    {2: abi.Real2, 4: abi.Real4, 8: abi.Real8, 16: abi.Real16},
		abi.TypeclassInteger: {1: abi.Integer1, 2: abi.Integer2, 4: abi.Integer4, 8: abi.Integer8, 16: abi.Integer16},
		abi.TypeclassComplex: {4: abi.Complex4, 8: abi.Complex8, 16: abi.Complex16, 32: abi.Complex32},
	}[c.int(0)]
	h, ok := bySize[c.int(1)]
	if !ok {
		return failf(abi.ErrArg, "no datatype of class %d has %d bytes", c.int(0), c.int(1))
	}
	c.setHandle(2, h)
	return nil
}

// typeGetValueIndex gives the predefined pairs; other pairs are none.
func typeGetValueIndex(c *call) error {
	c.datatype(0)
	c.datatype(1)
	pairs := map[[2]handle]handle{
		{abi.Float, abi.Int}: abi.FloatInt, {abi.Double, abi.Int}: abi.DoubleInt, {abi.Long, abi.Int}: abi.LongInt,
		{abi.Int, abi.Int}: abi.PairInt, {abi.Short, abi.Int}: abi.ShortInt, {abi.LongDouble, abi.Int}: abi.LongDoubleInt,
		{abi.Real, abi.Real}: abi.PairReal, {abi.DoublePrecision, abi.DoublePrecision}: abi.PairDoubleprecision,
		{abi.Integer, abi.Integer}: abi.PairInteger,
	}
	h, ok := pairs[[2]handle{handle(c.args[0]), handle(c.args[1])}]
	if !ok {
		h = abi.DatatypeNull
	}
	c.setHandle(2, h)
	return nil
}

// position is the number at argument i, an int, or a wide one in large twins and external data.
func (c *call) position(i int, wide bool) int {
	if wide {
		return int(*at[int64](c.need(i)))
	}
	return int(*at[int32](c.need(i)))
}

func (c *call) setPosition(i, v int, wide bool) {
	if wide {
		c.setWide(i, v)
	} else {
		c.setInt(i, v)
	}
}

func pack(c *call) error {
	c.comm(6)
	return c.packInto(0, 3, 4, 5, c.large, mpi.Pack[byte])
}

// packInto packs the buffer at argument in to the memory at out of so many bytes, from a position
// on.
func (c *call) packInto(in, out, size, pos int, wide bool, f func(dst, src []byte, t *mpi.Datatype) ([]byte, error)) error {
	b, at, room := c.buffer(in), c.position(pos, wide), c.int(size)
	n := b.n * b.size
	if b.t != nil {
		n = b.t.Size()
	}
	switch {
	case at < 0 || room < 0:
		return failf(abi.ErrArg, "the position is %d, the buffer has %d bytes: need 0 or more", at, room)
	case at+n > room:
		return failf(abi.ErrTruncate, "%d bytes from position %d on: the buffer has %d", n, at, room)
	}
	dst := view[byte](c.args[out], room)
	data, err := f(dst[:at:room], b.bytes(), b.t)
	if err != nil {
		return err
	}
	if len(data) > at && &data[0] != &dst[0] {
		copy(dst[at:], data[at:])
	}
	c.setPosition(pos, at+n, wide)
	return nil
}

func unpack(c *call) error {
	c.comm(6)
	return c.unpackFrom(0, 1, 2, 3, c.large, mpi.Unpack[byte])
}

func (c *call) unpackFrom(in, size, pos, out int, wide bool, f func(src, dst []byte, t *mpi.Datatype) ([]byte, error)) error {
	b, at, have := c.buffer(out), c.position(pos, wide), c.int(size)
	if at < 0 || at > have {
		return failf(abi.ErrArg, "the position is %d: need 0 to %d", at, have)
	}
	src := view[byte](c.args[in], have)
	rest, err := f(src[at:], b.bytes(), b.t)
	if err != nil {
		return err
	}
	c.setPosition(pos, have-len(rest), wide)
	return nil
}

// packSize is exact: package mpi packs without headers.
func packSize(c *call) error {
	n, d := c.count(0), c.datatype(1)
	c.comm(2)
	if n > 0 && d.size > math.MaxInt/n {
		return failf(abi.ErrCount, "%d values of %d bytes are too many", n, d.size)
	}
	c.set(3, n*d.size)
	return nil
}
