package calls

import (
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
	"github.com/fitmpi/fitmpi/mpi"
)

func init() {
	for m, ids := range map[mode][3]procedure.ID{
		standard:    {procedure.Send, procedure.Isend, procedure.SendInit},
		buffered:    {procedure.Bsend, procedure.Ibsend, procedure.BsendInit},
		synchronous: {procedure.Ssend, procedure.Issend, procedure.SsendInit},
		ready:       {procedure.Rsend, procedure.Irsend, procedure.RsendInit},
	} {
		register(ids[0], func(c *call) error { return send(c, m) })
		register(ids[1], func(c *call) error { return isend(c, m) })
		register(ids[2], func(c *call) error { return sendInit(c, m) })
	}
	register(procedure.Recv, recv)
	register(procedure.Irecv, irecv)
	register(procedure.RecvInit, recvInit)
	register(procedure.Sendrecv, sendrecv)
	register(procedure.SendrecvReplace, sendrecvReplace)
	register(procedure.Isendrecv, isendrecv)
	register(procedure.IsendrecvReplace, isendrecvReplace)
	register(procedure.Probe, probe)
	register(procedure.Iprobe, iprobe)
	register(procedure.Mprobe, mprobe)
	register(procedure.Improbe, improbe)
	register(procedure.Mrecv, mrecv)
	register(procedure.Imrecv, imrecv)
	register(procedure.GetCount, getCount)
	register(procedure.GetElements, getElements)
	register(procedure.GetElementsX, func(c *call) error { c.large = true; return getElements(c) })
	register(procedure.StatusSetElements, statusSetElements)
	register(procedure.StatusSetElementsX, statusSetElements)
}

// peer is the rank, tag and communicator of arguments i, i+1 and i+2.
func (c *call) peer(i int) (m *comm, rank, tag int) { return c.comm(i + 2), c.int(i), c.int(i + 1) }

func send(c *call, m mode) error {
	on, dest, tag := c.peer(3)
	b := c.buffer(0)
	return b.k.send(b.on(on.Comm), m, b.p, b.n, dest, tag)
}

func isend(c *call, m mode) error {
	on, dest, tag := c.peer(3)
	b := c.buffer(0)
	return c.started(6, b.k.isend(b.on(on.Comm), m, b.p, b.n, dest, tag))
}

func sendInit(c *call, m mode) error {
	on, dest, tag := c.peer(3)
	b := c.buffer(0)
	return c.made(6, b.k.sendInit(b.on(on.Comm), m, b.p, b.n, dest, tag), false)
}

func recv(c *call) error {
	on, source, tag := c.peer(3)
	b := c.buffer(0)
	st, err := b.k.recv(b.on(on.Comm), b.p, b.n, source, tag)
	c.setStatus(6, st)
	return err
}

func irecv(c *call) error {
	on, source, tag := c.peer(3)
	b := c.buffer(0)
	return c.started(6, b.k.irecv(b.on(on.Comm), b.p, b.n, source, tag))
}

func recvInit(c *call) error {
	on, source, tag := c.peer(3)
	b := c.buffer(0)
	return c.made(6, b.k.recvInit(b.on(on.Comm), b.p, b.n, source, tag), false)
}

// exchange is the two halves of a Sendrecv, as bytes: their elements may be of two kinds.
func (c *call) exchange() (on *mpi.Comm, out []byte, dest, sendTag int, in []byte, source, recvTag int) {
	m := c.comm(10)
	s, r := c.buffer(0).asBytes(), c.buffer(5).asBytes()
	return m.WithTypes(s.t, r.t), s.bytes(), c.int(3), c.int(4), r.bytes(), c.int(8), c.int(9)
}

func sendrecv(c *call) error {
	on, out, dest, sendTag, in, source, recvTag := c.exchange()
	st, err := mpi.Sendrecv(on, out, dest, sendTag, in, source, recvTag)
	c.setStatus(11, st)
	return err
}

func isendrecv(c *call) error {
	on, out, dest, sendTag, in, source, recvTag := c.exchange()
	return c.started(11, mpi.Isendrecv(on, out, dest, sendTag, in, source, recvTag))
}

func sendrecvReplace(c *call) error {
	m, b := c.comm(7), c.buffer(0).asBytes()
	st, err := mpi.SendrecvReplace(b.on(m.Comm), b.bytes(), c.int(3), c.int(4), c.int(5), c.int(6))
	c.setStatus(8, st)
	return err
}

func isendrecvReplace(c *call) error {
	m, b := c.comm(7), c.buffer(0).asBytes()
	return c.started(8, mpi.IsendrecvReplace(b.on(m.Comm), b.bytes(), c.int(3), c.int(4), c.int(5), c.int(6)))
}
