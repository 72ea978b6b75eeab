//go:build linux

package mpi

import "github.com/fitmpi/fitmpi/internal/coll"

// Alltoall sends the r-th block of in to rank r and receives the r-th block of
// out from it; in and out hold Size equal blocks and may be the same slice. Over an
// intercommunicator r is a rank of the other group; in and out are different slices then,
// each of RemoteSize equal blocks (MPI 4.1, section 6.8).
func Alltoall[T any](c *Comm, in, out []T) error { return done(ialltoall(c, "Alltoall", in, out)) }

// Ialltoall starts an Alltoall (MPI 4.1, section 6.12.6).
func Ialltoall[T any](c *Comm, in, out []T) *Request { return ialltoall(c, "Ialltoall", in, out) }

// AlltoallInit makes a persistent Alltoall (MPI 4.1, section 6.13.6).
func AlltoallInit[T any](c *Comm, in, out []T) *Request {
	return ialltoall(c, "AlltoallInit", in, out)
}

func ialltoall[T any](c *Comm, op string, in, out []T) *Request {
	e, err := collElem[T](c, op, 0)
	convert := func() *Request {
		all := part{values: len(c.peers)}
		return onBytes(c, op, in, all, out, all, func(c *Comm, in []byte, _ []int, out []byte, _ []int) *Request {
			return ialltoall(c, op, in, out)
		})
	}
	if err == nil && c.isTyped() {
		return convert()
	}
	if err == nil && c.isInter() {
		return interAlltoall(c, op, e, in, out)
	}
	if err == nil {
		err = c.checkMultiple(op, len(in))
	}
	if err == nil {
		err = checkLen(op, "out", len(out), len(in))
	}
	if err != nil {
		return failedRequest(c, err)
	}
	if c.converts(e) {
		return convert()
	}
	if !e.plain {
		bl := equalBlocks(c.Size(), len(in)/c.Size())
		return alltoallObjects(c, op, in, bl, out, bl)
	}
	return startColl(c, op, func(g coll.Graph) error {
		coll.Alltoall(g, c.algorithm(coll.KindAlltoall), c.rank, c.Size(), bytesOf(in), bytesOf(out[:len(in)]))
		return nil
	}, nil)
}

func interAlltoall[T any](c *Comm, op string, e *elem, in, out []T) *Request {
	from, err := c.interBlocks(op, "in", len(in))
	if err != nil {
		return failedRequest(c, err)
	}
	to, err := c.interBlocks(op, "out", len(out))
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
	return done(ialltoallv(c, "Alltoallv", in, sendCounts, sendDispls, out, recvCounts, recvDispls))
}

// Ialltoallv starts an Alltoallv (MPI 4.1, section 6.12.6).
func Ialltoallv[T any](c *Comm, in []T, sendCounts, sendDispls []int, out []T, recvCounts, recvDispls []int) *Request {
	return ialltoallv(c, "Ialltoallv", in, sendCounts, sendDispls, out, recvCounts, recvDispls)
}

// AlltoallvInit makes a persistent Alltoallv (MPI 4.1, section 6.13.6).
func AlltoallvInit[T any](c *Comm, in []T, sendCounts, sendDispls []int, out []T, recvCounts, recvDispls []int) *Request {
	return ialltoallv(c, "AlltoallvInit", in, sendCounts, sendDispls, out, recvCounts, recvDispls)
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
		err = checkOwn(op, "the block that this rank sends itself", from.counts[c.rank], to.counts[c.rank])
	}
	if err == nil && c.converts(e) {
		return onBytes(c, op, in, part{blocks: &from}, out, part{blocks: &to}, func(c *Comm, in []byte, from []int, out []byte, to []int) *Request {
			return ialltoallv(c, op, in, from, nil, out, to, nil)
		})
	}
	if err != nil {
		return failedRequest(c, err)
	}
	if c.isInter() {
		return interExchange(c, op, e, in, from, out, to)
	}
	if !e.plain {
		return alltoallObjects(c, op, in, from, out, to)
	}
	return startColl(c, op, func(g coll.Graph) error {
		sc, sd := from.bytes(e.size)
		rc, rd := to.bytes(e.size)
		coll.Alltoallv(g, c.rank, c.Size(), bytesOf(in), sc, sd, bytesOf(out), rc, rd)
		return nil
	}, nil)
}

func alltoallObjects[T any](c *Comm, op string, in []T, from blocks, out []T, to blocks) *Request {
	send, recv := make([][]byte, c.Size()), make([][]byte, c.Size())
	return collective{
		prepare: func() error { return encodeBlocks(op, send, in, from) },
		build: func(g coll.Graph) error {
			coll.AlltoallObject(g, c.rank, c.Size(), send, recv)
			return nil
		},
		deliver: func() error { return decodeBlocks(recv, out, to) },
	}.start(c, op)
}
