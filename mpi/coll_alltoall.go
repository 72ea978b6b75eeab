package mpi

import (
	"slices"

	"github.com/fitmpi/fitmpi/mpi/internal/coll"
)

// Alltoall sends the r-th block of in to rank r and receives the r-th block of
// out from it; in and out hold Size equal blocks and may be the same slice. Over an
// intercommunicator r is a rank of the other group; in and out are different slices then,
// each of RemoteSize equal blocks (MPI 4.1, section 6.8).
func Alltoall[T any](c *Comm, in, out []T) error {
	return beginColl(c, "Alltoall", in, out, Undefined).end(done(ialltoall(c, "Alltoall", in, out)))
}

// Ialltoall starts an Alltoall (MPI 4.1, section 6.12.6).
func Ialltoall[T any](c *Comm, in, out []T) *Request {
	return beginColl(c, "Ialltoall", in, out, Undefined).started(ialltoall(c, "Ialltoall", in, out))
}

// AlltoallInit makes a persistent Alltoall (MPI 4.1, section 6.13.6).
func AlltoallInit[T any](c *Comm, in, out []T) *Request {
	return beginColl(c, "AlltoallInit", in, out, Undefined).started(ialltoall(c, "AlltoallInit", in, out))
}

func ialltoall[T any](c *Comm, op string, in, out []T) *Request {
	e, err := collElem[T](c, op, 0)
	if err == nil && c.isInter() {
		return interAlltoall(c, op, e, in, out)
	}
	if err == nil && c.sendType == nil {
		err = c.checkMultiple(op, len(in))
	}
	if err == nil && !c.isTyped() {
		err = checkLen(op, "out", len(out), len(in))
	}
	if err != nil {
		return failedRequest(c, err)
	}
	if c.serialises(e) {
		bl := equalBlocks(c.Size(), len(in)/c.Size())
		return alltoallObjects(c, op, in, bl, out, bl)
	}
	if !c.isTyped() {
		if err := checkApart(op, in, out[:len(in)], 0, placeSame); err != nil {
			return failedRequest(c, err)
		}
	}
	from, err := wholeOf(c, op, c.sendType, in, c.Size())
	if err != nil {
		return failedRequest(c, err)
	}
	to, err := equalOf(c, op, "out", c.recvType, out, from.Len()/c.Size())
	if err != nil {
		return failedRequest(c, err)
	}
	from, copied := c.inPlace(e, bytesOf(in), bytesOf(out), from, to, true)
	x := collective{sent: c.sends(bytesOf(in), bytesOf(out), from)}
	if !copied {
		x.repeats(c, coll.KindAlltoall, 0, from, to)
	}
	return x.start(c, op, func(g coll.Graph) {
		in, after := maybeApart(g, from, copied)
		coll.Alltoall(g, c.algorithm(coll.KindAlltoall), c.rank, c.Size(), in, to, after...)
	})
}

// copies reports whether what is sent must be copied first, or be known to be in place, because it
// is in the slice that results arrive in and its layout hides that from the algorithms.
func (c *Comm) copies(e *elem, in, out []byte) bool {
	return !(c.isMemory(c.sendType, e) && c.isMemory(c.recvType, e)) &&
		len(in) > 0 && len(out) > 0 && &in[0] == &out[0]
}

// inPlace is the same for an exchange: what is sent is to, as the algorithms can see, if both have
// the same blocks.
func (c *Comm) inPlace(e *elem, in, out []byte, from, to coll.Buf, sameBlocks bool) (sent coll.Buf, copied bool) {
	switch {
	case !c.copies(e, in, out):
		return from, false
	case c.sendType == c.recvType && sameBlocks && from.Len() == to.Len():
		return to, false
	}
	return from, true
}

func maybeApart(g coll.Graph, in coll.Buf, copied bool) (coll.Buf, []coll.Step) {
	if !copied {
		return in, nil
	}
	return coll.Apart(g, in)
}

func interAlltoall[T any](c *Comm, op string, e *elem, in, out []T) *Request {
	from, err := c.interBlocks(op, "in", c.sendType, len(in))
	if err != nil {
		return failedRequest(c, err)
	}
	to, err := c.interBlocks(op, "out", c.recvType, len(out))
	if err != nil {
		return failedRequest(c, err)
	}
	return interExchange(c, op, e, in, from, out, to)
}

// Alltoallv is Alltoall of blocks of different lengths: sendCounts[r] elements
// of in[sendDispls[r]:] go to rank r, recvCounts[r] from it to
// out[recvDispls[r]:]. Displacements nil mean without gaps. in and out may be the same
// slice (MPI 4.1, section 6.8).
func Alltoallv[T any](c *Comm, in []T, sendCounts, sendDispls []int, out []T, recvCounts, recvDispls []int) error {
	return beginColl(c, "Alltoallv", in, out, Undefined).end(done(ialltoallv(c, "Alltoallv", in, sendCounts, sendDispls, out, recvCounts, recvDispls)))
}

// Ialltoallv starts an Alltoallv (MPI 4.1, section 6.12.6).
func Ialltoallv[T any](c *Comm, in []T, sendCounts, sendDispls []int, out []T, recvCounts, recvDispls []int) *Request {
	return beginColl(c, "Ialltoallv", in, out, Undefined).started(ialltoallv(c, "Ialltoallv", in, sendCounts, sendDispls, out, recvCounts, recvDispls))
}

// AlltoallvInit makes a persistent Alltoallv (MPI 4.1, section 6.13.6).
func AlltoallvInit[T any](c *Comm, in []T, sendCounts, sendDispls []int, out []T, recvCounts, recvDispls []int) *Request {
	return beginColl(c, "AlltoallvInit", in, out, Undefined).started(ialltoallv(c, "AlltoallvInit", in, sendCounts, sendDispls, out, recvCounts, recvDispls))
}

func ialltoallv[T any](c *Comm, op string, in []T, sendCounts, sendDispls []int, out []T, recvCounts, recvDispls []int) *Request {
	e, err := collElem[T](c, op, 0)
	if err != nil {
		return failedRequest(c, err)
	}
	from, err := typedBlocks(op, "in", len(c.peers), c.sendType, len(in), sendCounts, sendDispls)
	if err != nil {
		return failedRequest(c, err)
	}
	to, err := typedBlocks(op, "out", len(c.peers), c.recvType, len(out), recvCounts, recvDispls)
	if err == nil && !c.isInter() && !c.isTyped() {
		err = checkOwn(op, "the block that this rank sends itself", elementsLong, from.counts[c.rank], to.counts[c.rank])
	}
	if err != nil {
		return failedRequest(c, err)
	}
	if c.isInter() {
		return interExchange(c, op, e, in, from, out, to)
	}
	if c.serialises(e) {
		return alltoallObjects(c, op, in, from, out, to)
	}
	src, err := blocksOf(c, op, c.sendType, in, from)
	if err != nil {
		return failedRequest(c, err)
	}
	dst, err := blocksOf(c, op, c.recvType, out, to)
	if err == nil {
		err = checkOwn(op, "the block that this rank sends itself", bytesLong, src.counts[c.rank], dst.counts[c.rank])
	}
	if err != nil {
		return failedRequest(c, err)
	}
	sent, copied := c.inPlace(e, bytesOf(in), bytesOf(out), src.Buf, dst.Buf, slices.Equal(from.counts, to.counts) && slices.Equal(from.displs, to.displs))
	return (&collective{sent: c.sendsBlocks(bytesOf(in), bytesOf(out), &src)}).start(c, op, func(g coll.Graph) {
		in, after := maybeApart(g, sent, copied)
		coll.Alltoallv(g, c.rank, c.Size(), in, src.counts, src.displs, dst.Buf, dst.counts, dst.displs, after...)
	})
}

func alltoallObjects[T any](c *Comm, op string, in []T, from blocks, out []T, to blocks) *Request {
	send, recv := make([][]byte, c.Size()), make([][]byte, c.Size())
	return (&collective{
		prepare: func() error { return encodeBlocks(op, send, in, from) },
		deliver: func() error { return decodeBlocks(recv, out, to) },
	}).start(c, op, func(g coll.Graph) {
		coll.AlltoallObject(g, c.rank, c.Size(), send, recv)
	})
}

// Alltoallw is Alltoall of blocks that each have a layout of their own (MPI 4.1, section 6.8). One
// value of sendTypes[r], laid over in, goes to rank r. What comes from rank r is one value of
// recvTypes[r], laid over out. Where MPI has counts, take Contiguous, and where it has
// displacements, Hindexed, or Subarray, which says both: a distributed array changes its
// distribution by one call. A nil type is no data. Blocks move from the one layout to the other
// without memory in between as large as they are.
//
// in and out must not overlap. Over an intercommunicator r is a rank of the other group. An error
// is of class [ErrType] if a type has an error or does not fit its buffer, and [ErrBuffer] if it
// reaches beyond it. It is of class [ErrCount] if there is not one type for each rank, and
// [ErrTruncate] if a rank sends more than the receiver's type takes.
func Alltoallw[S, R any](c *Comm, in []S, sendTypes []*Datatype, out []R, recvTypes []*Datatype) error {
	return beginColl(c, "Alltoallw", in, out, Undefined).end(done(ialltoallw(c, "Alltoallw", in, sendTypes, out, recvTypes)))
}

// Ialltoallw starts an Alltoallw (MPI 4.1, section 6.12.6).
func Ialltoallw[S, R any](c *Comm, in []S, sendTypes []*Datatype, out []R, recvTypes []*Datatype) *Request {
	return beginColl(c, "Ialltoallw", in, out, Undefined).started(ialltoallw(c, "Ialltoallw", in, sendTypes, out, recvTypes))
}

// AlltoallwInit makes a persistent Alltoallw (MPI 4.1, section 6.13.6).
func AlltoallwInit[S, R any](c *Comm, in []S, sendTypes []*Datatype, out []R, recvTypes []*Datatype) *Request {
	return beginColl(c, "AlltoallwInit", in, out, Undefined).started(ialltoallw(c, "AlltoallwInit", in, sendTypes, out, recvTypes))
}

func ialltoallw[S, R any](c *Comm, op string, in []S, sendTypes []*Datatype, out []R, recvTypes []*Datatype) *Request {
	if err := c.checkColl(op, 0); err != nil {
		return failedRequest(c, err)
	}
	ranks := make([]int, len(c.peers))
	for r := range ranks {
		if ranks[r] = r; c.isInter() && c.low {
			ranks[r] += c.Size() // in the communicator of both groups, whose lower ranks are ours
		}
	}
	return exchangeTyped(c, op, "rank", coll.Neighbours{Sources: ranks, Destinations: ranks}, in, sendTypes, out, recvTypes)
}

// NeighborAlltoallw is NeighborAlltoall of blocks that each have a layout of their own (MPI 4.1,
// section 8.6.3). One value of sendTypes[i], laid over in, goes to the i-th destination of this
// rank. What comes from its j-th source is one value of recvTypes[j], laid over out. It is
// otherwise as [Alltoallw]: the halo of a grid is exchanged in place, with a Subarray for each
// edge.
func NeighborAlltoallw[S, R any](c *Comm, in []S, sendTypes []*Datatype, out []R, recvTypes []*Datatype) error {
	return beginColl(c, "NeighborAlltoallw", in, out, Undefined).end(done(ineighborAlltoallw(c, "NeighborAlltoallw", in, sendTypes, out, recvTypes)))
}

// IneighborAlltoallw starts a NeighborAlltoallw (MPI 4.1, section 8.7.3).
func IneighborAlltoallw[S, R any](c *Comm, in []S, sendTypes []*Datatype, out []R, recvTypes []*Datatype) *Request {
	return beginColl(c, "IneighborAlltoallw", in, out, Undefined).started(ineighborAlltoallw(c, "IneighborAlltoallw", in, sendTypes, out, recvTypes))
}

// NeighborAlltoallwInit makes a persistent NeighborAlltoallw (MPI 4.1, section 8.8.3).
func NeighborAlltoallwInit[S, R any](c *Comm, in []S, sendTypes []*Datatype, out []R, recvTypes []*Datatype) *Request {
	return beginColl(c, "NeighborAlltoallwInit", in, out, Undefined).started(ineighborAlltoallw(c, "NeighborAlltoallwInit", in, sendTypes, out, recvTypes))
}

func ineighborAlltoallw[S, R any](c *Comm, op string, in []S, sendTypes []*Datatype, out []R, recvTypes []*Datatype) *Request {
	_, near, err := neighbourElem[S](c, op)
	if err != nil {
		return failedRequest(c, err)
	}
	return exchangeTyped(c, op, "neighbour", near, in, sendTypes, out, recvTypes)
}

// exchangeTyped sends a value of a type to each destination and receives one from each source.
func exchangeTyped[S, R any](c *Comm, op, whose string, near coll.Neighbours, in []S, sendTypes []*Datatype, out []R, recvTypes []*Datatype) *Request {
	if c.sendType != nil || c.recvType != nil {
		return failedRequest(c, opErrorf(ErrType, op, "it takes a type for each %s: use the communicator without WithType", whose))
	}
	send, err := layAll(c, op, "sendTypes", whose, len(near.Destinations), in, sendTypes)
	if err != nil {
		return failedRequest(c, err)
	}
	recv, err := layAll(c, op, "recvTypes", whose, len(near.Sources), out, recvTypes)
	if err != nil {
		return failedRequest(c, err)
	}
	return (&collective{sent: c.sendsParts(bytesOf(in), bytesOf(out), send)}).start(c, op, func(g coll.Graph) {
		coll.Neighbor(g, near, send, recv)
	})
}

// layAll lays each of n types over buf.
func layAll[T any](c *Comm, op, what, whose string, n int, buf []T, types []*Datatype) ([]coll.Buf, *Error) {
	if e := elemOf[T](); !e.plain {
		return nil, notLaid(op, e)
	}
	if len(types) != n {
		return nil, opErrorf(ErrCount, op, "%s has %d types for %d %ss: need one for each, nil for no data", what, len(types), n, whose)
	}
	laid := make([]coll.Buf, n)
	for i, t := range types {
		if t == nil {
			continue
		}
		b, err := wholeOf(c, op, t, buf, 1)
		if err != nil {
			return nil, opErrorf(err.Class, op, "%s[%d]: %w", what, i, err.Cause)
		}
		laid[i] = b
	}
	return laid, nil
}
