package calls

import (
	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
	"github.com/fitmpi/fitmpi/mpi"
)

// reduction is a call of one of the reductions.
type reduction struct {
	kind   reductionKind
	how    form
	on     *mpi.Comm
	op     *op
	d      *datatype
	in     int64 // addresses
	out    int64
	n      int // values of in
	result int // values of out; 0: this rank gets no result, or it is in another call
	counts []int
	root   int
}

type reductionKind int

const (
	reduce reductionKind = iota
	allreduce
	scan
	exscan
	reduceScatter
	reduceLocal
)

// reducer does reductions of elements of one kind.
type reducer interface {
	reduce(r *reduction) (*mpi.Request, error)
}

// operations are the predefined operations on a kind of elements, by handle.
type operations[T any] map[handle]mpi.Op[T]

func (o operations[T]) reduce(r *reduction) (*mpi.Request, error) {
	f := o[r.op.h]
	switch {
	case r.op.fn != 0:
		f = userOp[T](r.op, r.d)
	case f == nil:
		return nil, failf(abi.ErrOp, "%s is not defined on %s", r.op.name, *r.d.name.Load())
	}
	return reduceOf(r, view[T](r.in, r.n), view[T](r.out, r.result), f)
}

// reduceOf does a reduction of elements of T.
func reduceOf[T any](r *reduction, in, out []T, f mpi.Op[T]) (*mpi.Request, error) {
	switch r.how {
	case nonblocking:
		return reduceBegun(r, in, out, f), nil
	case persistent:
		return reduceMade(r, in, out, f), nil
	}
	switch r.kind {
	case reduce:
		return nil, mpi.Reduce(r.on, in, out, f, r.root)
	case allreduce:
		return nil, mpi.Allreduce(r.on, in, out, f)
	case scan:
		return nil, mpi.Scan(r.on, in, out, f)
	case exscan:
		return nil, mpi.Exscan(r.on, in, out, f)
	case reduceLocal:
		return nil, mpi.ReduceLocal(in, out, f)
	}
	return nil, mpi.ReduceScatter(r.on, in, out, r.counts, f)
}

func reduceBegun[T any](r *reduction, in, out []T, f mpi.Op[T]) *mpi.Request {
	switch r.kind {
	case reduce:
		return mpi.Ireduce(r.on, in, out, f, r.root)
	case allreduce:
		return mpi.Iallreduce(r.on, in, out, f)
	case scan:
		return mpi.Iscan(r.on, in, out, f)
	case exscan:
		return mpi.Iexscan(r.on, in, out, f)
	}
	return mpi.IreduceScatter(r.on, in, out, r.counts, f)
}

func reduceMade[T any](r *reduction, in, out []T, f mpi.Op[T]) *mpi.Request {
	switch r.kind {
	case reduce:
		return mpi.ReduceInit(r.on, in, out, f, r.root)
	case allreduce:
		return mpi.AllreduceInit(r.on, in, out, f)
	case scan:
		return mpi.ScanInit(r.on, in, out, f)
	case exscan:
		return mpi.ExscanInit(r.on, in, out, f)
	}
	return mpi.ReduceScatterInit(r.on, in, out, r.counts, f)
}

// do does r: with elements that its datatype has operations on, or, if the operation is the
// program's, with bytes.
func (c *call) do(r *reduction) (*mpi.Request, error) {
	if !r.d.committed.Load() {
		return nil, failf(abi.ErrType, "the datatype is not committed: call MPI_Type_commit first")
	}
	if r.in == abi.InPlace || r.out == abi.InPlace {
		return nil, failf(abi.ErrBuffer, "MPI_IN_PLACE is no buffer of this argument")
	}
	if r.op.h == abi.Replace || r.op.h == abi.NoOp {
		return nil, failf(abi.ErrOp, "%s is an operation of windows, not of reductions", r.op.name)
	}
	if r.d.ops != nil && (r.d.named || r.op.fn == 0 && r.d.made.combiner == abi.CombinerDup) {
		return r.d.ops.reduce(r)
	}
	if r.op.fn == 0 {
		return nil, failf(abi.ErrOp, "%s is not defined on this datatype: predefined operations work on predefined datatypes", r.op.name)
	}
	return c.reduceBytes(r)
}

// reduceBytes does a reduction of values of any datatype by a function of the program.
func (c *call) reduceBytes(r *reduction) (*mpi.Request, error) {
	d := r.d
	if r.kind == reduceLocal {
		callOp(r.op, d.h, r.in, r.out, r.n)
		return nil, nil
	}
	l := d.lay(max(r.n, r.result))
	value := mpi.Resized(mpi.Hindexed([]int{1}, []int{-l.lo}, d.t), 0, d.extent)
	memory := func(addr int64, n int) []byte {
		if n == 0 {
			return nil
		}
		return view[byte](addr+int64(l.lo), d.lay(n).n)
	}
	all := func(n int) *mpi.Datatype { return mpi.Contiguous(n, value) }
	send, recv := all(r.n), all(r.n)
	if r.kind == reduceScatter {
		send, recv = all(1), all(1)
	}
	if r.in == r.out && r.n == r.result {
		recv = send
	}
	r.on = r.on.WithTypes(send, recv)
	return reduceOf(r, memory(r.in, r.n), memory(r.out, r.result), packedOp(r.op, d))
}

func init() {
	for _, x := range []struct {
		kind reductionKind
		ids  [3]procedure.ID
	}{
		{allreduce, [3]procedure.ID{procedure.Allreduce, procedure.Iallreduce, procedure.AllreduceInit}},
		{scan, [3]procedure.ID{procedure.Scan, procedure.Iscan, procedure.ScanInit}},
		{exscan, [3]procedure.ID{procedure.Exscan, procedure.Iexscan, procedure.ExscanInit}},
	} {
		collective(x.ids, 6, func(c *call, f form) (*mpi.Request, error) { return reduceAll(c, f, x.kind) })
	}
	collective([3]procedure.ID{procedure.Reduce, procedure.Ireduce, procedure.ReduceInit}, 7, reduceToRoot)
	collective([3]procedure.ID{procedure.ReduceScatter, procedure.IreduceScatter, procedure.ReduceScatterInit}, 6, reduceScattered)
	collective([3]procedure.ID{procedure.ReduceScatterBlock, procedure.IreduceScatterBlock, procedure.ReduceScatterBlockInit}, 6, reduceScattered)
	register(procedure.ReduceLocal, func(c *call) error {
		n := c.count(2)
		if n > 0 && c.args[0] == c.args[1] {
			return failf(abi.ErrBuffer, "both buffers are the same memory")
		}
		_, err := c.do(&reduction{kind: reduceLocal, op: c.op(4), d: c.datatype(3), in: c.args[0], out: c.args[1], n: n, result: n})
		return err
	})
}

// reduceAll is a reduction whose result goes to every rank.
func reduceAll(c *call, f form, kind reductionKind) (*mpi.Request, error) {
	m, n := c.comm(5), c.count(2)
	r := &reduction{kind: kind, how: f, on: m.Comm, op: c.op(4), d: c.datatype(3), in: c.args[0], out: c.args[1], n: n, result: n}
	if c.inPlace(0) {
		r.in = r.out
	} else {
		c.apart(m, 0, 1, n > 0)
	}
	return c.do(r)
}

func reduceToRoot(c *call, f form) (*mpi.Request, error) {
	m, n, root := c.comm(6), c.count(2), c.int(5)
	r := &reduction{kind: reduce, how: f, on: m.Comm, op: c.op(4), d: c.datatype(3), in: c.args[0], root: root, n: n}
	switch {
	case m.isRoot(root):
		r.out, r.result = c.args[1], n
		c.apart(m, 0, 1, n > 0)
		if m.IsInter() {
			r.in, r.n = 0, 0
		}
	case m.IsInter() && root == mpi.ProcNull:
		r.in, r.n = 0, 0
	}
	if c.inPlace(0) {
		r.in = r.out
	}
	if r.d.ops == nil && m.IsInter() && r.n == 0 {
		r.n, r.in = r.result, r.out // for the layout alone
	}
	return c.do(r)
}

// reduceScattered is both forms of it: with a count for each rank, or one for all.
func reduceScattered(c *call, f form) (*mpi.Request, error) {
	m := c.comm(5)
	counts := make([]int, m.Size())
	switch c.id {
	case procedure.ReduceScatter, procedure.ReduceScatterC, procedure.IreduceScatter, procedure.IreduceScatterC,
		procedure.ReduceScatterInit, procedure.ReduceScatterInitC:
		counts = c.ints(2, m.Size())
	default:
		for i := range counts {
			counts[i] = c.count(2)
		}
	}
	n := 0
	for i, k := range counts {
		if k < 0 {
			return nil, failf(abi.ErrCount, "the count of rank %d is %d: need 0 or more", i, k)
		}
		n += k
	}
	r := &reduction{kind: reduceScatter, how: f, on: m.Comm, op: c.op(4), d: c.datatype(3), in: c.args[0], out: c.args[1],
		n: n, result: counts[m.Rank()], counts: counts}
	if c.inPlace(0) {
		r.in = r.out
	} else {
		c.apart(m, 0, 1, r.result > 0)
	}
	return c.do(r)
}
