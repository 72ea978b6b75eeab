package calls

import (
	"errors"
	"os"
	"sync"
	"syscall"

	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
	"github.com/fitmpi/fitmpi/mpi"
)

// Processes that come later, and jobs that meet (MPI 4.1, sections 11.8 to 11.10).

func init() {
	register(procedure.CommSpawn, commSpawn)
	register(procedure.CommSpawnMultiple, commSpawnMultiple)
	register(procedure.CommGetParent, commGetParent)
	register(procedure.CommAccept, commAccept)
	register(procedure.CommConnect, commAccept)
	register(procedure.CommDisconnect, commFree)
	register(procedure.CommJoin, commJoin)
	register(procedure.OpenPort, openPort)
	register(procedure.ClosePort, func(c *call) error { return theWorld.Load().world.ClosePort(c.text(0)) })
	register(procedure.PublishName, func(c *call) error {
		return theWorld.Load().world.PublishName(c.text(0), c.text(2), c.infoOr(1).orNil())
	})
	register(procedure.UnpublishName, func(c *call) error {
		return theWorld.Load().world.UnpublishName(c.text(0), c.infoOr(1).orNil())
	})
	register(procedure.LookupName, lookupName)
}

// texts are the strings of an array that ends with a null pointer; none if there is no array.
func texts(addr int64) []string {
	var list []string
	for ; addr != 0; addr += 8 {
		p := *at[int64](addr)
		if p == 0 {
			break
		}
		list = append(list, text(p))
	}
	return list
}

func commSpawn(c *call) error {
	m, root := c.comm(5), c.int(4)
	var p mpi.SpawnProgram
	if m.Rank() == root {
		p = mpi.SpawnProgram{Command: c.text(0), Args: texts(c.args[1]), Ranks: c.int(2), Info: c.infoOr(3).orNil()}
	}
	made, err := m.Spawn(p.Command, p.Args, p.Ranks, root, p.Info)
	c.giveCodes(7, []mpi.SpawnProgram{p}, err)
	return c.give(6, made, m, err)
}

func commSpawnMultiple(c *call) error {
	m, root := c.comm(6), c.int(5)
	var programs []mpi.SpawnProgram
	if m.Rank() == root {
		n := c.count(0)
		commands, ranks, hints := view[int64](c.need(1), n), narrow(c.need(3), n), view[handle](c.need(4), n)
		for i := range n {
			p := mpi.SpawnProgram{Command: text(commands[i]), Ranks: ranks[i]}
			if c.args[2] != abi.ArgvsNull {
				p.Args = texts(view[int64](c.args[2], n)[i])
			}
			if hints[i] != abi.InfoNull {
				p.Info = infos.get(hints[i]).orNil()
			}
			programs = append(programs, p)
		}
	}
	made, err := m.SpawnMultiple(programs, root)
	c.giveCodes(8, programs, err)
	return c.give(7, made, m, err)
}

// giveCodes tells the root of each process whether it was started: all were, or none.
func (c *call) giveCodes(i int, programs []mpi.SpawnProgram, err error) {
	if c.args[i] == abi.ErrcodesIgnore {
		return
	}
	n, code := 0, abi.Success
	for _, p := range programs {
		n += max(p.Ranks, 0)
	}
	if err != nil {
		code = abi.ErrSpawn
	}
	for k := range view[int32](c.args[i], n) {
		view[int32](c.args[i], n)[k] = int32(code)
	}
}

// parent is the handle of the communicator with the ranks that have spawned this job.
var parent struct {
	sync.Mutex
	of *mpi.Comm
	h  handle
}

func commGetParent(c *call) error {
	p := theWorld.Load().world.Parent()
	if p == nil {
		c.setHandle(0, abi.CommNull)
		return nil
	}
	parent.Lock()
	defer parent.Unlock()
	if parent.of != p {
		m := newComm(p, comms.get(abi.CommWorld).handler())
		name := "MPI_COMM_PARENT" // MPI 5.0, section 7.8
		m.name.Store(&name)
		m.h = comms.add(m)
		parent.of, parent.h = p, m.h
	}
	c.setHandle(0, parent.h)
	return nil
}

func commAccept(c *call) error {
	m, root := c.comm(3), c.int(2)
	name := ""
	if m.Rank() == root {
		name = c.text(0)
	}
	meet := m.Accept
	if c.id == procedure.CommConnect {
		meet = m.Connect
	}
	made, err := meet(name, root, nil)
	return c.give(4, made, m, err)
}

// commJoin speaks over another descriptor of the caller's socket, so that this one stays as it is.
func commJoin(c *call) error {
	fd, err := syscall.Dup(c.int(0))
	if err != nil {
		return failf(abi.ErrArg, "descriptor %d: %v", c.int(0), err)
	}
	conn := os.NewFile(uintptr(fd), "MPI_Comm_join")
	self := comms.get(abi.CommSelf)
	c.on = self
	made, err := self.Join(conn)
	if bad := conn.Close(); err == nil && !errors.Is(bad, os.ErrClosed) {
		err = bad
	}
	return c.give(1, made, self, err)
}

func openPort(c *call) error {
	name, err := theWorld.Load().world.OpenPort(c.infoOr(0).orNil())
	if err != nil {
		return err
	}
	if len(name) >= abi.MaxPortName {
		return failf(abi.ErrPort, "the name of the port has %d bytes, MPI_MAX_PORT_NAME has room for %d: let the job listen at fewer addresses (FITMPI_IFACE)", len(name), abi.MaxPortName-1)
	}
	c.setText(1, name, abi.MaxPortName, -1)
	return nil
}

func lookupName(c *call) error {
	name, err := theWorld.Load().world.LookupName(c.text(0), c.infoOr(1).orNil())
	if err != nil {
		return err
	}
	c.setText(2, name, abi.MaxPortName, -1)
	return nil
}
