//go:build linux

package mpi

// NeighborAlltoall sends the i-th block of in to the i-th destination of this rank, and receives
// the j-th block of out from its j-th source (MPI 4.1, section 8.6.2). All blocks are equal: in
// holds as many as there are destinations, out as many as there are sources. A rank without
// destinations gives out as long as what it receives.
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
