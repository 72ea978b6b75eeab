package calls

import (
	"sync/atomic"

	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
	"github.com/fitmpi/fitmpi/mpi"
)

// comm is a communicator of C.
type comm struct {
	*mpi.Comm
	h     handle
	errh  atomic.Pointer[errhandler]
	name  atomic.Pointer[string]
	attrs attributes
	hints atomic.Pointer[info] // what MPI_Comm_set_info has said
}

// handler, self and abort make it an owner of errors.
func (m *comm) handler() *errhandler { return m.errh.Load() }
func (m *comm) self() handle         { return m.h }
func (m *comm) abort(text string)    { m.Abort(1, text) }

func newComm(c *mpi.Comm, errh *errhandler) *comm {
	m := &comm{Comm: c}
	m.errh.Store(errh.use())
	name := ""
	m.name.Store(&name)
	return m
}

// predefinedComm is one that MPI_Init makes.
func predefinedComm(h handle, c *mpi.Comm, name string) *comm {
	m := newComm(c, errorsAreFatal)
	m.h = h
	m.name.Store(&name)
	comms.predefine(h, m)
	return m
}

// give writes the handle of a communicator that was made from another to argument i.
func (c *call) give(i int, made *mpi.Comm, from *comm, err error) error {
	if err != nil || made == nil {
		if c.args[i] != 0 {
			c.setHandle(i, abi.CommNull)
		}
		return err
	}
	m := newComm(made, from.handler())
	m.h = comms.add(m)
	c.setHandle(i, m.h)
	return nil
}

func init() {
	register(procedure.CommSize, func(c *call) error { c.setInt(1, c.comm(0).Size()); return nil })
	register(procedure.CommRank, func(c *call) error { c.setInt(1, c.comm(0).Rank()); return nil })
	register(procedure.CommTestInter, func(c *call) error { c.setBool(1, c.comm(0).IsInter()); return nil })
	register(procedure.CommRemoteSize, commRemoteSize)
	register(procedure.CommCompare, commCompare)
	register(procedure.CommDup, commDup)
	register(procedure.CommDupWithInfo, commDup)
	register(procedure.CommIdup, commIdup)
	register(procedure.CommIdupWithInfo, commIdup)
	register(procedure.CommSplit, commSplit)
	register(procedure.CommSplitType, commSplitType)
	register(procedure.CommCreate, commCreate)
	register(procedure.CommCreateGroup, commCreateGroup)
	register(procedure.CommFree, commFree)
	register(procedure.CommSetName, func(c *call) error {
		m, name := c.comm(0), c.text(1)
		m.name.Store(&name)
		return m.SetName(name)
	})
	register(procedure.CommGetName, func(c *call) error {
		c.setText(1, *c.comm(0).name.Load(), abi.MaxObjectName, 2)
		return nil
	})
	register(procedure.CommSetInfo, commSetInfo)
	register(procedure.CommGetInfo, commGetInfo)
	register(procedure.IntercommCreate, intercommCreate)
	register(procedure.IntercommMerge, intercommMerge)
	register(procedure.BufferAttach, func(c *call) error { return attach(c, 0, theWorld.Load().world.AttachJobBuffer) })
	register(procedure.BufferDetach, func(c *call) error { return detach(c, 0, theWorld.Load().world.DetachJobBuffer) })
	register(procedure.BufferFlush, func(*call) error { return theWorld.Load().world.FlushJobBuffer() })
	register(procedure.BufferIflush, func(c *call) error { return c.started(0, theWorld.Load().world.IflushJobBuffer()) })
	register(procedure.CommAttachBuffer, func(c *call) error { return attach(c, 1, c.comm(0).AttachBuffer) })
	register(procedure.CommDetachBuffer, func(c *call) error { return detach(c, 1, c.comm(0).DetachBuffer) })
	register(procedure.CommFlushBuffer, func(c *call) error { return c.comm(0).FlushBuffer() })
	register(procedure.CommIflushBuffer, func(c *call) error { return c.started(1, c.comm(0).IflushBuffer()) })
}

func attach(c *call, i int, f func([]byte) error) error {
	if c.args[i] == abi.BufferAutomatic {
		return f(mpi.BufferAutomatic)
	}
	n := c.int(i + 1)
	if n < 0 {
		return failf(abi.ErrArg, "the buffer has %d bytes: need 0 or more", n)
	}
	return f(view[byte](c.args[i], n))
}

func detach(c *call, i int, f func() ([]byte, error)) error {
	b, err := f()
	if err != nil {
		return err
	}
	if len(b) > 0 && &b[0] == &mpi.BufferAutomatic[0] {
		c.setWide(i, abi.BufferAutomatic)
		c.set(i+1, 0)
		return nil
	}
	*at[int64](c.need(i)) = addressOf(b)
	c.set(i+1, len(b))
	return nil
}

func commRemoteSize(c *call) error {
	m := c.comm(0)
	if !m.IsInter() {
		return failf(abi.ErrComm, "the communicator is no intercommunicator")
	}
	c.setInt(1, m.RemoteSize())
	return nil
}

// comparisons are results as the ABI has them.
var comparisons = map[mpi.Comparison]int{
	mpi.Ident: abi.Ident, mpi.Congruent: abi.Congruent, mpi.Similar: abi.Similar, mpi.Unequal: abi.Unequal,
}

func commCompare(c *call) error {
	a, b := c.comm(0), comms.get(handle(c.args[1]))
	how, err := a.Compare(b.Comm)
	if err == nil {
		c.setInt(2, comparisons[how])
	}
	return err
}

func commFree(c *call) error {
	p := at[handle](c.need(0))
	m := comms.get(*p)
	c.on = m
	if m.h < 4096 {
		return failf(abi.ErrComm, "%s is predefined and cannot be freed", *m.name.Load())
	}
	if err := m.attrs.clear(m.h); err != nil {
		return err
	}
	if m.Comm != nil {
		end := m.Free
		if c.id == procedure.CommDisconnect {
			end = m.Disconnect
		}
		if err := end(); err != nil {
			return err
		}
	}
	comms.remove(m.h)
	*p = abi.CommNull
	return nil
}

func commSetInfo(c *call) error {
	m := c.comm(0)
	hints := c.infoOr(1)
	if hints == nil {
		return nil
	}
	all := &info{i: mpi.InfoCreate()}
	if old := m.hints.Load(); old != nil {
		all = old.dup()
	}
	for k, v := range hints.i.All() {
		_ = all.i.Set(k, v)
	}
	m.hints.Store(all)
	return m.SetInfo(hints.i)
}

func commGetInfo(c *call) error {
	m := c.comm(0)
	all := &info{i: m.Comm.Info()}
	if hints := m.hints.Load(); hints != nil {
		for k, v := range hints.i.All() {
			_ = all.i.Set(k, v)
		}
	}
	c.setHandle(1, infos.add(all))
	return nil
}

func intercommCreate(c *call) error {
	m, leader := c.comm(0), c.int(1)
	var peer *mpi.Comm
	if m.Rank() == leader {
		peer = comms.get(handle(c.args[2])).Comm
	}
	made, err := m.IntercommCreate(leader, peer, c.int(3), c.int(4))
	return c.give(5, made, m, err)
}

func intercommMerge(c *call) error {
	m := c.comm(0)
	made, err := m.Merge(c.bool(1))
	return c.give(2, made, m, err)
}
