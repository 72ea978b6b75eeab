//go:build linux

package mpi

import "github.com/fitmpi/fitmpi/internal/coll"

// Scatter deals in of rank root out to the ranks in equal blocks of len(out)
// elements; in is ignored elsewhere. At the root out may be the part of in that it gets.
// Over an intercommunicator the root, which gives Root as root, deals out to the other
// group, whose ranks give its rank; the others of its group give ProcNull
// (MPI 4.1, section 6.6).
func Scatter[T any](c *Comm, in, out []T, root int) error {
	return done(iscatter(c, "Scatter", in, out, root))
}

// Iscatter starts a Scatter (MPI 4.1, section 6.12.4).
func Iscatter[T any](c *Comm, in, out []T, root int) *Request {
	return iscatter(c, "Iscatter", in, out, root)
}

// ScatterInit makes a persistent Scatter (MPI 4.1, section 6.13.4).
func ScatterInit[T any](c *Comm, in, out []T, root int) *Request {
	return iscatter(c, "ScatterInit", in, out, root)
}

func iscatter[T any](c *Comm, op string, in, out []T, root int) *Request {
	e, err := collElem[T](c, op, root)
	if err != nil {
		return failedRequest(c, err)
	}
	convert := func() *Request {
		from, all := atRoot(c, root, in, part{values: len(c.peers)})
		to, mine := notAtRoot(c, root, out, part{values: 1})
		return onBytes(c, op, from, all, to, mine, func(c *Comm, in []byte, _ []int, out []byte, _ []int) *Request {
			return iscatter(c, op, in, out, root)
		})
	}
	if c.isTyped() {
		return convert()
	}
	if c.isInter() {
		return interScatter(c, op, e, in, out, root)
	}
	if c.rank != root {
		in = nil
	} else if err := checkLen(op, "in", len(in), c.Size()*len(out)); err != nil {
		return failedRequest(c, err)
	} else {
		in = in[:c.Size()*len(out)]
	}
	if c.converts(e) {
		return convert()
	}
	if !e.plain {
		return scatterObjects(c, op, in, equalBlocks(c.Size(), len(out)), out, root)
	}
	return startColl(c, op, func(g coll.Graph) error {
		coll.Scatter(g, c.algorithm(coll.KindScatter), c.rank, c.Size(), root, bytesOf(in), bytesOf(out))
		return nil
	}, nil)
}

func interScatter[T any](c *Comm, op string, e *elem, in, out []T, root int) *Request {
	switch root {
	case ProcNull:
		return interIdle(c, op)
	case Root:
		bl, err := c.interBlocks(op, "in", len(in))
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
	return done(iscatterv(c, "Scatterv", in, counts, displs, out, root))
}

// Iscatterv starts a Scatterv (MPI 4.1, section 6.12.4).
func Iscatterv[T any](c *Comm, in []T, counts, displs []int, out []T, root int) *Request {
	return iscatterv(c, "Iscatterv", in, counts, displs, out, root)
}

// ScattervInit makes a persistent Scatterv (MPI 4.1, section 6.13.4).
func ScattervInit[T any](c *Comm, in []T, counts, displs []int, out []T, root int) *Request {
	return iscatterv(c, "ScattervInit", in, counts, displs, out, root)
}

func iscatterv[T any](c *Comm, op string, in []T, counts, displs []int, out []T, root int) *Request {
	e, err := collElem[T](c, op, root)
	if err != nil {
		return failedRequest(c, err)
	}
	convert := func() *Request {
		from, all, err := blocksAtRoot(c, op, "in", root, c.sendType, in, counts, displs)
		if err != nil {
			return failedRequest(c, err)
		}
		to, mine := notAtRoot(c, root, out, part{values: 1})
		return onBytes(c, op, from, all, to, mine, func(c *Comm, in []byte, counts []int, out []byte, _ []int) *Request {
			return iscatterv(c, op, in, counts, nil, out, root)
		})
	}
	if c.isTyped() {
		return convert()
	}
	if c.isInter() {
		return interScatterv(c, op, e, in, counts, displs, out, root)
	}
	var bl blocks
	if c.rank == root {
		var err *Error
		if bl, err = newBlocks(op, "in", c.Size(), len(in), counts, displs); err != nil {
			return failedRequest(c, err)
		}
		if err := checkOwn(op, "out", len(out), bl.counts[c.rank]); err != nil {
			return failedRequest(c, err)
		}
	}
	if c.converts(e) {
		return convert()
	}
	if !e.plain {
		return scatterObjects(c, op, in, bl, out, root)
	}
	return startColl(c, op, func(g coll.Graph) error {
		cs, ds := bl.bytes(e.size)
		coll.Scatterv(g, c.rank, c.Size(), root, bytesOf(in), cs, ds, bytesOf(out))
		return nil
	}, nil)
}

func interScatterv[T any](c *Comm, op string, e *elem, in []T, counts, displs []int, out []T, root int) *Request {
	if root != Root {
		return interScatter(c, op, e, nil, out, root)
	}
	bl, err := newBlocks(op, "in", c.RemoteSize(), len(in), counts, displs)
	if err != nil {
		return failedRequest(c, err)
	}
	return interDeal(c, op, e, in, bl)
}

func scatterObjects[T any](c *Comm, op string, in []T, bl blocks, out []T, root int) *Request {
	var mine []byte
	all := make([][]byte, len(bl.counts))
	x := collective{
		build: func(g coll.Graph) error {
			coll.ScatterObject(g, c.rank, c.Size(), root, all, &mine)
			return nil
		},
		deliver: func() error { return decodeExactly(mine, out) },
	}
	if c.rank == root {
		x.prepare = func() error { return encodeBlocks(op, all, in, bl) }
	}
	return x.start(c, op)
}
