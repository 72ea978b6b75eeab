package mpi

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"

	"github.com/fitmpi/fitmpi/engine"
)

// Revoke says that c is of no use any more. Pending operations on c end with an error of class
// [ErrRevoked], at all ranks, and so does everything that is started on it from now on. Exempt are
// Agree and Shrink, what is local (Failed, AckFailed, IsRevoked, names, attributes), and Free. A
// rank that has found out that c is broken calls it to free the others from operations that wait
// for what will never come. Not collective: one rank is enough, and it does not wait for the
// others. All that live learn of it, even if the caller dies in the middle. Operations that were
// almost over may end without an error, and messages on their way are dropped. Communicators made
// from c are not revoked. If c is revoked already, it does nothing (fault tolerance as proposed to
// the MPI Forum, MPIX_Comm_revoke).
func (c *Comm) Revoke() (err error) {
	defer c.begin("Revoke").endAt(&err)
	if err := c.present("Revoke"); err != nil {
		return c.fail(err)
	}
	c.job.revoke(c.family(), engine.PeerID(c.job.engine.Rank()), c.everyone().group)
	return nil
}

// IsRevoked reports whether a rank has revoked c and the calling rank knows. It is local
// (fault tolerance as proposed to the MPI Forum, MPIX_Comm_is_revoked).
func (c *Comm) IsRevoked() bool {
	if c.isRevoked() {
		return true
	}
	c.job.engine.Poll() // programs ask until it is
	return c.isRevoked()
}

func (c *Comm) isRevoked() bool { return c.job.faults.has(c.family()) }

// Failed returns the group of the ranks of c that have failed, as far as the calling rank knows,
// in the order in which it has learnt of them: a later answer begins with the members of an earlier
// one. Of an intercommunicator it has ranks of both groups. Without failures it is GroupEmpty. It
// works on a communicator that is revoked. It is local (fault tolerance as proposed to the MPI
// Forum, MPIX_Comm_get_failed).
func (c *Comm) Failed() (failed *Group, err error) {
	defer c.begin("Failed").endAt(&err)
	if err := c.present("Failed"); err != nil {
		return nil, c.fail(err)
	}
	c.job.engine.Poll() // programs ask until there are some
	if members := c.failedMembers(c.job.engine.Failed(nil)); len(members) > 0 {
		return newGroup(c.job, c.scope, members), nil
	}
	return GroupEmpty, nil
}

// AckFailed acknowledges the first n members of the group that Failed returns, or all if there are
// fewer. It returns how many are acknowledged now, which may be more than n: nothing is taken back.
// So AckFailed(0) asks. It is local (fault tolerance as proposed to the MPI Forum,
// MPIX_Comm_ack_failed).
//
// A receive from AnySource may wait beside failures that are acknowledged. Before that, the message
// it waits for might be the failed rank's, which never comes. So a Recv or a Probe that would wait
// fails with an error of class [ErrProcFailed], and Wait or Test of a request, and Iprobe, with
// [ErrProcFailedPending]. The request stays active then: a message of another rank can complete it,
// and it is waited for again after AckFailed. Agree fails until all ranks have acknowledged all
// failures.
func (c *Comm) AckFailed(n int) (acked int, err error) {
	defer c.begin("AckFailed").endAt(&err)
	const op = "AckFailed"
	if err := c.present(op); err != nil {
		return 0, c.fail(err)
	}
	if n < 0 {
		return 0, c.fail(opErrorf(ErrArg, op, "%d failures: need 0 or more", n))
	}
	failed := c.job.engine.Failed(nil)
	if first := c.prefix(failed, n); first > 0 {
		c.job.engine.Acknowledge(c.p2p, first)
	}
	return len(c.acknowledged()), nil
}

// prefix is how many of the job's failures the first n of c's are.
func (c *comm) prefix(failed []engine.PeerID, n int) int {
	for i, p := range failed {
		if c.includes(p) {
			if n == 0 {
				return i
			}
			n--
		}
	}
	return len(failed)
}

// acknowledged are the ranks of c that have failed and are acknowledged at the calling rank, in the
// order of Failed.
func (c *comm) acknowledged() []engine.PeerID {
	failed := c.job.engine.Failed(nil)
	return c.failedMembers(failed[:min(c.job.engine.Acknowledged(c.p2p), len(failed))])
}

// failedMembers are those of failed that belong to c.
func (c *comm) failedMembers(failed []engine.PeerID) []engine.PeerID {
	return slices.DeleteFunc(slices.Clone(failed), func(p engine.PeerID) bool { return !c.includes(p) })
}

// includes reports whether p is in c, in either group of an intercommunicator.
func (c *comm) includes(p engine.PeerID) bool {
	return c.rankOf(p) >= 0 || c.both != nil && c.both.rankOf(p) >= 0
}

// family is what all contexts of c have in common.
func (c *comm) family() engine.ContextID { return c.p2p & contextFamily }

// revokedError says why operations on a revoked communicator fail.
type revokedError struct{ by string }

func (e *revokedError) Error() string {
	return fmt.Sprintf("%s has revoked it: agree and shrink, and go on with what Shrink gives", e.by)
}

// Is makes a revokedError an engine.ErrRevoked.
func (e *revokedError) Is(target error) bool { return target == engine.ErrRevoked }

// errDied is what the others hear of a rank that has called Die.
var errDied = errors.New("the rank has died, as its program wanted (Die)")

// Die ends the calling rank at once and without a word, as a crash does, so that a program can try
// how it recovers. It does not return. A rank of RunThreads is cut off from the others, which hear
// of its failure. The calling goroutine ends, deferred calls included; other goroutines of the rank
// get errors. Where the job does not tolerate failures ([Threads].FaultTolerant, FITMPI_FT=1) the
// job ends with an error. Any other rank kills its process by SIGKILL, with all its ranks. No
// counterpart in MPI.
func (c *Comm) Die() {
	j := c.job
	if j.session.Info().Source != sourceThreads {
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			_ = self.Kill() // what could be wrong with it? It may take a moment
		}
		select {}
	}
	refuseCallbacks() // it would wait for the engine, which waits for the function that has called it
	j.died.Store(true)
	j.mute.Store(true)
	j.onFailure(errDied)
	_ = j.kill() // descriptors of an engine that is cut off: nothing is left to hear of an error
	runtime.Goexit()
}
