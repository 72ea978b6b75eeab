package mpi

import (
	"github.com/fitmpi/fitmpi/mpi/internal/coll"
)

// Gather collects in of every rank, all of the same length, in out of rank root, in the order of
// the ranks. There out has Size times as many elements as in; elsewhere it is ignored. At the root
// in may be the part of out that it goes to. Over an intercommunicator the root, which gives Root
// as root, gets equal blocks from the other group, whose ranks give its rank; the others of its
// group give ProcNull (MPI 4.1, section 6.5).
func Gather[T any](c *Comm, in, out []T, root int) error {
	return beginColl(c, "Gather", in, out, root).end(done(igather(c, "Gather", in, out, root)))
}

// Igather starts a Gather (MPI 4.1, section 6.12.3).
func Igather[T any](c *Comm, in, out []T, root int) *Request {
	return beginColl(c, "Igather", in, out, root).started(igather(c, "Igather", in, out, root))
}

// GatherInit makes a persistent Gather (MPI 4.1, section 6.13.3).
func GatherInit[T any](c *Comm, in, out []T, root int) *Request {
	return beginColl(c, "GatherInit", in, out, root).started(igather(c, "GatherInit", in, out, root))
}

func igather[T any](c *Comm, op string, in, out []T, root int) *Request {
	e, err := collElem[T](c, op, root)
	if err != nil {
		return failedRequest(c, err)
	}
	if c.isInter() {
		return interGather(c, op, e, in, out, root)
	}
	if c.rank == root && !c.isTyped() {
		err = checkLen(op, "out", len(out), c.Size()*len(in))
	}
	if err != nil {
		return failedRequest(c, err)
	}
	if c.serialises(e) {
		return gatherObjects(c, op, in, out, equalBlocks(c.Size(), len(in)), root)
	}
	if c.rank == root && !c.isTyped() {
		if err := checkApart(op, in, out[:c.Size()*len(in)], c.rank*len(in), placeOfIn); err != nil {
			return failedRequest(c, err)
		}
	}
	from, err := wholeOf(c, op, c.sendType, in, 1)
	var to coll.Buf
	if err == nil && c.rank == root {
		to, err = equalOf(c, op, "out", c.recvType, out, from.Len())
	}
	if err != nil {
		return failedRequest(c, err)
	}
	x := collective{sent: c.sends(bytesOf(in), c.atRoot(root, bytesOf(out)), from)}
	return x.repeats(c, coll.KindGather, root, from, to).start(c, op, func(g coll.Graph) {
		coll.Gather(g, c.algorithm(coll.KindGather), c.rank, c.Size(), root, from, to)
	})
}

// atRoot is the memory out, which only the root receives into.
func (c *Comm) atRoot(root int, out []byte) []byte {
	if c.rank != root {
		return nil
	}
	return out
}

func interGather[T any](c *Comm, op string, e *elem, in, out []T, root int) *Request {
	switch root {
	case ProcNull:
		return interIdle(c, op)
	case Root:
		bl, err := c.interBlocks(op, "out", c.recvType, len(out))
		if err != nil {
			return failedRequest(c, err)
		}
		return interCollect(c, op, e, out, bl)
	}
	return interSend(c, op, e, in, root)
}

// Gatherv is Gather of blocks of different lengths: counts[r] elements of rank r go to
// out[displs[r]:]. displs nil packs them without gaps. out, counts and displs matter at the root
// only, where in may be its block of out (MPI 4.1, section 6.5).
func Gatherv[T any](c *Comm, in, out []T, counts, displs []int, root int) error {
	return beginColl(c, "Gatherv", in, out, root).end(done(igatherv(c, "Gatherv", in, out, counts, displs, root)))
}

// Igatherv starts a Gatherv (MPI 4.1, section 6.12.3).
func Igatherv[T any](c *Comm, in, out []T, counts, displs []int, root int) *Request {
	return beginColl(c, "Igatherv", in, out, root).started(igatherv(c, "Igatherv", in, out, counts, displs, root))
}

// GathervInit makes a persistent Gatherv (MPI 4.1, section 6.13.3).
func GathervInit[T any](c *Comm, in, out []T, counts, displs []int, root int) *Request {
	return beginColl(c, "GathervInit", in, out, root).started(igatherv(c, "GathervInit", in, out, counts, displs, root))
}

func igatherv[T any](c *Comm, op string, in, out []T, counts, displs []int, root int) *Request {
	e, err := collElem[T](c, op, root)
	if err != nil {
		return failedRequest(c, err)
	}
	if c.isInter() {
		return interGatherv(c, op, e, in, out, counts, displs, root)
	}
	bl, err := c.blocksAtRoot(op, "out", root, c.recvType, len(out), counts, displs, "in", len(in))
	if err != nil {
		return failedRequest(c, err)
	}
	if c.serialises(e) {
		return gatherObjects(c, op, in, out, bl, root)
	}
	from, err := wholeOf(c, op, c.sendType, in, 1)
	var to operand
	if err == nil && c.rank == root {
		if to, err = blocksOf(c, op, c.recvType, out, bl); err == nil {
			err = checkOwn(op, "in", bytesLong, from.Len(), to.counts[root])
		}
	}
	if err != nil {
		return failedRequest(c, err)
	}
	return (&collective{sent: c.sends(bytesOf(in), c.atRoot(root, bytesOf(out)), from)}).start(c, op, func(g coll.Graph) {
		coll.Gatherv(g, c.rank, c.Size(), root, from, to.Buf, to.counts, to.displs)
	})
}

func interGatherv[T any](c *Comm, op string, e *elem, in, out []T, counts, displs []int, root int) *Request {
	if root != Root {
		return interGather(c, op, e, in, nil, root)
	}
	bl, err := typedBlocks(op, "out", c.RemoteSize(), c.recvType, len(out), counts, displs)
	if err != nil {
		return failedRequest(c, err)
	}
	return interCollect(c, op, e, out, bl)
}

func gatherObjects[T any](c *Comm, op string, in, out []T, bl blocks, root int) *Request {
	var mine []byte
	all := make([][]byte, c.Size())
	x := collective{
		prepare: func() error { return encodeInto(op, &mine, in) },
	}
	if c.rank == root {
		x.deliver = func() error { return decodeBlocks(all, out, bl) }
	}
	return x.start(c, op, func(g coll.Graph) {
		coll.GatherObject(g, c.rank, c.Size(), root, &mine, all)
	})
}

// decodeBlocks deserialises all[r] into the block of rank r.
func decodeBlocks[T any](all [][]byte, out []T, bl blocks) error {
	for r, b := range all {
		if err := decodeExactly(b, out[bl.displs[r]:bl.displs[r]+bl.counts[r]]); err != nil {
			return err
		}
	}
	return nil
}

// encodeBlocks serialises the block of each rank r into all[r].
func encodeBlocks[T any](op string, all [][]byte, in []T, bl blocks) error {
	for r := range all {
		if err := encodeInto(op, &all[r], in[bl.displs[r]:bl.displs[r]+bl.counts[r]]); err != nil {
			return err
		}
	}
	return nil
}

// Scatter deals in of rank root out to the ranks in equal blocks of len(out) elements: rank r gets
// the r-th. At the root in has Size such blocks, and out may be the part of in that it gets.
// Elsewhere in is ignored. Over an intercommunicator the root, which gives Root as root, deals out
// to the other group, whose ranks give its rank; the others of its group give ProcNull (MPI 4.1,
// section 6.6).
func Scatter[T any](c *Comm, in, out []T, root int) error {
	return beginColl(c, "Scatter", in, out, root).end(done(iscatter(c, "Scatter", in, out, root)))
}

// Iscatter starts a Scatter (MPI 4.1, section 6.12.4).
func Iscatter[T any](c *Comm, in, out []T, root int) *Request {
	return beginColl(c, "Iscatter", in, out, root).started(iscatter(c, "Iscatter", in, out, root))
}

// ScatterInit makes a persistent Scatter (MPI 4.1, section 6.13.4).
func ScatterInit[T any](c *Comm, in, out []T, root int) *Request {
	return beginColl(c, "ScatterInit", in, out, root).started(iscatter(c, "ScatterInit", in, out, root))
}

func iscatter[T any](c *Comm, op string, in, out []T, root int) *Request {
	e, err := collElem[T](c, op, root)
	if err != nil {
		return failedRequest(c, err)
	}
	if c.isInter() {
		return interScatter(c, op, e, in, out, root)
	}
	if c.rank == root && !c.isTyped() {
		err = checkLen(op, "in", len(in), c.Size()*len(out))
	}
	if err != nil {
		return failedRequest(c, err)
	}
	if c.serialises(e) {
		return scatterObjects(c, op, in, equalBlocks(c.Size(), len(out)), out, root)
	}
	if c.rank == root && !c.isTyped() {
		if err := checkApart(op, out, in[:c.Size()*len(out)], c.rank*len(out), placeOfOut); err != nil {
			return failedRequest(c, err)
		}
	}
	to, err := wholeOf(c, op, c.recvType, out, 1)
	var from coll.Buf
	if err == nil && c.rank == root {
		from, err = equalOf(c, op, "in", c.sendType, in, to.Len())
	}
	if err != nil {
		return failedRequest(c, err)
	}
	x := collective{sent: c.sends(bytesOf(in), bytesOf(out), from)}
	return x.repeats(c, coll.KindScatter, root, from, to).start(c, op, func(g coll.Graph) {
		coll.Scatter(g, c.algorithm(coll.KindScatter), c.rank, c.Size(), root, from, to)
	})
}

func interScatter[T any](c *Comm, op string, e *elem, in, out []T, root int) *Request {
	switch root {
	case ProcNull:
		return interIdle(c, op)
	case Root:
		bl, err := c.interBlocks(op, "in", c.sendType, len(in))
		if err != nil {
			return failedRequest(c, err)
		}
		return interDeal(c, op, e, in, bl)
	}
	return interRecv(c, op, e, out, root)
}

// Scatterv is Scatter of blocks of different lengths: rank r gets counts[r] elements from
// in[displs[r]:]. displs nil means without gaps. in, counts and displs matter at the root only,
// where out may be its block of in (MPI 4.1, section 6.6).
func Scatterv[T any](c *Comm, in []T, counts, displs []int, out []T, root int) error {
	return beginColl(c, "Scatterv", in, out, root).end(done(iscatterv(c, "Scatterv", in, counts, displs, out, root)))
}

// Iscatterv starts a Scatterv (MPI 4.1, section 6.12.4).
func Iscatterv[T any](c *Comm, in []T, counts, displs []int, out []T, root int) *Request {
	return beginColl(c, "Iscatterv", in, out, root).started(iscatterv(c, "Iscatterv", in, counts, displs, out, root))
}

// ScattervInit makes a persistent Scatterv (MPI 4.1, section 6.13.4).
func ScattervInit[T any](c *Comm, in []T, counts, displs []int, out []T, root int) *Request {
	return beginColl(c, "ScattervInit", in, out, root).started(iscatterv(c, "ScattervInit", in, counts, displs, out, root))
}

func iscatterv[T any](c *Comm, op string, in []T, counts, displs []int, out []T, root int) *Request {
	e, err := collElem[T](c, op, root)
	if err != nil {
		return failedRequest(c, err)
	}
	if c.isInter() {
		return interScatterv(c, op, e, in, counts, displs, out, root)
	}
	bl, err := c.blocksAtRoot(op, "in", root, c.sendType, len(in), counts, displs, "out", len(out))
	if err != nil {
		return failedRequest(c, err)
	}
	if c.serialises(e) {
		return scatterObjects(c, op, in, bl, out, root)
	}
	to, err := wholeOf(c, op, c.recvType, out, 1)
	var from operand
	if err == nil && c.rank == root {
		if from, err = blocksOf(c, op, c.sendType, in, bl); err == nil {
			err = checkOwn(op, "out", bytesLong, to.Len(), from.counts[root])
		}
	}
	if err != nil {
		return failedRequest(c, err)
	}
	return (&collective{sent: c.sendsBlocks(bytesOf(in), bytesOf(out), &from)}).start(c, op, func(g coll.Graph) {
		coll.Scatterv(g, c.rank, c.Size(), root, from.Buf, from.counts, from.displs, to)
	})
}

func interScatterv[T any](c *Comm, op string, e *elem, in []T, counts, displs []int, out []T, root int) *Request {
	if root != Root {
		return interScatter(c, op, e, nil, out, root)
	}
	bl, err := typedBlocks(op, "in", c.RemoteSize(), c.sendType, len(in), counts, displs)
	if err != nil {
		return failedRequest(c, err)
	}
	return interDeal(c, op, e, in, bl)
}

func scatterObjects[T any](c *Comm, op string, in []T, bl blocks, out []T, root int) *Request {
	var mine []byte
	all := make([][]byte, len(bl.counts))
	x := collective{
		deliver: func() error { return decodeExactly(mine, out) },
	}
	if c.rank == root {
		x.prepare = func() error { return encodeBlocks(op, all, in, bl) }
	}
	return x.start(c, op, func(g coll.Graph) {
		coll.ScatterObject(g, c.rank, c.Size(), root, all, &mine)
	})
}
