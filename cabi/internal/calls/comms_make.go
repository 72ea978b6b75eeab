package calls

import (
	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
	"github.com/fitmpi/fitmpi/mpi"
)

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
	c.setHandle(to+1, keep(request{r: made.Request, on: m, collective: true, done: func() error {
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
