package mpi

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"sync"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/port"
)

// ports are those that a rank has open.
type ports struct {
	mu   sync.Mutex
	open map[string]*port.Port // guarded by mu; by name
}

// OpenPort opens a port at the calling rank, at which ranks of another job can ask to meet those of
// this one, and returns its name. The name goes to the other job by whatever way: a file, an
// argument, PublishName. It has a key in it, and what knows the name is let in. So it is to be kept
// as a password is. The port is open until ClosePort or Finalize. It listens at the addresses at
// which the rank accepts the ranks of its own job: of a job on one host that is the loopback
// address, unless FITMPI_IFACE (fitrun --iface) says otherwise. info is for hints and may be nil;
// none are known. It is local (MPI 4.1, section 11.9.2).
func (c *Comm) OpenPort(info *Info) (name string, err error) {
	defer c.begin("OpenPort").endAt(&err)
	const op = "OpenPort"
	if err := c.usable(op); err != nil {
		return "", c.fail(err)
	}
	name, bad := c.job.openPort()
	if bad != nil {
		return "", c.fail(opError(ErrPort, op, bad))
	}
	return name, nil
}

// errNoPorts says why ranks of two jobs cannot meet.
var errNoPorts = errors.New("ranks meet those of other jobs over sockets, which FitMPI uses on Linux only")

func (j *job) openPort() (string, error) {
	if !engine.HasSockets {
		return "", errNoPorts
	}
	var addrs []netip.Addr
	for _, a := range j.engine.Addrs() {
		addrs = append(addrs, a.Addr())
	}
	p, err := port.Open(addrs, j.set.net.ports)
	if err != nil {
		return "", err
	}
	j.ports.mu.Lock()
	defer j.ports.mu.Unlock()
	if j.ports.open == nil {
		j.ports.open = make(map[string]*port.Port)
	}
	j.ports.open[p.Name()] = p
	return p.Name(), nil
}

// find is an open port of this rank by its name.
func (ps *ports) find(name string) (*port.Port, error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if p := ps.open[name]; p != nil {
		return p, nil
	}
	return nil, errors.New("this rank has no open port of that name: give what its OpenPort gave")
}

// close closes a port.
func (ps *ports) close(name string) error {
	p, err := ps.find(name)
	if err != nil {
		return err
	}
	ps.mu.Lock()
	delete(ps.open, name)
	ps.mu.Unlock()
	return p.Close()
}

// closeAll closes all that are open.
func (ps *ports) closeAll() (err error) {
	ps.mu.Lock()
	open := ps.open
	ps.open = nil
	ps.mu.Unlock()
	for _, p := range open {
		err = errors.Join(err, p.Close())
	}
	return err
}

// ClosePort closes a port that OpenPort has opened at the calling rank. Ranks that wait there get
// an error, and so does an Accept of this rank. A name that is not that of an open port is an error
// of class ErrPort. It is local (MPI 4.1, section 11.9.2).
func (c *Comm) ClosePort(name string) (err error) {
	defer c.begin("ClosePort").endAt(&err)
	const op = "ClosePort"
	if err := c.usable(op); err != nil {
		return c.fail(err)
	}
	if err := c.job.ports.close(name); err != nil {
		return c.fail(opError(ErrPort, op, err))
	}
	return nil
}

// Accept waits for the ranks of another job that Connect to a port, and makes an intercommunicator
// with them: c's ranks are the local group. root is the rank of c that has opened the port; name
// matters there only. info is for hints and may be nil; none are known. It waits for the other job
// until the context of c ends (WithContext) or the port is closed. What the root finds wrong, and
// what goes wrong at any rank of the two groups, all ranks get as an error. Collective (MPI 4.1,
// section 11.9.2, MPI_Comm_accept).
func (c *Comm) Accept(name string, root int, info *Info) (newcomm *Comm, err error) {
	defer c.begin("Accept").endMade(&newcomm, &err)
	return c.meetJob("Accept", root, ErrPort, func(ctx context.Context) (*port.Link, error) {
		p, err := c.job.ports.find(name)
		if err != nil {
			return nil, err
		}
		return p.Accept(ctx)
	})
}

// Connect asks at a port to meet the ranks that Accept there, and makes an intercommunicator with
// them: c's ranks are the local group. name is what OpenPort gave in the other job; it matters at
// the rank root only. info is for hints and may be nil; none are known. It waits to be accepted
// until the context of c ends (WithContext) or the port is closed. That no such port is open is an
// error of class ErrPort, at all ranks. Collective (MPI 4.1, section 11.9.3, MPI_Comm_connect).
func (c *Comm) Connect(name string, root int, info *Info) (newcomm *Comm, err error) {
	defer c.begin("Connect").endMade(&newcomm, &err)
	return c.meetJob("Connect", root, ErrPort, func(ctx context.Context) (*port.Link, error) {
		if !engine.HasSockets {
			return nil, errNoPorts
		}
		return port.Dial(ctx, name)
	})
}

// meetJob makes an intercommunicator of c and of the group at the other end of the link that the
// root opens. If it cannot, that is an error of the class.
func (c *Comm) meetJob(op string, root int, class ErrorClass, open func(context.Context) (*port.Link, error)) (*Comm, error) {
	if err := c.checkLocal(op, root); err != nil {
		return nil, c.fail(err)
	}
	ctx, cancel := context.WithCancelCause(c.within())
	defer cancel(nil)
	stop := context.AfterFunc(c.job.ctx, func() { cancel(errors.New(c.job.endText())) })
	defer stop()
	var link *port.Link
	defer func() {
		if link != nil {
			link.Close()
		}
	}()
	return c.join(op, c.Name()+"+"+op, root, func() (talk, plan, *Error) {
		var err error
		if link, err = open(ctx); err != nil {
			return nil, plan{}, opError(class, op, err)
		}
		tell := func(mine []byte) ([]byte, error) { return link.Exchange(ctx, mine) }
		p, bad := c.planAbroad(op, tell)
		return tell, p, bad
	})
}

// planAbroad is plan with the leader of another job, which may be this one all the same.
func (c *Comm) planAbroad(op string, tell talk) (plan, *Error) {
	p, err := c.planOf(op, tell, randomContext())
	p.Meets = true
	return p, err
}

// Join makes an intercommunicator of the calling rank and the one at the other end of a connection,
// which calls Join too. conn is a stream of bytes between the two with nothing in it, such as a
// connected socket. It is of use to the caller again when Join returns, unless that fails. What the
// ranks tell each other there is not encrypted, and there is a secret in it, so it must be a
// connection on which nothing else can listen. It is collective over the two (MPI 4.1, section
// 11.10.5).
func (c *Comm) Join(conn io.ReadWriter) (newcomm *Comm, err error) {
	defer c.begin("Join").endMade(&newcomm, &err)
	const op = "Join"
	if err := c.usable(op); err != nil {
		return nil, c.fail(err)
	}
	if conn == nil {
		return nil, c.fail(opErrorf(ErrArg, op, "no connection is given"))
	}
	self := &Comm{comm: c.job.self.comm, ctx: c.ctx}
	tell := func(mine []byte) ([]byte, error) { return port.Swap(conn, mine) }
	return self.join(op, "self+Join", 0, func() (talk, plan, *Error) {
		p, err := self.planAbroad(op, tell)
		return tell, p, err
	})
}

// Disconnect waits until all communication over c is done, in both groups of an intercommunicator,
// and frees c. Ranks of different jobs that have no other communicator in common are strangers
// again: none is concerned by the end of the other any more, and Finalize of the one does not wait
// for the other. A communicator that was freed by Free counts as one that they have in common.
// Requests of c must be complete before. The world and Self cannot be disconnected (ErrComm).
// Collective, in both groups of an intercommunicator (MPI 4.1, section 11.10.4).
func (c *Comm) Disconnect() (err error) {
	defer c.begin("Disconnect").endAt(&err)
	const op = "Disconnect"
	if err := c.usable(op); err != nil {
		return c.fail(err)
	}
	if c.comm == c.job.world.comm || c.comm == c.job.self.comm {
		return c.fail(opErrorf(ErrComm, op, "%s is of the job and ends with it", c))
	}
	if alone := c.job.abroad.alone(c.comm); len(alone) > 0 { // to which goodbye will be said
		if err := c.job.engine.DrainTo(c.within(), alone); err != nil {
			return c.fail(opError(ErrOther, op, err))
		}
	}
	if err := done(startBarrier(c, op)); err != nil {
		return err
	}
	if err := c.free(op); err != nil {
		return err
	}
	c.job.abroad.forget(c.comm)
	return nil
}
