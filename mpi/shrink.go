//go:build linux

package mpi

import (
	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/mpi/internal/agree"
)

// Shrink makes a communicator of the ranks of c that live, in their order. All ranks agree on which
// these are, whatever fails before and meanwhile, in the time of one Agree. It works on
// communicators that are revoked. The new one is as any other, with c's error handler and nothing
// else of c: no attributes, topology or hints. A rank that fails too late for this agreement is
// still in the new one: its operations say so, and it can be shrunk in turn.
//
// Of an intercommunicator it makes an intercommunicator; nil if no rank is left of one of the
// groups. It returns when all ranks that live have called it, or Ishrink; see [Comm.Agree] for what
// it is matched with. Collective (fault tolerance as proposed to the MPI Forum, MPIX_Comm_shrink).
func (c *Comm) Shrink() (*Comm, error) {
	told := c.begin("Shrink")
	r := c.shrink("Shrink")
	_, err := r.Request.wait()
	return told.made(r.comm, err)
}

// Ishrink starts a Shrink and returns. Comm gives the new communicator after Wait. It goes on while
// the caller computes. Collective (fault tolerance as proposed to the MPI Forum,
// MPIX_Comm_ishrink).
func (c *Comm) Ishrink() *Creation { return c.begin("Ishrink").creates(c.shrink("Ishrink")) }

func (c *Comm) shrink(op string) *Creation {
	if err := c.tolerant(op); err != nil {
		return &Creation{Request: failedRequest(c, err)}
	}
	r := &Creation{}
	r.Request = c.accord(op, agree.Value{Kinds: forShrink, Token: uint64(c.job.leadContext())}, func(v *agree.Value) *Error {
		if v.Failed.Has(c.everyone().rank) {
			return opErrorf(ErrProcFailed, op, "the others hold this rank to have failed: it cannot go on")
		}
		r.comm = c.without(v.Failed, engine.ContextID(v.Token))
		return nil
	})
	return r
}

// without makes a communicator of c's ranks that are not in failed, by their ranks in everyone; nil
// if a group of an intercommunicator has none.
func (c *Comm) without(failed agree.Set, id engine.ContextID) *Comm {
	all := c.everyone()
	living := func(from []engine.PeerID) (left []engine.PeerID, self int) {
		self = -1
		for _, p := range from {
			if !failed.Has(all.rankOf(p)) {
				if p == c.group[c.rank] {
					self = len(left)
				}
				left = append(left, p)
			}
		}
		return left, self
	}
	group, rank := living(c.group)
	name := c.Name() + "+shrunk"
	if !c.IsInter() {
		return c.derive(name, rank, group, id)
	}
	remote, _ := living(c.peers)
	if len(remote) == 0 {
		return nil
	}
	return c.deriveInter(name, rank, group, remote, c.low, id)
}
