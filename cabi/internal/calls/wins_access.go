package calls

import (
	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
	"github.com/fitmpi/fitmpi/internal/foreign"
	"github.com/fitmpi/fitmpi/mpi"
)

// access is what an operation on a window reads or writes at the two ends.
type access struct {
	w      *win
	on     *mpi.Win // w with the layouts
	origin buffer
	rank   int
	disp   int       // in bytes
	d      *datatype // of the target
	n      int       // values of d
}

// access is an operation whose target is in arguments i to i+3, rank, displacement, count and
// datatype, before the window at argument win.
func (c *call) access(origin buffer, i, win int) access {
	a := access{w: c.win(win), origin: origin.asBytes(), rank: c.int(i), n: c.count(i + 2), d: c.datatype(i + 3)}
	a.on = a.w.Win
	if a.rank == mpi.ProcNull {
		return a
	}
	if a.rank < 0 || a.rank >= len(a.w.units) {
		panic(failf(abi.ErrRank, "the target is rank %d: need 0 to %d, or MPI_PROC_NULL", a.rank, len(a.w.units)-1))
	}
	if c.int(i+1) < 0 {
		panic(failf(abi.ErrDisp, "the displacement is %d: need 0 or more", c.int(i+1)))
	}
	a.disp = c.int(i+1) * int(a.w.units[a.rank])
	var target *mpi.Datatype
	if !a.d.flat {
		l := a.d.lay(a.n)
		target = l.t
		a.disp += l.lo
	}
	if a.origin.t != nil || target != nil {
		a.on = a.w.WithTypes(a.origin.t, target)
	}
	return a
}

func init() {
	register(procedure.Put, func(c *call) error {
		a := c.access(c.buffer(0), 3, 7)
		return mpi.Put(a.on, a.origin.bytes(), a.rank, a.disp)
	})
	register(procedure.Get, func(c *call) error {
		a := c.access(c.buffer(0), 3, 7)
		return mpi.Get(a.on, a.origin.bytes(), a.rank, a.disp)
	})
	register(procedure.Rput, func(c *call) error {
		a := c.access(c.buffer(0), 3, 7)
		return c.started(8, mpi.Rput(a.on, a.origin.bytes(), a.rank, a.disp))
	})
	register(procedure.Rget, func(c *call) error {
		a := c.access(c.buffer(0), 3, 7)
		return c.started(8, mpi.Rget(a.on, a.origin.bytes(), a.rank, a.disp))
	})
	register(procedure.Accumulate, func(c *call) error {
		_, err := c.accumulate(&accumulation{access: c.access(c.buffer(0), 3, 8), op: c.op(7)})
		return err
	})
	register(procedure.Raccumulate, func(c *call) error {
		r, err := c.accumulate(&accumulation{access: c.access(c.buffer(0), 3, 8), op: c.op(7), how: nonblocking})
		if err != nil {
			return err
		}
		return c.started(9, r)
	})
	register(procedure.GetAccumulate, func(c *call) error {
		_, err := c.accumulate(c.fetching(blocking))
		return err
	})
	register(procedure.RgetAccumulate, func(c *call) error {
		r, err := c.accumulate(c.fetching(nonblocking))
		if err != nil {
			return err
		}
		return c.started(12, r)
	})
	register(procedure.FetchAndOp, fetchAndOp)
	register(procedure.CompareAndSwap, compareAndSwap)
}

// accumulation is an operation that combines.
type accumulation struct {
	access
	op     *op
	how    form
	result *buffer // nil: what was there is not asked for
}

// fetching is a Get_accumulate. Without an operation the origin does not matter.
func (c *call) fetching(how form) *accumulation {
	result, o := c.buffer(3), c.op(10)
	origin := result
	if o.h != abi.NoOp {
		origin = c.buffer(0)
	}
	out := result.asBytes()
	if origin.t != result.t {
		origin = origin.like(out)
	}
	return &accumulation{access: c.access(origin, 6, 11), op: o, how: how, result: &out}
}

// like is the values of b in memory of their own, that they lie in as those of other do: an
// operation of package mpi has one layout for all that it has at the origin.
func (b buffer) like(other buffer) buffer {
	flat := b.asBytes()
	data := flat.bytes()
	if b.t != nil {
		var err error
		if data, err = mpi.Pack(nil, data, b.t); err != nil {
			panic(failf(abi.ErrType, "%v", err))
		}
	}
	if other.t == nil {
		return bufferOf(data, nil)
	}
	mem := make([]byte, other.n, other.n+sizeOf[foreign.LongComplex]()) // sliceOf may look beyond
	if rest, err := mpi.Unpack(data, mem, other.t); err != nil || len(rest) > 0 {
		panic(failf(abi.ErrType, "the origin has %d bytes of data, the result %d: need as many", len(data), other.t.Size()))
	}
	return bufferOf(mem, other.t)
}

// accumulator does accumulates of values of one kind.
type accumulator interface {
	accumulate(a *accumulation) (*mpi.Request, error)
	swap(a *access, compare, result int64) error
}

// accumulate chooses the kind of the values: that of the target, whose basic values are all of one.
func (c *call) accumulate(a *accumulation) (*mpi.Request, error) {
	if a.op.fn != 0 {
		return nil, failf(abi.ErrOp, "an operation of the program cannot be applied to a window: need a predefined one")
	}
	kind, ok := a.d.basicOps().(accumulator)
	if !ok {
		return nil, failf(abi.ErrType, "the values are of several datatypes, or of one that no operation is defined on")
	}
	return kind.accumulate(a)
}

// basicOps are the operations on the basic values of d, if they are of one kind; else nil.
func (d *datatype) basicOps() reducer {
	if d.ops != nil || d.named {
		return d.ops
	}
	var kind *datatype
	for _, from := range d.made.types {
		for !from.named && len(from.made.types) > 0 {
			if from.made.combiner == abi.CombinerStruct {
				return from.basicOps()
			}
			from = from.made.types[0]
		}
		if kind != nil && kind.ops != nil && kind.h != from.h {
			return nil
		}
		kind = from
	}
	if kind == nil {
		return nil
	}
	return kind.ops
}

func (o operations[T]) accumulate(a *accumulation) (*mpi.Request, error) {
	f := o[a.op.h]
	if f == nil {
		return nil, failf(abi.ErrOp, "%s is not defined on this datatype", a.op.name)
	}
	origin := sliceOf[T](a.origin)
	if a.result == nil {
		if a.how == nonblocking {
			return mpi.Raccumulate(a.on, origin, a.rank, a.disp, f), nil
		}
		return nil, mpi.Accumulate(a.on, origin, a.rank, a.disp, f)
	}
	result := sliceOf[T](*a.result)
	if a.op.h == abi.NoOp {
		origin = nil
	}
	if a.how == nonblocking {
		return mpi.RgetAccumulate(a.on, origin, result, a.rank, a.disp, f), nil
	}
	return nil, mpi.GetAccumulate(a.on, origin, result, a.rank, a.disp, f)
}

func (o operations[T]) swap(a *access, compare, result int64) error {
	return mpi.CompareAndSwap(a.on, sliceOf[T](a.origin)[0], *at[T](compare), at[T](result), a.rank, a.disp)
}

// one is an operation on one value of a predefined datatype at argument d, before the rank and the
// displacement of the target.
func (c *call) one(origin int64, d, win int) access {
	t := c.datatype(d)
	w := c.win(win)
	if !t.named {
		panic(failf(abi.ErrType, "the datatype is derived: need a predefined one"))
	}
	a := access{w: w, on: w.Win, origin: c.values(origin, 1, t).asBytes(), rank: c.int(d + 1), d: t, n: 1}
	if a.rank >= 0 && a.rank < len(w.units) {
		a.disp = c.int(d+2) * int(w.units[a.rank])
	}
	if !t.flat {
		l := t.lay(1)
		a.on, a.disp = w.WithTypes(a.origin.t, l.t), a.disp+l.lo
	}
	return a
}

func fetchAndOp(c *call) error {
	o := c.op(5)
	origin := c.args[0]
	if o.h == abi.NoOp {
		origin = c.args[1]
	}
	result := c.values(c.args[1], 1, c.datatype(2)).asBytes()
	_, err := c.accumulate(&accumulation{access: c.one(origin, 2, 6), op: o, result: &result})
	return err
}

func compareAndSwap(c *call) error {
	a := c.one(c.args[0], 3, 6)
	kind, ok := a.d.ops.(accumulator)
	if !ok {
		return failf(abi.ErrType, "it swaps integers, truth values and bytes")
	}
	return kind.swap(&a, c.need(1), c.need(2))
}
