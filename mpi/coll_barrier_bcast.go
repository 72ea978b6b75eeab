package mpi

import "github.com/fitmpi/fitmpi/mpi/internal/coll"

// Barrier returns when every rank of c, in both groups of an intercommunicator, has
// called it (MPI 4.1, section 6.3).
func Barrier(c *Comm) error {
	return c.begin("Barrier").end(done(ibarrier(c, "Barrier")))
}

// Ibarrier starts a Barrier: its request is done when every rank has started
// one (MPI 4.1, section 6.12.1).
func Ibarrier(c *Comm) *Request {
	return c.begin("Ibarrier").started(ibarrier(c, "Ibarrier"))
}

// BarrierInit makes a persistent Barrier (MPI 4.1, section 6.13.1).
func BarrierInit(c *Comm) *Request {
	return c.begin("BarrierInit").started(ibarrier(c, "BarrierInit"))
}

func ibarrier(c *Comm, op string) *Request {
	if err := c.checkColl(op, 0); err != nil {
		return failedRequest(c, err)
	}
	return startBarrier(c, op)
}

func startBarrier(c *Comm, op string) *Request {
	return (&collective{}).repeats(c, coll.KindBarrier, 0, coll.Buf{}, coll.Buf{}).start(c, op, func(g coll.Graph) {
		all := c.everyone()
		coll.BarrierBy(g, c.algorithm(coll.KindBarrier), all.rank, all.Size())
	})
}

// Bcast copies buf of rank root to buf of every rank; all give buffers of the
// same length. Over an intercommunicator the root, which gives Root as root, sends to the
// other group, whose ranks give its rank; the others of its group give ProcNull
// (MPI 4.1, section 6.4).
func Bcast[T any](c *Comm, buf []T, root int) error {
	return beginBcast(c, "Bcast", buf, root).end(done(ibcast(c, "Bcast", buf, root)))
}

// Ibcast starts a Bcast (MPI 4.1, section 6.12.2).
func Ibcast[T any](c *Comm, buf []T, root int) *Request {
	return beginBcast(c, "Ibcast", buf, root).started(ibcast(c, "Ibcast", buf, root))
}

// BcastInit makes a persistent Bcast of what buf of rank root holds at each Start
// (MPI 4.1, section 6.13.2).
func BcastInit[T any](c *Comm, buf []T, root int) *Request {
	return beginBcast(c, "BcastInit", buf, root).started(ibcast(c, "BcastInit", buf, root))
}

func ibcast[T any](c *Comm, op string, buf []T, root int) *Request {
	e, err := collElem[T](c, op, root)
	if err != nil {
		return failedRequest(c, err)
	}
	if c.isInter() {
		return interBcast(c, op, e, buf, root)
	}
	if c.serialises(e) {
		return ibcastObjects(c, op, buf, root)
	}
	t := c.recvType
	if c.rank == root {
		t = c.sendType
	}
	x, err := wholeOf(c, op, t, buf, 1)
	if err != nil {
		return failedRequest(c, err)
	}
	var sent *sentData
	if c.rank == root {
		sent = c.sends(nil, nil, x)
	}
	return (&collective{sent: sent}).repeats(c, coll.KindBcast, root, x, coll.Buf{}).start(c, op, func(g coll.Graph) {
		coll.Bcast(g, c.algorithm(coll.KindBcast), c.rank, c.Size(), root, x)
	})
}

func ibcastObjects[T any](c *Comm, op string, buf []T, root int) *Request {
	var data []byte
	x := collective{}
	if c.rank == root {
		x.prepare = func() error { return encodeInto(op, &data, buf) }
	} else {
		x.deliver = func() error { return decodeExactly(data, buf) }
	}
	return x.start(c, op, func(g coll.Graph) {
		coll.BcastObject(g, c.rank, c.Size(), root, &data)
	})
}

// encodeInto sets *data to the serialised form of vs, in new memory.
func encodeInto[T any](op string, data *[]byte, vs []T) (err error) {
	if *data, err = encodeObjects(nil, vs); err != nil {
		return opError(ErrType, op, err)
	}
	return nil
}

// decodeExactly deserialises len(into) objects.
func decodeExactly[T any](b []byte, into []T) error {
	n, err := decodeObjects(b, into)
	err = undecoded(err)
	if err == nil && n != len(into) {
		err = opErrorf(ErrCount, "", "%d objects arrived, the buffer holds %d: all ranks must give the same count", n, len(into))
	}
	return err
}
