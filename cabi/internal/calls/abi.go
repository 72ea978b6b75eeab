package calls

import (
	"sync"

	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
	"github.com/fitmpi/fitmpi/mpi"
)

// fortran is what a library for Fortran tells about it (MPI 5.0, section 20.4).
var fortran struct {
	mu       sync.Mutex
	info     *info             // guarded by mu; nil until it is set
	booleans map[int][2][]byte // guarded by mu: true and false of LOGICALs, by size
}

func init() {
	register(procedure.AbiGetInfo, func(c *call) error {
		i := &info{mpi.InfoCreate()}
		for _, key := range []string{"mpi_aint_size", "mpi_count_size", "mpi_offset_size"} {
			if err := i.i.Set(key, "8"); err != nil {
				return err
			}
		}
		c.setHandle(0, infos.add(i))
		return nil
	})
	register(procedure.AbiSetFortranInfo, func(c *call) error {
		fortran.mu.Lock()
		defer fortran.mu.Unlock()
		if fortran.info != nil {
			return failf(abi.ErrAbi, "the info about Fortran was set before")
		}
		fortran.info = c.info(0).dup()
		return nil
	})
	register(procedure.AbiGetFortranInfo, func(c *call) error {
		fortran.mu.Lock()
		defer fortran.mu.Unlock()
		h := handle(abi.InfoNull)
		if fortran.info != nil {
			h = infos.add(fortran.info.dup())
		}
		c.setHandle(0, h)
		return nil
	})
	register(procedure.AbiSetFortranBooleans, abiSetFortranBooleans)
	register(procedure.AbiGetFortranBooleans, abiGetFortranBooleans)
}

func abiSetFortranBooleans(c *call) error {
	n := logicalSize(c.int(0))
	fortran.mu.Lock()
	defer fortran.mu.Unlock()
	if _, ok := fortran.booleans[n]; ok {
		return failf(abi.ErrAbi, "the truth values of %d bytes were set before", n)
	}
	if fortran.booleans == nil {
		fortran.booleans = map[int][2][]byte{}
	}
	yes, no := view[byte](c.need(1), n), view[byte](c.need(2), n)
	fortran.booleans[n] = [2][]byte{append([]byte(nil), yes...), append([]byte(nil), no...)}
	return nil
}

func abiGetFortranBooleans(c *call) error {
	n := logicalSize(c.int(0))
	fortran.mu.Lock()
	defer fortran.mu.Unlock()
	b, ok := fortran.booleans[n]
	if c.setBool(3, ok); ok {
		copy(view[byte](c.need(1), n), b[0])
		copy(view[byte](c.need(2), n), b[1])
	}
	return nil
}

func logicalSize(n int) int {
	switch n {
	case 1, 2, 4, 8, 16:
		return n
	}
	panic(failf(abi.ErrArg, "a LOGICAL of %d bytes: need 1, 2, 4, 8 or 16", n))
}
