package calls

import (
	"math"
	"unsafe"

	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
	"github.com/fitmpi/fitmpi/mpi"
)

// mode is the communication mode of a send.
type mode int

const (
	standard mode = iota
	buffered
	synchronous
	ready
)

// elements sends and receives elements of one kind: package mpi has a function for each, which a
// datatype of C chooses at run time.
type elements interface {
	send(c *mpi.Comm, m mode, p unsafe.Pointer, n, dest, tag int) error
	isend(c *mpi.Comm, m mode, p unsafe.Pointer, n, dest, tag int) *mpi.Request
	sendInit(c *mpi.Comm, m mode, p unsafe.Pointer, n, dest, tag int) *mpi.Request
	recv(c *mpi.Comm, p unsafe.Pointer, n, source, tag int) (mpi.Status, error)
	irecv(c *mpi.Comm, p unsafe.Pointer, n, source, tag int) *mpi.Request
	recvInit(c *mpi.Comm, p unsafe.Pointer, n, source, tag int) *mpi.Request
	imrecv(m *mpi.Message, p unsafe.Pointer, n int) *mpi.Request
}

// of is elements of T.
type of[T any] struct{}

func (of[T]) send(c *mpi.Comm, m mode, p unsafe.Pointer, n, dest, tag int) error {
	b := unsafe.Slice((*T)(p), n)
	switch m {
	case buffered:
		return mpi.Bsend(c, b, dest, tag)
	case synchronous:
		return mpi.Ssend(c, b, dest, tag)
	case ready:
		return mpi.Rsend(c, b, dest, tag)
	}
	return mpi.Send(c, b, dest, tag)
}

func (of[T]) isend(c *mpi.Comm, m mode, p unsafe.Pointer, n, dest, tag int) *mpi.Request {
	b := unsafe.Slice((*T)(p), n)
	switch m {
	case buffered:
		return mpi.Ibsend(c, b, dest, tag)
	case synchronous:
		return mpi.Issend(c, b, dest, tag)
	case ready:
		return mpi.Irsend(c, b, dest, tag)
	}
	return mpi.Isend(c, b, dest, tag)
}

func (of[T]) sendInit(c *mpi.Comm, m mode, p unsafe.Pointer, n, dest, tag int) *mpi.Request {
	b := unsafe.Slice((*T)(p), n)
	switch m {
	case buffered:
		return mpi.BsendInit(c, b, dest, tag)
	case synchronous:
		return mpi.SsendInit(c, b, dest, tag)
	case ready:
		return mpi.RsendInit(c, b, dest, tag)
	}
	return mpi.SendInit(c, b, dest, tag)
}

func (of[T]) recv(c *mpi.Comm, p unsafe.Pointer, n, source, tag int) (mpi.Status, error) {
	return mpi.Recv(c, unsafe.Slice((*T)(p), n), source, tag)
}

func (of[T]) irecv(c *mpi.Comm, p unsafe.Pointer, n, source, tag int) *mpi.Request {
	return mpi.Irecv(c, unsafe.Slice((*T)(p), n), source, tag)
}

func (of[T]) recvInit(c *mpi.Comm, p unsafe.Pointer, n, source, tag int) *mpi.Request {
	return mpi.RecvInit(c, unsafe.Slice((*T)(p), n), source, tag)
}

func (of[T]) imrecv(m *mpi.Message, p unsafe.Pointer, n int) *mpi.Request {
	return mpi.Imrecv(m, unsafe.Slice((*T)(p), n))
}

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

func probe(c *call) error {
	on, source, tag := c.peer(0)
	st, err := mpi.Probe(on.Comm, source, tag)
	if err == nil {
		c.setStatus(3, st)
	}
	return err
}

func iprobe(c *call) error {
	on, source, tag := c.peer(0)
	st, ok, err := mpi.Iprobe(on.Comm, source, tag)
	if err != nil {
		return err
	}
	if c.setBool(3, ok); ok {
		c.setStatus(4, st)
	}
	return nil
}

// message is one that a matched probe took.
type message struct {
	m  *mpi.Message
	on *comm
}

func (c *call) setMessage(i int, m *mpi.Message, on *comm) {
	if m == mpi.MessageNoProc {
		c.setHandle(i, abi.MessageNoProc)
		return
	}
	c.setHandle(i, messages.add(&message{m, on}))
}

func mprobe(c *call) error {
	on, source, tag := c.peer(0)
	m, st, err := mpi.Mprobe(on.Comm, source, tag)
	if err == nil {
		c.setMessage(3, m, on)
		c.setStatus(4, st)
	}
	return err
}

func improbe(c *call) error {
	on, source, tag := c.peer(0)
	m, st, err := mpi.Improbe(on.Comm, source, tag)
	if err != nil {
		return err
	}
	if c.setBool(3, m != nil); m != nil {
		c.setMessage(4, m, on)
		c.setStatus(5, st)
	}
	return nil
}

// takeMessage is the message at argument i, which is null from now on.
func (c *call) takeMessage(i int) *mpi.Message {
	p := at[handle](c.need(i))
	h := *p
	if h == abi.MessageNoProc {
		*p = abi.MessageNull
		return mpi.MessageNoProc
	}
	m := messages.get(h)
	c.on = m.on
	messages.remove(h)
	*p = abi.MessageNull
	return m.m
}

// receiveMessage starts to receive a message that was matched. A layout of the buffer is that of
// the communicator, which the message has had since it was probed: so such a message goes to memory
// of its own first.
func (c *call) receiveMessage(m *mpi.Message) (r *mpi.Request, done func() error) {
	b := c.buffer(0)
	if b.t == nil {
		return b.k.imrecv(m, b.p, b.n), nil
	}
	size := b.t.Size()
	room := make([]byte, size)
	r = mpi.Imrecv(m, room)
	return r, func() error {
		st, err := r.Wait()
		if err == nil {
			err = b.unpack(room[:max(st.GetCount(byteType), 0)])
		}
		return err
	}
}

func mrecv(c *call) error {
	r, done := c.receiveMessage(c.takeMessage(3))
	st, err := r.Wait()
	if err == nil && done != nil {
		err = done()
	}
	c.setStatus(4, st)
	return err
}

func imrecv(c *call) error {
	r, done := c.receiveMessage(c.takeMessage(3))
	if done == nil {
		return c.started(4, r)
	}
	c.setHandle(4, keep(&request{r: r, on: c.on, done: done}))
	return nil
}

func getCount(c *call) error {
	st, d := at[status](c.need(0)), c.datatype(1)
	n := st.count()
	switch {
	case n == 0:
		c.set(2, 0)
	case d.size == 0 || n%d.size != 0:
		c.set(2, abi.Undefined)
	default:
		c.set(2, n/d.size)
	}
	return nil
}

// bytesStatus is a status of package mpi of so many bytes.
func bytesStatus(n int) (st mpi.Status) {
	if err := st.SetElements(byteType, n); err != nil {
		panic(failf(abi.ErrCount, "%v", err))
	}
	return st
}

func getElements(c *call) error {
	st, d := at[status](c.need(0)), c.datatype(1)
	n := st.count()
	if basic := d.basic(); basic > 0 {
		if n%basic != 0 {
			c.set(2, abi.Undefined)
		} else {
			c.set(2, n/basic)
		}
		return nil
	}
	if n = bytesStatus(n).GetElements(d.t); n == mpi.Undefined {
		n = abi.Undefined
	}
	c.set(2, n)
	return nil
}

// basic is the size of d's values if they are basic, else 0.
func (d *datatype) basic() int {
	if d.named && (d.ops == nil || !isPair(d.ops)) {
		return d.size
	}
	return 0
}

func statusSetElements(c *call) error {
	st, d, n := at[status](c.need(0)), c.datatype(1), c.count(2)
	if basic := d.basic(); basic > 0 && n <= math.MaxInt/basic {
		st.setBytes(n * basic)
		return nil
	}
	var s mpi.Status
	if err := s.SetElements(d.t, n); err != nil {
		return err
	}
	st.setBytes(s.GetCount(byteType))
	return nil
}
