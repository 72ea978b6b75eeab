//go:build linux

package mpi

import "github.com/fitmpi/fitmpi/mpi/internal/coll"

// Alltoallw is Alltoall of blocks that each have a layout of their own: one value of sendTypes[r],
// laid over in, goes to rank r, and what comes from rank r is one value of recvTypes[r], laid over
// out (MPI 4.1, section 6.8). Where MPI has counts, take Contiguous, and where it has
// displacements, Hindexed, or Subarray, which says both: a distributed array changes its
// distribution by one call. A nil type is no data. Blocks move from the one layout to the other
// without memory in between as large as they are.
//
// in and out must not overlap. Over an intercommunicator r is a rank of the other group. An error
// is of class [ErrType] if a type has an error or does not fit its buffer, [ErrBuffer] if it
// reaches beyond, [ErrCount] if there is not one type for each rank, [ErrTruncate] if a rank sends
// more than the receiver's type takes.
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

// NeighborAlltoallw is NeighborAlltoall of blocks that each have a layout of their own: one value
// of sendTypes[i], laid over in, goes to the i-th destination of this rank, and what comes from its
// j-th source is one value of recvTypes[j], laid over out (MPI 4.1, section 8.6.3). It is otherwise
// as [Alltoallw]: the halo of a grid is exchanged in place, with a Subarray for each edge.
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
	return collective{sent: c.sendsParts(bytesOf(in), bytesOf(out), send)}.start(c, op, func(g coll.Graph) {
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
