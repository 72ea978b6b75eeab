//go:build linux

package mpi

import "github.com/fitmpi/fitmpi/mpi/internal/coll"

// Scatter deals in of rank root out to the ranks in equal blocks of len(out)
// elements; in is ignored elsewhere. At the root out may be the part of in that it gets.
// Over an intercommunicator the root, which gives Root as root, deals out to the other
// group, whose ranks give its rank; the others of its group give ProcNull
// (MPI 4.1, section 6.6).
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
	return collective{sent: c.sends(bytesOf(in), bytesOf(out), from)}.start(c, op, func(g coll.Graph) {
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

// Scatterv is Scatter of blocks of different lengths: rank r gets counts[r]
// elements from in[displs[r]:]. displs nil means without gaps. in, counts and
// displs count at the root only, where out may be its block of in
// (MPI 4.1, section 6.6).
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
	return collective{sent: c.sendsBlocks(bytesOf(in), bytesOf(out), &from)}.start(c, op, func(g coll.Graph) {
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
