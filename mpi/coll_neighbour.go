package mpi

import (
	"github.com/fitmpi/fitmpi/mpi/internal/coll"
)

// Neighbourhood collectives (MPI 4.1, section 8.6): each rank of a communicator with a topology
// exchanges messages with its neighbours only. All ranks of the communicator call them, in the same
// order as its other collectives.
//
//   - On a grid (CartCreate) there are two neighbours in each dimension, first the one at -1, then
//     the one at +1, sources and destinations alike. Where the grid ends the neighbour is ProcNull:
//     its blocks are there, and are not touched. What is sent towards -1 arrives from +1, and the
//     other way round, also where both neighbours are the same rank.
//   - On a graph (GraphCreate) they are the neighbours of the graph, sources and destinations
//     alike.
//   - On a distributed graph they are the sources and destinations of DistGraphNeighbors.
//
// Of several edges from one rank to another the first among the sender's destinations is the first
// among the receiver's sources, and so on. A rank may be a neighbour of itself.
//
// in and out must not overlap. A communicator without a topology is an error of class ErrTopology.
// If the lengths at both ends of an edge differ, the receiver's error has class ErrTruncate.

// neighbourElem is collElem for a neighbourhood collective, with the neighbours.
func neighbourElem[T any](c *Comm, op string) (*elem, coll.Neighbours, *Error) {
	e, err := collElem[T](c, op, 0)
	if err != nil {
		return nil, coll.Neighbours{}, err
	}
	if c.topo == nil {
		return nil, coll.Neighbours{}, opErrorf(ErrTopology, op, "the communicator has no topology: make one with CartCreate, GraphCreate, "+
			"DistGraphCreate or DistGraphCreateAdjacent")
	}
	n, bad := c.topo.neighbours()
	if bad != nil {
		return nil, n, opError(ErrTopology, op, bad)
	}
	return e, n, nil
}

// checkMultiple says that a buffer is no whole number of blocks.
func checkMultiple(op, what string, have, size int, whose string) *Error {
	if size > 0 && have%size != 0 {
		return opErrorf(ErrCount, op, "%s holds %d elements: need a multiple of %d, the number of %s", what, have, size, whose)
	}
	return nil
}

// sourceBlocks are the equal parts of out for each source: of n elements, what this rank sends to
// each of its destinations; if it has none, as out says.
func sourceBlocks(op string, near coll.Neighbours, n, out int) (blocks, *Error) {
	size := len(near.Sources)
	if len(near.Destinations) == 0 {
		if err := checkMultiple(op, "out", out, size, "sources"); err != nil {
			return blocks{}, err
		}
		n = out / max(size, 1)
	}
	return equalBlocks(size, n), checkLen(op, "out", out, size*n)
}

// exchange sends a block of in to each destination and receives a block of out from each source.
// from has one block for each destination, or one for all.
func exchange[T any](c *Comm, op string, e *elem, near coll.Neighbours, in []T, from blocks, out []T, to blocks) *Request {
	if c.serialises(e) {
		return exchangeObjects(c, op, near, in, from, out, to)
	}
	src, err := blocksOf(c, op, c.sendType, in, from)
	if err != nil {
		return failedRequest(c, err)
	}
	dst, err := blocksOf(c, op, c.recvType, out, to)
	if err != nil {
		return failedRequest(c, err)
	}
	return c.exchangeParts(op, near, src.parts(), dst.parts(), bytesOf(in), bytesOf(out))
}

// exchangeParts is exchange of what travels, of the memory in into the memory out.
func (c *Comm) exchangeParts(op string, near coll.Neighbours, from, to []coll.Buf, in, out []byte) *Request {
	send := make([]coll.Buf, len(near.Destinations))
	for i := range send {
		send[i] = from[min(i, len(from)-1)]
	}
	return (&collective{sent: c.sendsParts(in, out, from)}).start(c, op, func(g coll.Graph) {
		coll.Neighbor(g, near, send, to)
	})
}

// exchangeEqual is exchange of equal blocks, of which in holds so many.
func exchangeEqual[T any](c *Comm, op string, e *elem, near coll.Neighbours, in []T, n int, out []T) *Request {
	if !c.isTyped() {
		from, to, err := neighbourBlocks(op, near, n, len(in), len(out))
		if err != nil {
			return failedRequest(c, err)
		}
		return exchange(c, op, e, near, in, from, out, to)
	}
	src, err := wholeOf(c, op, c.sendType, in, n)
	if err != nil {
		return failedRequest(c, err)
	}
	dst, err := wholeOf(c, op, c.recvType, out, len(near.Sources))
	if err != nil {
		return failedRequest(c, err)
	}
	from, to, err := neighbourBlocks(op, near, n, src.Len(), dst.Len())
	if err != nil {
		return failedRequest(c, err)
	}
	return c.exchangeParts(op, near, (&operand{src, from.counts, from.displs}).parts(), (&operand{dst, to.counts, to.displs}).parts(), bytesOf(in), bytesOf(out))
}

// neighbourBlocks are n equal blocks of in and those of out, given the lengths of both.
func neighbourBlocks(op string, near coll.Neighbours, n, in, out int) (from, to blocks, err *Error) {
	if err = checkMultiple(op, "in", in, n, "destinations"); err == nil {
		from = equalBlocks(n, in/max(n, 1))
		to, err = sourceBlocks(op, near, in/max(n, 1), out)
	}
	return from, to, err
}

func exchangeObjects[T any](c *Comm, op string, near coll.Neighbours, in []T, from blocks, out []T, to blocks) *Request {
	data, recv := make([][]byte, len(from.counts)), make([][]byte, len(to.counts))
	send := make([]*[]byte, len(near.Destinations))
	for i := range send {
		send[i] = &data[min(i, len(data)-1)]
	}
	return (&collective{
		prepare: func() error { return encodeBlocks(op, data, in, from) },
		deliver: func() error { return decodeNeighbours(near.Sources, recv, out, to) },
	}).start(c, op, func(g coll.Graph) {
		coll.NeighborObject(g, near, send, recv)
	})
}

// decodeNeighbours deserialises what came from each source into its block.
func decodeNeighbours[T any](sources []int, recv [][]byte, out []T, to blocks) error {
	for j, r := range sources {
		if r == ProcNull {
			continue
		}
		if err := decodeExactly(recv[j], out[to.displs[j]:to.displs[j]+to.counts[j]]); err != nil {
			return err
		}
	}
	return nil
}

// NeighborAllgather sends in to all neighbours of this rank and receives as many elements from
// each: those from the j-th source are the j-th block of out (MPI 4.1, section 8.6.1). out holds as
// many blocks of len(in) as there are sources. A rank without destinations gives no in, and out as
// long as what it receives. in and out must not overlap. Collective: all ranks of c call it.
//
// On a grid (CartCreate) a rank has two neighbours in each dimension, first the one at -1, then the
// one at +1, sources and destinations alike. Where the grid ends the neighbour is ProcNull: its
// block is there, and is not touched. On a graph (GraphCreate) the neighbours are those of the
// graph, sources and destinations alike. On a distributed graph they are those of
// DistGraphNeighbors.
//
// A communicator without a topology is an error of class [ErrTopology]. If the lengths at both ends
// of an edge differ, the receiver's error is of class [ErrTruncate].
func NeighborAllgather[T any](c *Comm, in, out []T) error {
	return beginColl(c, "NeighborAllgather", in, out, Undefined).end(done(ineighborAllgather(c, "NeighborAllgather", in, out)))
}

// IneighborAllgather starts a NeighborAllgather (MPI 4.1, section 8.7.1).
func IneighborAllgather[T any](c *Comm, in, out []T) *Request {
	return beginColl(c, "IneighborAllgather", in, out, Undefined).started(ineighborAllgather(c, "IneighborAllgather", in, out))
}

// NeighborAllgatherInit makes a persistent NeighborAllgather (MPI 4.1, section 8.8.1).
func NeighborAllgatherInit[T any](c *Comm, in, out []T) *Request {
	return beginColl(c, "NeighborAllgatherInit", in, out, Undefined).started(ineighborAllgather(c, "NeighborAllgatherInit", in, out))
}

func ineighborAllgather[T any](c *Comm, op string, in, out []T) *Request {
	e, near, err := neighbourElem[T](c, op)
	if err != nil {
		return failedRequest(c, err)
	}
	return exchangeEqual(c, op, e, near, in, 1, out)
}

// NeighborAllgatherv is NeighborAllgather of blocks of different lengths: counts[j] elements come
// from the j-th source and go to out[displs[j]:], while in goes to every destination. displs nil
// packs them without gaps (MPI 4.1, section 8.6.1).
func NeighborAllgatherv[T any](c *Comm, in, out []T, counts, displs []int) error {
	return beginColl(c, "NeighborAllgatherv", in, out, Undefined).end(done(ineighborAllgatherv(c, "NeighborAllgatherv", in, out, counts, displs)))
}

// IneighborAllgatherv starts a NeighborAllgatherv (MPI 4.1, section 8.7.1).
func IneighborAllgatherv[T any](c *Comm, in, out []T, counts, displs []int) *Request {
	return beginColl(c, "IneighborAllgatherv", in, out, Undefined).started(ineighborAllgatherv(c, "IneighborAllgatherv", in, out, counts, displs))
}

// NeighborAllgathervInit makes a persistent NeighborAllgatherv (MPI 4.1, section 8.8.1).
func NeighborAllgathervInit[T any](c *Comm, in, out []T, counts, displs []int) *Request {
	return beginColl(c, "NeighborAllgathervInit", in, out, Undefined).started(ineighborAllgatherv(c, "NeighborAllgathervInit", in, out, counts, displs))
}

func ineighborAllgatherv[T any](c *Comm, op string, in, out []T, counts, displs []int) *Request {
	e, near, err := neighbourElem[T](c, op)
	if err != nil {
		return failedRequest(c, err)
	}
	to, err := typedBlocksOf("source", op, "out", len(near.Sources), c.recvType, len(out), counts, displs)
	if err != nil {
		return failedRequest(c, err)
	}
	n := len(in)
	if c.sendType != nil {
		n = 1
	}
	return exchange(c, op, e, near, in, equalBlocks(1, n), out, to)
}

// NeighborAlltoall sends the i-th block of in to the i-th destination of this rank, and receives
// the j-th block of out from its j-th source (MPI 4.1, section 8.6.2). All blocks are equal: in
// holds as many as there are destinations, out as many as there are sources. A rank without
// destinations gives out as long as what it receives. What neighbours are, and errors, are as for
// NeighborAllgather.
func NeighborAlltoall[T any](c *Comm, in, out []T) error {
	return beginColl(c, "NeighborAlltoall", in, out, Undefined).end(done(ineighborAlltoall(c, "NeighborAlltoall", in, out)))
}

// IneighborAlltoall starts a NeighborAlltoall (MPI 4.1, section 8.7.2).
func IneighborAlltoall[T any](c *Comm, in, out []T) *Request {
	return beginColl(c, "IneighborAlltoall", in, out, Undefined).started(ineighborAlltoall(c, "IneighborAlltoall", in, out))
}

// NeighborAlltoallInit makes a persistent NeighborAlltoall (MPI 4.1, section 8.8.2).
func NeighborAlltoallInit[T any](c *Comm, in, out []T) *Request {
	return beginColl(c, "NeighborAlltoallInit", in, out, Undefined).started(ineighborAlltoall(c, "NeighborAlltoallInit", in, out))
}

func ineighborAlltoall[T any](c *Comm, op string, in, out []T) *Request {
	e, near, err := neighbourElem[T](c, op)
	if err != nil {
		return failedRequest(c, err)
	}
	return exchangeEqual(c, op, e, near, in, len(near.Destinations), out)
}

// NeighborAlltoallv is NeighborAlltoall of blocks of different lengths: sendCounts[i] elements of
// in[sendDispls[i]:] go to the i-th destination, recvCounts[j] come from the j-th source to
// out[recvDispls[j]:]. Displacements nil mean without gaps (MPI 4.1, section 8.6.2).
func NeighborAlltoallv[T any](c *Comm, in []T, sendCounts, sendDispls []int, out []T, recvCounts, recvDispls []int) error {
	return beginColl(c, "NeighborAlltoallv", in, out, Undefined).end(done(ineighborAlltoallv(c, "NeighborAlltoallv", in, sendCounts, sendDispls, out, recvCounts, recvDispls)))
}

// IneighborAlltoallv starts a NeighborAlltoallv (MPI 4.1, section 8.7.2).
func IneighborAlltoallv[T any](c *Comm, in []T, sendCounts, sendDispls []int, out []T, recvCounts, recvDispls []int) *Request {
	return beginColl(c, "IneighborAlltoallv", in, out, Undefined).started(ineighborAlltoallv(c, "IneighborAlltoallv", in, sendCounts, sendDispls, out, recvCounts, recvDispls))
}

// NeighborAlltoallvInit makes a persistent NeighborAlltoallv (MPI 4.1, section 8.8.2).
func NeighborAlltoallvInit[T any](c *Comm, in []T, sendCounts, sendDispls []int, out []T, recvCounts, recvDispls []int) *Request {
	return beginColl(c, "NeighborAlltoallvInit", in, out, Undefined).started(ineighborAlltoallv(c, "NeighborAlltoallvInit", in, sendCounts, sendDispls, out, recvCounts, recvDispls))
}

func ineighborAlltoallv[T any](c *Comm, op string, in []T, sendCounts, sendDispls []int, out []T, recvCounts, recvDispls []int) *Request {
	e, near, err := neighbourElem[T](c, op)
	if err != nil {
		return failedRequest(c, err)
	}
	from, err := typedBlocksOf("destination", op, "in", len(near.Destinations), c.sendType, len(in), sendCounts, sendDispls)
	if err != nil {
		return failedRequest(c, err)
	}
	to, err := typedBlocksOf("source", op, "out", len(near.Sources), c.recvType, len(out), recvCounts, recvDispls)
	if err != nil {
		return failedRequest(c, err)
	}
	return exchange(c, op, e, near, in, from, out, to)
}
