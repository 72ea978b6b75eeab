package mpi

// Collectives of values: each takes what a rank has, and returns what it gets, as mpi4py's methods
// in lower case do. A call of one meets a call of the same collective over slices of one element
// each, at whichever ranks. Their errors name that collective. They allocate, and copy the value
// twice; where that counts, give slices.

// BcastValue returns v of rank root at every rank; elsewhere v is ignored. It is [Bcast] of one
// element: it blocks as that does, and has its errors. No counterpart in MPI.
func BcastValue[T any](c *Comm, v T, root int) (T, error) {
	buf := []T{v}
	err := beginBcast(c, "BcastValue", buf, root).end(done(ibcast(c, "Bcast", buf, root)))
	return buf[0], err
}

// ReduceValue combines v of all ranks in the order of the ranks. It returns the result at rank
// root, elsewhere the zero value. It is [Reduce] of one element, and has its errors. No counterpart
// in MPI.
func ReduceValue[T any](c *Comm, v T, op Op[T], root int) (T, error) {
	in, out := []T{v}, make([]T, 1)
	err := beginColl(c, "ReduceValue", in, out, root).end(done(ireduce(c, "Reduce", in, out, op, root)))
	return out[0], err
}

// AllreduceValue combines v of all ranks in the order of the ranks, and returns the result at each.
// It is [Allreduce] of one element, and has its errors. No counterpart in MPI.
func AllreduceValue[T any](c *Comm, v T, op Op[T]) (T, error) {
	in, out := []T{v}, make([]T, 1)
	err := beginColl(c, "AllreduceValue", in, out, Undefined).end(done(iallreduce(c, "Allreduce", in, out, op)))
	return out[0], err
}

// ScanValue combines v of the ranks up to this one, in their order, and returns the result. It is
// [Scan] of one element, and has its errors. No counterpart in MPI.
func ScanValue[T any](c *Comm, v T, op Op[T]) (T, error) {
	in, out := []T{v}, make([]T, 1)
	err := beginColl(c, "ScanValue", in, out, Undefined).end(done(iscan(c, "Scan", in, out, op)))
	return out[0], err
}

// ExscanValue combines v of the ranks before this one, in their order, and returns the result; at
// rank 0 the zero value. It is [Exscan] of one element, and has its errors. No counterpart in MPI.
func ExscanValue[T any](c *Comm, v T, op Op[T]) (T, error) {
	in, out := []T{v}, make([]T, 1)
	err := beginColl(c, "ExscanValue", in, out, Undefined).end(done(iexscan(c, "Exscan", in, out, op)))
	return out[0], err
}

// GatherValue returns v of all ranks, in their order, at rank root; elsewhere nil. Over an
// intercommunicator these are the ranks of the other group. It is [Gather] of one element each, and
// has its errors. No counterpart in MPI.
func GatherValue[T any](c *Comm, v T, root int) ([]T, error) {
	in, out := []T{v}, []T(nil)
	if c.isRoot(root) {
		out = make([]T, c.peerCount())
	}
	err := beginColl(c, "GatherValue", in, out, root).end(done(igather(c, "Gather", in, out, root)))
	return out, err
}

// AllgatherValue returns v of all ranks, in their order, at each; over an intercommunicator of the
// ranks of the other group. It is [Allgather] of one element each, and has its errors. No
// counterpart in MPI.
func AllgatherValue[T any](c *Comm, v T) ([]T, error) {
	in, out := []T{v}, make([]T, c.peerCount())
	err := beginColl(c, "AllgatherValue", in, out, Undefined).end(done(iallgather(c, "Allgather", in, out)))
	return out, err
}

// ScatterValue returns at each rank r the element r of vs of rank root, which has one for each
// rank; elsewhere vs is ignored. It is [Scatter] of one element each, and has its errors. No
// counterpart in MPI.
func ScatterValue[T any](c *Comm, vs []T, root int) (T, error) {
	out := make([]T, 1)
	err := beginColl(c, "ScatterValue", vs, out, root).end(done(iscatter(c, "Scatter", vs, out, root)))
	return out[0], err
}

// AlltoallValue sends element r of vs to rank r, and returns what the ranks have sent to this one,
// in their order. It is [Alltoall] of one element each, and has its errors. No counterpart in MPI.
func AlltoallValue[T any](c *Comm, vs []T) ([]T, error) {
	out := make([]T, len(vs))
	err := beginColl(c, "AlltoallValue", vs, out, Undefined).end(done(ialltoall(c, "Alltoall", vs, out)))
	return out, err
}

// isRoot reports whether this rank is the one that the ranks name by root: of an intercommunicator,
// the one that says Root.
func (c *Comm) isRoot(root int) bool {
	if c == nil {
		return false
	}
	if c.isInter() {
		return root == Root
	}
	return root == c.rank
}

// peerCount is the number of ranks that a collective gets something from.
func (c *Comm) peerCount() int {
	switch {
	case c == nil:
		return 0
	case c.isInter():
		return c.RemoteSize()
	}
	return c.Size()
}
