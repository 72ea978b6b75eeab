package mpi

import "github.com/fitmpi/fitmpi/mpi/internal/coll"

// ReduceScatter combines in of all ranks, element by element and in the order of the
// ranks, and deals the result out: rank r gets counts[r] elements of it in out, those
// behind the ones of lower ranks. All ranks give the same counts; in holds their sum. in
// and out may start at the same place, and the rest of in is lost then. Over an
// intercommunicator each group deals out to its ranks what the other has in in; their
// counts have the same sum (MPI 4.1, section 6.10.2).
func ReduceScatter[T any](c *Comm, in, out []T, counts []int, op Op[T]) error {
	return beginColl(c, "ReduceScatter", in, out, Undefined).end(done(ireduceScatter(c, "ReduceScatter", in, out, counts, op)))
}

// IreduceScatter starts a ReduceScatter; the worker does the arithmetic
// (MPI 4.1, section 6.12.10).
func IreduceScatter[T any](c *Comm, in, out []T, counts []int, op Op[T]) *Request {
	return beginColl(c, "IreduceScatter", in, out, Undefined).started(ireduceScatter(c, "IreduceScatter", in, out, counts, op))
}

// ReduceScatterInit makes a persistent ReduceScatter (MPI 4.1, section 6.13.10).
func ReduceScatterInit[T any](c *Comm, in, out []T, counts []int, op Op[T]) *Request {
	return beginColl(c, "ReduceScatterInit", in, out, Undefined).started(ireduceScatter(c, "ReduceScatterInit", in, out, counts, op))
}

// ReduceScatterBlock is ReduceScatter in equal blocks: in holds Size of them, and rank r
// gets the r-th in out. in and out may start at the same place
// (MPI 4.1, section 6.10.1).
func ReduceScatterBlock[T any](c *Comm, in, out []T, op Op[T]) error {
	return beginColl(c, "ReduceScatterBlock", in, out, Undefined).end(done(ireduceScatterBlock(c, "ReduceScatterBlock", in, out, op)))
}

// IreduceScatterBlock starts a ReduceScatterBlock; the worker does the arithmetic
// (MPI 4.1, section 6.12.9).
func IreduceScatterBlock[T any](c *Comm, in, out []T, op Op[T]) *Request {
	return beginColl(c, "IreduceScatterBlock", in, out, Undefined).started(ireduceScatterBlock(c, "IreduceScatterBlock", in, out, op))
}

// ReduceScatterBlockInit makes a persistent ReduceScatterBlock (MPI 4.1, section 6.13.9).
func ReduceScatterBlockInit[T any](c *Comm, in, out []T, op Op[T]) *Request {
	return beginColl(c, "ReduceScatterBlockInit", in, out, Undefined).started(ireduceScatterBlock(c, "ReduceScatterBlockInit", in, out, op))
}

func ireduceScatterBlock[T any](c *Comm, op string, in, out []T, f Op[T]) *Request {
	if err := c.checkColl(op, 0); err != nil {
		return failedRequest(c, err)
	}
	n := 1
	if c.sendType == nil {
		if err := c.checkMultiple(op, len(in)); err != nil {
			return failedRequest(c, err)
		}
		n = len(in) / c.Size()
	}
	return ireduceScatter(c, op, in, out, equalBlocks(c.Size(), n).counts, f)
}

func ireduceScatter[T any](c *Comm, op string, in, out []T, counts []int, f Op[T]) *Request {
	if err := c.checkReduction(op, 0, 0, 0, false, f == nil); err != nil {
		return failedRequest(c, err)
	}
	e := elemOf[T]()
	if e.err != nil {
		return failedRequest(c, opError(ErrType, op, e.err))
	}
	c.noteElem(e)
	bl, err := typedBlocks(op, "in", c.Size(), c.sendType, len(in), counts, nil)
	if err == nil && !c.isTyped() {
		if err = checkLen(op, "out", len(out), bl.counts[c.rank]); err == nil {
			in, out = in[:bl.total()], out[:bl.counts[c.rank]]
		}
	}
	if err != nil {
		return failedRequest(c, err)
	}
	if c.isInter() {
		return interReduceScatter(c, op, e, in, out, bl, f)
	}
	if c.serialises(e) {
		return reduceScatterObjects(c, op, in, out, bl, f)
	}
	var x reduced
	if err := reducedBy(&x, c, op, f, in, bl.total(), out, bl.counts[c.rank]); err != nil {
		return failedRequest(c, err)
	}
	return (&collective{prepare: x.prepare, foreign: x.foreign, sent: x.sent}).start(c, op, func(g coll.Graph) {
		counts, _ := bl.bytes(x.in.Len() / max(bl.total(), 1))
		coll.ReduceScatter(g, c.algorithm(coll.KindReduceScatter), c.rank, c.Size(), x.in, x.out, counts, x.red)
	})
}

// reduceScatterObjects is a ReduceScatter of values that travel serialised: rank 0
// combines them and deals them out.
func reduceScatterObjects[T any](c *Comm, op string, in, out []T, bl blocks, f Op[T]) *Request {
	acc := &objectAccumulator[T]{f: f, n: len(in)}
	c.noteOrder(isCommutative(f))
	var mine []byte
	return (&collective{
		foreign: true,
		prepare: func() error { return acc.load(op, in) },
		deliver: func() error { return decodeExactly(mine, out) },
	}).start(c, op, func(g coll.Graph) {
		split := func(all [][]byte) error { return encodeBlocks(op, all, acc.v, bl) }
		coll.ReduceScatterObject(g, c.rank, c.Size(), acc.reducer(), split, &mine)
	})
}
