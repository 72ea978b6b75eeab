package mpi

import "github.com/fitmpi/fitmpi/mpi/internal/coll"

// Allgather collects in of every rank, all of the same length, in out of every rank, in the order
// of the ranks (MPI 4.1, section 6.7). out has Size times as many elements as in; in may be the
// part of out that it goes to. Over an intercommunicator each group gets what the other gives, in
// equal blocks that fill out.
func Allgather[T any](c *Comm, in, out []T) error {
	return beginColl(c, "Allgather", in, out, Undefined).end(done(iallgather(c, "Allgather", in, out)))
}

// Iallgather starts an Allgather (MPI 4.1, section 6.12.5).
func Iallgather[T any](c *Comm, in, out []T) *Request {
	return beginColl(c, "Iallgather", in, out, Undefined).started(iallgather(c, "Iallgather", in, out))
}

// AllgatherInit makes a persistent Allgather (MPI 4.1, section 6.13.5).
func AllgatherInit[T any](c *Comm, in, out []T) *Request {
	return beginColl(c, "AllgatherInit", in, out, Undefined).started(iallgather(c, "AllgatherInit", in, out))
}

func iallgather[T any](c *Comm, op string, in, out []T) *Request {
	e, err := collElem[T](c, op, 0)
	if err != nil {
		return failedRequest(c, err)
	}
	if c.isInter() {
		bl, err := c.interBlocks(op, "out", c.recvType, len(out))
		if err != nil {
			return failedRequest(c, err)
		}
		return interAllgather(c, op, e, in, out, bl)
	}
	if !c.isTyped() {
		err = checkLen(op, "out", len(out), c.Size()*len(in))
	}
	if err != nil {
		return failedRequest(c, err)
	}
	if c.serialises(e) {
		return allgatherObjects(c, op, in, out, equalBlocks(c.Size(), len(in)))
	}
	if !c.isTyped() {
		if err := checkApart(op, in, out[:c.Size()*len(in)], c.rank*len(in), placeOfIn); err != nil {
			return failedRequest(c, err)
		}
	}
	from, err := wholeOf(c, op, c.sendType, in, 1)
	if err != nil {
		return failedRequest(c, err)
	}
	to, err := equalOf(c, op, "out", c.recvType, out, from.Len())
	if err != nil {
		return failedRequest(c, err)
	}
	x := collective{sent: c.sends(bytesOf(in), bytesOf(out), from)}
	return x.repeats(c, coll.KindAllgather, 0, from, to).start(c, op, func(g coll.Graph) {
		coll.Allgather(g, c.algorithm(coll.KindAllgather), c.rank, c.Size(), from, to)
	})
}

// Allgatherv is Gatherv whose result every rank gets: counts[r] elements of rank r go to
// out[displs[r]:]. All ranks give the same counts. in may be this rank's block of out. Over an
// intercommunicator the blocks are those of the other group (MPI 4.1, section 6.7).
func Allgatherv[T any](c *Comm, in, out []T, counts, displs []int) error {
	return beginColl(c, "Allgatherv", in, out, Undefined).end(done(iallgatherv(c, "Allgatherv", in, out, counts, displs)))
}

// Iallgatherv starts an Allgatherv (MPI 4.1, section 6.12.5).
func Iallgatherv[T any](c *Comm, in, out []T, counts, displs []int) *Request {
	return beginColl(c, "Iallgatherv", in, out, Undefined).started(iallgatherv(c, "Iallgatherv", in, out, counts, displs))
}

// AllgathervInit makes a persistent Allgatherv (MPI 4.1, section 6.13.5).
func AllgathervInit[T any](c *Comm, in, out []T, counts, displs []int) *Request {
	return beginColl(c, "AllgathervInit", in, out, Undefined).started(iallgatherv(c, "AllgathervInit", in, out, counts, displs))
}

func iallgatherv[T any](c *Comm, op string, in, out []T, counts, displs []int) *Request {
	e, err := collElem[T](c, op, 0)
	if err != nil {
		return failedRequest(c, err)
	}
	bl, err := typedBlocks(op, "out", len(c.peers), c.recvType, len(out), counts, displs)
	if err == nil && !c.isInter() && !c.isTyped() {
		err = checkOwn(op, "in", elementsLong, len(in), bl.counts[c.rank])
	}
	if err != nil {
		return failedRequest(c, err)
	}
	if c.isInter() {
		return interAllgather(c, op, e, in, out, bl)
	}
	if c.serialises(e) {
		return allgatherObjects(c, op, in, out, bl)
	}
	from, err := wholeOf(c, op, c.sendType, in, 1)
	if err != nil {
		return failedRequest(c, err)
	}
	to, err := blocksOf(c, op, c.recvType, out, bl)
	if err == nil {
		err = checkOwn(op, "in", bytesLong, from.Len(), to.counts[c.rank])
	}
	if err != nil {
		return failedRequest(c, err)
	}
	return (&collective{sent: c.sends(bytesOf(in), bytesOf(out), from)}).start(c, op, func(g coll.Graph) {
		coll.Allgatherv(g, c.algorithm(coll.KindAllgather), c.rank, c.Size(), from, to.Buf, to.counts, to.displs)
	})
}

func allgatherObjects[T any](c *Comm, op string, in, out []T, bl blocks) *Request {
	var mine []byte
	all := make([][]byte, c.Size())
	return (&collective{
		prepare: func() error { return encodeInto(op, &mine, in) },
		deliver: func() error { return decodeBlocks(all, out, bl) },
	}).start(c, op, func(g coll.Graph) {
		coll.AllgatherObject(g, c.rank, c.Size(), &mine, all)
	})
}
