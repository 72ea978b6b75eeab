//go:build linux

package mpi

// NeighborAllgather sends in to all neighbours of this rank and receives as many elements from
// each: those from the j-th source are the j-th block of out (MPI 4.1, section 8.6.1). out holds as
// many blocks of len(in) as there are sources. A rank without destinations gives no in, and out as
// long as what it receives.
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
