//go:build linux

package mpi

import (
	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/coll"
)

// Dup makes a communicator of the same ranks with a context of its own, so that
// a library's messages never meet its user's. It has c's topology, error handler and,
// as their copy callbacks say, attributes; not its hints (Info). Of an intercommunicator
// it makes an intercommunicator. Collective (MPI 4.1, section 7.4.2).
func (c *Comm) Dup() (*Comm, error) { return c.idup("Dup").wait() }

// Creation is the request of a communicator that is being made.
type Creation struct {
	*Request
	comm *Comm
}

// Comm returns the communicator once Wait or Test has said that it is there; nil before,
// and if it could not be made.
func (r *Creation) Comm() *Comm { return r.comm }

// wait is Wait of a blocking call.
func (r *Creation) wait() (*Comm, error) {
	_, err := r.Wait()
	return r.comm, err
}

// Idup starts a Dup and returns: what is copied is what c has now, not what it has when
// the request is done. Comm gives the new communicator after Wait
// (MPI 4.1, section 7.4.2).
func (c *Comm) Idup() *Creation { return c.idup("Idup") }

func (c *Comm) idup(op string) *Creation {
	if err := c.usable(op); err != nil {
		return &Creation{Request: failedRequest(c, err)}
	}
	r := &Creation{}
	n := c.copy(c.Name() + "+dup")
	id := []engine.ContextID{c.job.leadContext()}
	a := c.everyone()
	r.Request = startColl(a, op, func(g coll.Graph) error {
		coll.Bcast(g, coll.Auto, a.rank, a.Size(), 0, bytesOf(id))
		return nil
	}, func() error {
		n.setContext(id[0])
		r.comm = n
		return nil
	})
	return r
}

// copy makes a communicator of the same ranks, which has no context yet.
func (c *Comm) copy(name string) *Comm {
	var n *Comm
	if c.IsInter() {
		n = c.deriveInter(name, c.rank, c.group, c.peers, c.low, 0)
	} else {
		n = c.derive(name, c.rank, c.group, 0)
	}
	n.topo = c.topo
	return n
}

// setContext gives a communicator its context.
//
// Preconditions:
//   - nobody has used it yet.
func (c *Comm) setContext(id engine.ContextID) {
	c.p2p, c.coll = id, id|collectiveBit
	if c.IsInter() {
		c.inner.setContext(id | innerPurpose)
		c.both.setContext(id | bothPurpose)
	}
}
