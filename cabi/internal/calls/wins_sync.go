package calls

import (
	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
	"github.com/fitmpi/fitmpi/mpi"
)

// assertion are promises of a call.
func (c *call) assertion(i int) (a mpi.Assert) {
	n := c.int(i)
	for bit, promise := range map[int]mpi.Assert{
		abi.ModeNocheck: mpi.NoCheck, abi.ModeNostore: mpi.NoStore, abi.ModeNoput: mpi.NoPut,
		abi.ModeNoprecede: mpi.NoPrecede, abi.ModeNosucceed: mpi.NoSucceed,
	} {
		if n&bit != 0 {
			a |= promise
			n &^= bit
		}
	}
	if n != 0 {
		panic(failf(abi.ErrAssert, "assertion %#x: need the MPI_MODE_ constants of windows", c.int(i)))
	}
	return a
}

func init() {
	register(procedure.WinFence, func(c *call) error { return c.win(1).Fence(c.assertion(0)) })
	register(procedure.WinPost, func(c *call) error { return c.win(2).Post(c.group(0).Group, c.assertion(1)) })
	register(procedure.WinStart, func(c *call) error { return c.win(2).Start(c.group(0).Group, c.assertion(1)) })
	register(procedure.WinComplete, func(c *call) error { return c.win(0).Complete() })
	register(procedure.WinWait, func(c *call) error { return c.win(0).Wait() })
	register(procedure.WinTest, func(c *call) error {
		done, err := c.win(0).Test()
		if err == nil {
			c.setBool(1, done)
		}
		return err
	})
	register(procedure.WinLock, func(c *call) error { return c.win(3).Lock(c.lockType(0), c.int(1), c.assertion(2)) })
	register(procedure.WinLockAll, func(c *call) error { return c.win(1).LockAll(c.assertion(0)) })
	register(procedure.WinUnlock, func(c *call) error { return c.win(1).Unlock(c.int(0)) })
	register(procedure.WinUnlockAll, func(c *call) error { return c.win(0).UnlockAll() })
	register(procedure.WinFlush, func(c *call) error { return c.win(1).Flush(c.int(0)) })
	register(procedure.WinFlushAll, func(c *call) error { return c.win(0).FlushAll() })
	register(procedure.WinFlushLocal, func(c *call) error { return c.win(1).FlushLocal(c.int(0)) })
	register(procedure.WinFlushLocalAll, func(c *call) error { return c.win(0).FlushLocalAll() })
	register(procedure.WinSync, func(c *call) error { return c.win(0).Sync() })
}

func (c *call) lockType(i int) mpi.LockType {
	switch c.int(i) {
	case abi.LockExclusive:
		return mpi.LockExclusive
	case abi.LockShared:
		return mpi.LockShared
	}
	panic(failf(abi.ErrLocktype, "the type of lock is %d: need MPI_LOCK_EXCLUSIVE or MPI_LOCK_SHARED", c.int(i)))
}
