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
	register(procedure.CommDisconnect, commFree)
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
	register(procedure.CommGetParent, func(c *call) error { c.setHandle(0, abi.CommNull); return nil })
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

// duplicate is a copy of m, which has copies of its attributes, in the making.
func (c *call) duplicate(m *comm, i *info) (*comm, error) {
	n := newComm(nil, m.handler())
	if hints := m.hints.Load(); hints != nil {
		n.hints.Store(hints)
	}
	if i != nil {
		n.hints.Store(i)
	}
	if err := m.attrs.copyTo(m.h, &n.attrs); err != nil {
		return nil, err
	}
	return n, nil
}

// infoOr is the info object at argument i, or nil of MPI_INFO_NULL.
func (c *call) infoOr(i int) *info {
	if handle(c.args[i]) == abi.InfoNull {
		return nil
	}
	return c.info(i)
}

func commDup(c *call) error {
	m, to, hints := c.comm(0), 1, (*info)(nil)
	if c.id == procedure.CommDupWithInfo {
		to, hints = 2, c.infoOr(1)
	}
	n, failed := c.duplicate(m, hints) // a rank that fails still takes part: the others need it
	made, err := m.Dup(nil)
	if err == nil && failed != nil {
		_ = made.Free()
		err = failed
	}
	if err != nil {
		c.setHandle(to, abi.CommNull)
		return err
	}
	n.Comm = made
	n.h = comms.add(n)
	c.setHandle(to, n.h)
	return nil
}

func commIdup(c *call) error {
	m, to, hints := c.comm(0), 1, (*info)(nil)
	if c.id == procedure.CommIdupWithInfo {
		to, hints = 2, c.infoOr(1)
	}
	n, err := c.duplicate(m, hints)
	if err != nil {
		return err
	}
	made := m.Idup(nil)
	n.h = comms.add(n)
	c.setHandle(to, n.h)
	c.setHandle(to+1, keep(&request{r: made.Request, on: m, collective: true, done: func() error {
		n.Comm = made.Comm()
		return nil
	}}))
	return nil
}

// undefined is a number whose MPI_UNDEFINED package mpi has under another number.
func undefined(n int) int {
	if n == abi.Undefined {
		return mpi.Undefined
	}
	return n
}

func commSplit(c *call) error {
	m := c.comm(0)
	color := undefined(c.int(1))
	if color < 0 && color != mpi.Undefined {
		return failf(abi.ErrArg, "the color is %d: need 0 or more, or MPI_UNDEFINED", color)
	}
	made, err := m.Split(color, c.int(2))
	return c.give(3, made, m, err)
}

func commSplitType(c *call) error {
	m, how := c.comm(0), c.int(1)
	kinds := map[int]mpi.SplitKind{
		abi.CommTypeShared: mpi.SplitShared, abi.CommTypeHwGuided: mpi.SplitHWGuided,
		abi.CommTypeHwUnguided: mpi.SplitHWUnguided, abi.CommTypeResourceGuided: mpi.SplitResourceGuided,
	}
	kind, ok := kinds[how]
	if how == abi.Undefined {
		kind, ok = mpi.SplitKind(mpi.Undefined), true
	}
	if !ok {
		return failf(abi.ErrArg, "the type of split is %d: need MPI_COMM_TYPE_SHARED or another of those, or MPI_UNDEFINED", how)
	}
	made, err := m.SplitType(kind, c.int(2), c.infoOr(3).orNil())
	return c.give(4, made, m, err)
}

func commCreate(c *call) error {
	m := c.comm(0)
	made, err := m.Create(c.group(1).Group)
	return c.give(2, made, m, err)
}

func commCreateGroup(c *call) error {
	m := c.comm(0)
	made, err := m.CreateGroup(c.group(1).Group, c.int(2))
	return c.give(3, made, m, err)
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
		if err := m.Free(); err != nil {
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

// predefinedAttribute is the address of an attribute of the library's own.
func predefinedAttribute(n int) (addr int64, ok bool) {
	w := theWorld.Load()
	if w == nil {
		return 0, false
	}
	cells := attributeCells()
	switch n {
	case abi.TagUb:
		cells[0] = mpi.TagUB
	case abi.Host:
		cells[1] = abi.ProcNull
	case abi.Io:
		cells[2] = abi.AnySource
	case abi.WtimeIsGlobal:
		cells[3] = 0
	case abi.UniverseSize:
		size, ok := w.world.UniverseSize()
		if !ok {
			return 0, false
		}
		cells[4] = int32(size)
	case abi.Appnum:
		num, ok := w.world.AppNum()
		if !ok {
			return 0, false
		}
		cells[5] = int32(num)
	case abi.Lastusedcode:
		cells[6] = int32(codeOfAdded(int(mpi.LastUsedCode())))
	default:
		return 0, false
	}
	return address(&cells[cellOf[n]]), true
}

// cellOf is where the value of an attribute is.
var cellOf = map[int]int{abi.TagUb: 0, abi.Host: 1, abi.Io: 2, abi.WtimeIsGlobal: 3, abi.UniverseSize: 4, abi.Appnum: 5, abi.Lastusedcode: 6}
