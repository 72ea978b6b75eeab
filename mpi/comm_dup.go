package mpi

import (
	"encoding/binary"
	"errors"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/mpi/internal/coll"
)

// Dup makes a communicator of the same ranks with a context of its own, so that a library's
// messages never meet its user's. It has c's topology and error handler, and of its attributes what
// their copy callbacks give. It has not c's hints, for they are promises about c, but those of
// info, which may be nil. Of an intercommunicator it makes an intercommunicator. If a copy callback
// fails, this rank gets an error and no communicator, while others have made theirs. Collective: it
// waits for all ranks of c (MPI 4.1, section 7.4.2, MPI_Comm_dup and MPI_Comm_dup_with_info).
func (c *Comm) Dup(info *Info) (*Comm, error) {
	return c.begin("Dup").made(c.idup("Dup", info).wait())
}

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
	err := done(r.Request)
	return r.comm, err
}

// Idup starts a Dup and returns: what is copied is what c has now, not what it has when
// the request is done. Comm gives the new communicator after Wait. Collective
// (MPI 4.1, section 7.4.2, MPI_Comm_idup and MPI_Comm_idup_with_info).
func (c *Comm) Idup(info *Info) *Creation { return c.begin("Idup").creates(c.idup("Idup", info)) }

func (c *Comm) idup(op string, info *Info) *Creation {
	if err := c.usable(op); err != nil {
		return &Creation{Request: failedRequest(c, err)}
	}
	n := c.copy(c.Name() + "+dup")
	n.hints.set(info)
	failed := c.copyAttributesTo(n) // a rank that fails still takes part: the others need it
	r := &Creation{}
	id := binary.LittleEndian.AppendUint64(nil, uint64(c.job.leadContext()))
	a := c.everyone()
	r.Request = startColl(a, op, func(g coll.Graph) {
		coll.Bcast(g, coll.Auto, a.rank, a.Size(), 0, coll.Memory(id))
	}, func() error {
		n.setContext(engine.ContextID(binary.LittleEndian.Uint64(id)))
		if failed != nil {
			return n.discard(failed)
		}
		r.comm = n
		return nil
	})
	return r
}

// discard frees a communicator that no caller gets because of cause.
func (c *Comm) discard(cause *Error) error {
	c.freed.Store(true)
	if err := c.deleteAttributes(); err != nil {
		return errors.Join(cause, err)
	}
	return cause
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
//   - nothing has used it yet.
func (c *Comm) setContext(id engine.ContextID) {
	c.p2p, c.coll = id, id|collectiveBit
	c.job.comms.add(c.comm)
	c.job.checker.saw(c.comm)
	if c.IsInter() {
		c.inner.setContext(id | innerPurpose)
		c.both.setContext(id | bothPurpose)
	}
	c.job.adopt(c.comm)
}

// hintNames are the hints of communicators that the standard defines; all are false until
// they are set (MPI 4.1, section 7.4.4). They are promises by the program, which nothing
// here needs: messages are matched in the same way with and without.
var hintNames = [...]string{
	"mpi_assert_no_any_tag",
	"mpi_assert_no_any_source",
	"mpi_assert_exact_length",
	"mpi_assert_allow_overtaking",
	"mpi_assert_strict_persistent_collective_ordering",
}

// hints are those of one communicator: bit i says that of hintNames[i] is true.
type hints struct{ bits atomic.Uint32 }

// set takes over the hints of info that have a value that is known, and no others.
func (h *hints) set(info *Info) {
	for i, name := range hintNames {
		switch v, _ := info.Get(name); v {
		case "true":
			h.bits.Or(1 << i)
		case "false":
			h.bits.And(^uint32(1 << i))
		}
	}
}

// SetInfo gives c the hints of info; those that info does not have stay as they are, and
// keys and values that are not known are ignored. It is local, though all ranks of c must
// give the same. A nil info is an error of class ErrInfo
// (MPI 4.1, section 7.4.4, MPI_Comm_set_info).
func (c *Comm) SetInfo(info *Info) (err error) {
	defer c.begin("SetInfo").endAt(&err)
	const op = "SetInfo"
	if err := c.present(op); err != nil {
		return c.fail(err)
	}
	if info == nil {
		return c.fail(opErrorf(ErrInfo, op, "the info is nil: make one with InfoCreate"))
	}
	c.hints.set(info)
	return nil
}

// Info returns the hints of c, those that no call has set included. The result is the caller's own
// (MPI 4.1, section 7.4.4, MPI_Comm_get_info).
func (c *Comm) Info() *Info {
	info, bits := InfoCreate(), c.hints.bits.Load()
	for i, name := range hintNames {
		if bits&(1<<i) != 0 {
			info.setKnown(name, "true")
		} else {
			info.setKnown(name, "false")
		}
	}
	return info
}
