package mpi

import (
	"github.com/fitmpi/fitmpi/mpi/internal/coll"
)

// Reduce combines in of all ranks, element by element and in the order of the ranks, and leaves the
// result in out of rank root. in has the same length at all ranks, and out at the root has that
// too; elsewhere out is ignored. At the root in and out may be the same slice. Over an
// intercommunicator the root, which gives Root as root, gets what the other group, whose ranks give
// its rank, has in in; the others of its group give ProcNull (MPI 4.1, section 6.9.1).
func Reduce[T any](c *Comm, in, out []T, op Op[T], root int) error {
	return beginColl(c, "Reduce", in, out, root).end(done(ireduce(c, "Reduce", in, out, op, root)))
}

// Ireduce starts a Reduce; the worker does the arithmetic (MPI 4.1, section 6.12.7).
func Ireduce[T any](c *Comm, in, out []T, op Op[T], root int) *Request {
	return beginColl(c, "Ireduce", in, out, root).started(ireduce(c, "Ireduce", in, out, op, root))
}

// ReduceInit makes a persistent Reduce (MPI 4.1, section 6.13.7).
func ReduceInit[T any](c *Comm, in, out []T, op Op[T], root int) *Request {
	return beginColl(c, "ReduceInit", in, out, root).started(ireduce(c, "ReduceInit", in, out, op, root))
}

func ireduce[T any](c *Comm, op string, in, out []T, f Op[T], root int) *Request {
	if c.isInter() {
		return interReduce(c, op, in, out, f, root)
	}
	if err := c.checkColl(op, root); err != nil {
		return failedRequest(c, err)
	}
	isRoot := c.rank == root
	if !isRoot {
		out = nil
	}
	return ireduction(c, op, in, out, f, root, isRoot, &reduceOp)
}

// Allreduce combines in of all ranks, element by element and in the order of the ranks, and leaves
// the same result in out everywhere, to the last bit. in has the same length at all ranks, and out
// has that too; they may be the same slice. Over an intercommunicator each group gets what the
// other has in in (MPI 4.1, section 6.9.6).
func Allreduce[T any](c *Comm, in, out []T, op Op[T]) error {
	return beginColl(c, "Allreduce", in, out, Undefined).end(done(iallreduce(c, "Allreduce", in, out, op)))
}

// Iallreduce starts an Allreduce; the worker does the arithmetic (MPI 4.1, section 6.12.8).
func Iallreduce[T any](c *Comm, in, out []T, op Op[T]) *Request {
	return beginColl(c, "Iallreduce", in, out, Undefined).started(iallreduce(c, "Iallreduce", in, out, op))
}

// AllreduceInit makes a persistent Allreduce (MPI 4.1, section 6.13.8).
func AllreduceInit[T any](c *Comm, in, out []T, op Op[T]) *Request {
	return beginColl(c, "AllreduceInit", in, out, Undefined).started(iallreduce(c, "AllreduceInit", in, out, op))
}

func iallreduce[T any](c *Comm, op string, in, out []T, f Op[T]) *Request {
	if c.isInter() {
		return interAllreduce(c, op, in, out, f)
	}
	return ireduction(c, op, in, out, f, 0, true, &allreduceOp)
}

// Scan leaves in out of rank r the combination of in of ranks 0 to r, element by element. in has
// the same length at all ranks, and out has that too; they may be the same slice. An
// intercommunicator is an error of class [ErrComm] (MPI 4.1, section 6.11.1).
func Scan[T any](c *Comm, in, out []T, op Op[T]) error {
	return beginColl(c, "Scan", in, out, Undefined).end(done(iscan(c, "Scan", in, out, op)))
}

// Iscan starts a Scan (MPI 4.1, section 6.12.11).
func Iscan[T any](c *Comm, in, out []T, op Op[T]) *Request {
	return beginColl(c, "Iscan", in, out, Undefined).started(iscan(c, "Iscan", in, out, op))
}

// ScanInit makes a persistent Scan (MPI 4.1, section 6.13.11).
func ScanInit[T any](c *Comm, in, out []T, op Op[T]) *Request {
	return beginColl(c, "ScanInit", in, out, Undefined).started(iscan(c, "ScanInit", in, out, op))
}

func iscan[T any](c *Comm, op string, in, out []T, f Op[T]) *Request {
	if c.isInter() {
		return interUndefined(c, op)
	}
	return ireduction(c, op, in, out, f, 0, true, &scanOp)
}

// Exscan is Scan of the ranks below r only; out of rank 0 is left as it is. in and out may be the
// same slice. An intercommunicator is an error of class [ErrComm] (MPI 4.1, section 6.11.2).
func Exscan[T any](c *Comm, in, out []T, op Op[T]) error {
	return beginColl(c, "Exscan", in, out, Undefined).end(done(iexscan(c, "Exscan", in, out, op)))
}

// Iexscan starts an Exscan (MPI 4.1, section 6.12.12).
func Iexscan[T any](c *Comm, in, out []T, op Op[T]) *Request {
	return beginColl(c, "Iexscan", in, out, Undefined).started(iexscan(c, "Iexscan", in, out, op))
}

// ExscanInit makes a persistent Exscan (MPI 4.1, section 6.13.12).
func ExscanInit[T any](c *Comm, in, out []T, op Op[T]) *Request {
	return beginColl(c, "ExscanInit", in, out, Undefined).started(iexscan(c, "ExscanInit", in, out, op))
}

func iexscan[T any](c *Comm, op string, in, out []T, f Op[T]) *Request {
	if c.isInter() {
		return interUndefined(c, op)
	}
	if err := c.checkColl(op, 0); err != nil {
		return failedRequest(c, err)
	}
	return ireduction(c, op, in, out, f, 0, c.rank > 0, &exscanOp)
}

// reduction is what tells one reduction from another. root means nothing to those that have none.
type reduction struct {
	kind   coll.Kind
	plain  func(g coll.Graph, alg coll.Algorithm, rank, size, root int, in, out coll.Buf, red coll.Reducer)
	object func(g coll.Graph, rank, size, root int, red coll.ObjectReducer)
}

var (
	reduceOp = reduction{coll.KindReduce,
		func(g coll.Graph, alg coll.Algorithm, rank, size, root int, in, out coll.Buf, red coll.Reducer) {
			coll.Reduce(g, alg, rank, size, root, in, out, red)
		},
		func(g coll.Graph, rank, size, root int, red coll.ObjectReducer) {
			coll.ReduceObject(g, rank, size, root, red)
		}}
	allreduceOp = reduction{coll.KindAllreduce,
		func(g coll.Graph, alg coll.Algorithm, rank, size, _ int, in, out coll.Buf, red coll.Reducer) {
			coll.Allreduce(g, alg, rank, size, in, out, red)
		},
		func(g coll.Graph, rank, size, _ int, red coll.ObjectReducer) {
			coll.AllreduceObject(g, rank, size, red)
		}}
	scanOp = reduction{coll.KindScan,
		func(g coll.Graph, alg coll.Algorithm, rank, size, _ int, in, out coll.Buf, red coll.Reducer) {
			coll.Scan(g, alg, rank, size, in, out, red)
		},
		func(g coll.Graph, rank, size, _ int, red coll.ObjectReducer) { coll.ScanObject(g, rank, size, red) }}
	exscanOp = reduction{coll.KindExscan,
		func(g coll.Graph, alg coll.Algorithm, rank, size, _ int, in, out coll.Buf, red coll.Reducer) {
			coll.Exscan(g, alg, rank, size, in, out, red)
		},
		func(g coll.Graph, rank, size, _ int, red coll.ObjectReducer) { coll.ExscanObject(g, rank, size, red) }}
)

// ireduction is the reduction of a kind; wantsOut says that this rank gets a result.
func ireduction[T any](c *Comm, op string, in, out []T, f Op[T], root int, wantsOut bool, kind *reduction) *Request {
	if err := c.checkReduction(op, root, len(in), len(out), wantsOut && !c.isTyped(), f == nil); err != nil {
		return failedRequest(c, err)
	}
	e := elemOf[T]()
	switch {
	case e.err != nil:
		return failedRequest(c, opError(ErrType, op, e.err))
	case c.serialises(e):
		return reduceObjects(c, op, in, out, f, root, wantsOut, kind)
	}
	c.noteElem(e)
	own := 0
	if wantsOut {
		own = 1
	}
	if wantsOut && !c.isTyped() {
		out = out[:len(in)]
	}
	var x reduced
	if err := reducedBy(&x, c, op, f, in, 1, out, own); err != nil {
		return failedRequest(c, err)
	}
	y := collective{prepare: x.prepare, foreign: x.foreign, sent: x.sent}
	return y.reduces(c, kind.kind, root, &x).start(c, op, func(g coll.Graph) {
		kind.plain(g, c.algorithm(kind.kind), c.rank, c.Size(), root, x.in, x.out, x.red)
	})
}

func (c *Comm) checkReduction(op string, root, in, out int, wantsOut, noOp bool) *Error {
	if err := c.checkColl(op, root); err != nil {
		return err
	}
	if noOp {
		return opErrorf(ErrOp, op, "the operation is nil: give a function such as mpi.Sum")
	}
	if wantsOut {
		return checkLen(op, "out", out, in)
	}
	return nil
}

// reducer makes an operation on elements one on bytes. foreign says that it is one of the user's.
func reducer[T any](f Op[T], e *elem) (red coll.Reducer, foreign bool) {
	k := knownOf(f)
	red = coll.Reducer{ElemSize: e.size, Commutative: commutes[T](k.kind)}
	switch foreign = !isPredefined[T](k.kind); {
	case foreign:
		red.Combine = func(acc, in []byte) error { return calledBack(f, sliceOf[T](acc), sliceOf[T](in)) }
	case k.combine != nil && k.elem == e.id:
		red.Combine = k.combine
	default: // the compiler has one function for several types
		red.Combine = combiner(f)
	}
	return red, foreign
}

// reduceObjects is a reduction of values that travel serialised. The operation
// works on copies: it may change its arguments, and the user's must not change.
func reduceObjects[T any](c *Comm, op string, in, out []T, f Op[T], root int, wantsOut bool, kind *reduction) *Request {
	acc := &objectAccumulator[T]{f: f, n: len(in)}
	c.noteOrder(isCommutative(f))
	return (&collective{
		foreign: true,
		prepare: func() error { return acc.load(op, in) },
		deliver: func() error {
			if wantsOut {
				copy(out, acc.v)
			}
			return nil
		},
	}).start(c, op, func(g coll.Graph) {
		kind.object(g, c.rank, c.Size(), root, acc.reducer())
	})
}

// objectAccumulator holds a partial result. Owned by the schedule, one step at a time.
type objectAccumulator[T any] struct {
	f Op[T]
	n int
	v []T
}

func (a *objectAccumulator[T]) reducer() coll.ObjectReducer {
	back := func(g func(b []byte) error) func(b []byte) error {
		return func(b []byte) error { return calledBackFor(func() error { return g(b) }) }
	}
	return coll.ObjectReducer{
		Encode: func() (b []byte, _ error) {
			return b, calledBackFor(func() (err error) {
				b, err = a.encode()
				return err
			})
		},
		CombineHigher: back(a.combineHigher), CombineLower: back(a.combineLower), Set: back(a.set),
	}
}

// load sets the accumulator to a copy of in.
func (a *objectAccumulator[T]) load(op string, in []T) error {
	var b []byte
	if err := encodeInto(op, &b, in); err != nil {
		return err
	}
	return a.set(b)
}

func (a *objectAccumulator[T]) encode() (b []byte, err error) {
	err = encodeInto("", &b, a.v)
	return b, err
}

func (a *objectAccumulator[T]) decode(b []byte) ([]T, error) {
	v, err := decodeNewObjects[T](b)
	err = undecoded(err)
	if err == nil && len(v) != a.n {
		err = opErrorf(ErrCount, "", "%d objects arrived, this rank gave %d: all ranks must give the same count", len(v), a.n)
	}
	return v, err
}

func (a *objectAccumulator[T]) set(b []byte) (err error) {
	a.v, err = a.decode(b)
	return err
}

func (a *objectAccumulator[T]) combineHigher(b []byte) error {
	v, err := a.decode(b)
	if err == nil {
		a.f(a.v, v)
	}
	return err
}

func (a *objectAccumulator[T]) combineLower(b []byte) error {
	v, err := a.decode(b)
	if err == nil {
		a.f(v, a.v)
		a.v = v
	}
	return err
}
