package calls

import (
	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/mpi"
)

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
	c.setHandle(4, keep(request{r: r, on: c.on, done: done}))
	return nil
}
