package calls

import (
	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
)

// MPI_Alloc_mem is in C, and comes here only to say that there is no memory.
func init() {
	register(procedure.AllocMem, func(c *call) error {
		c.infoOr(1)
		if n := c.int(0); n < 0 {
			return failf(abi.ErrArg, "%d bytes: need 0 or more", n)
		}
		return failf(abi.ErrNoMem, "%d bytes: the system has no memory", c.int(0))
	})
}
