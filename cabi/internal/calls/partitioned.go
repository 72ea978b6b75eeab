package calls

import (
	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
	"github.com/fitmpi/fitmpi/mpi"
)

func init() {
	register(procedure.PsendInit, func(c *call) error { return partitioned(c, mpi.PsendInit[byte]) })
	register(procedure.PrecvInit, func(c *call) error { return partitioned(c, mpi.PrecvInit[byte]) })
	register(procedure.Pready, func(c *call) error { return c.active(1).r.Pready(c.int(0)) })
	register(procedure.PreadyRange, func(c *call) error { return c.active(2).r.PreadyRange(c.int(0), c.int(1)) })
	register(procedure.PreadyList, func(c *call) error { return c.active(2).r.PreadyList(c.shorts(1, c.count(0))...) })
	register(procedure.Parrived, func(c *call) error {
		here, err := c.active(0).r.Parrived(c.int(1))
		if err == nil {
			c.setBool(2, here)
		}
		return err
	})
}

// partitioned makes a request of partitions of count values each.
func partitioned(c *call, f func(m *mpi.Comm, buf []byte, partitions, rank, tag int) *mpi.Request) error {
	m, partitions := c.comm(6), c.int(1)
	if partitions <= 0 {
		return failf(abi.ErrArg, "there are %d partitions: need 1 or more", partitions)
	}
	x := c.blocks(c.args[0], c.count(2), c.datatype(3), partitions)
	return c.made(8, f(m.WithType(x.t), x.b, partitions, c.int(4), c.int(5)), true)
}

// active is a request of partitions.
func (c *call) active(i int) *request {
	q := findRequest(handle(c.args[i]))
	if q == nil {
		panic(failf(abi.ErrRequest, "the request is null, or not of MPI_Psend_init or MPI_Precv_init"))
	}
	c.on = q.on
	return q
}
