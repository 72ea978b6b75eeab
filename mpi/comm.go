//go:build linux

package mpi

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/coll"
)

// Comm is a communicator: a group of ranks and a context that keeps its
// messages apart from those of every other communicator (MPI 4.1, chapter 7).
//
// A Comm is safe for concurrent use, except that collective operations must be
// started in the same order at all its ranks, so by one goroutine at a time.
type Comm struct {
	*comm
	ctx context.Context // bounds blocking calls made through this value; nil = unbounded
}

// comm is what all values of one communicator share.
type comm struct {
	// Immutable after newComm.
	job     *job
	name    string
	rank    int             // in the local group
	group   []engine.PeerID // the local group: rank -> peer of the engine
	peers   []engine.PeerID // the bridge table of those who are addressed: the local group, in an intercommunicator the remote one
	inner   *Comm           // of an intercommunicator: the local group's own communicator, for its part in collectives; else nil
	topo    topology        // nil if there is none; set before the communicator is handed out
	ranks   map[engine.PeerID]int
	world   bool // ranks are peers
	p2p     engine.ContextID
	coll    engine.ContextID
	member  func(engine.PeerID) bool
	places  *coll.Places  // which ranks share a host; nil if it makes no difference
	collSeq atomic.Uint32 // number of the next collective

	errh  atomic.Pointer[Errhandler]
	freed atomic.Bool
	attrs attributes
}

// collectiveBit tells the collective context of a communicator from the other.
const collectiveBit = 1

func newComm(j *job, name string, rank int, peers []engine.PeerID, id engine.ContextID) *Comm {
	c := &comm{job: j, name: name, rank: rank, group: peers, peers: peers, p2p: id, coll: id | collectiveBit, world: true}
	for r, p := range peers {
		c.world = c.world && int(p) == r
	}
	if !c.world {
		c.ranks = make(map[engine.PeerID]int, len(peers))
		for r, p := range peers {
			c.ranks[p] = r
		}
	}
	c.member, c.places = c.has, j.placesOf(peers)
	return &Comm{comm: c}
}

func (c *comm) has(p engine.PeerID) bool { return c.rankOf(p) >= 0 }

// rankOf is the inverse of the bridge table; -1 for a stranger.
func (c *comm) rankOf(p engine.PeerID) int {
	if c.world {
		if int(p) < len(c.peers) {
			return int(p)
		}
		return -1
	}
	if r, ok := c.ranks[p]; ok {
		return r
	}
	return -1
}

// Rank is the number of the calling rank in c, from 0 (MPI 4.1, section 7.4.1).
func (c *Comm) Rank() int { return c.rank }

// Size is the number of ranks in c (MPI 4.1, section 7.4.1).
func (c *Comm) Size() int { return len(c.group) }

// Name is the name of c, for messages to people (MPI 4.1, section 7.8).
func (c *Comm) Name() string { return c.name }

// String describes c for logs.
func (c *Comm) String() string {
	return fmt.Sprintf("%s (rank %d of %d)", c.name, c.rank, len(c.peers))
}

// WithContext returns c with blocking calls bounded by ctx: when ctx ends, a
// call that waits ends its operation and returns an error whose cause is
// context.Cause(ctx). Its buffer then belongs to the caller again. A message
// that was on its way may or may not arrive. Requests started through the
// returned value end with ctx too, when somebody waits for them. Deadlines are
// local: a collective that ends this way leaves the communicator unusable for
// further collectives. No counterpart in MPI.
func (c *Comm) WithContext(ctx context.Context) *Comm {
	if ctx == nil {
		panic("mpi: WithContext needs a context, got nil")
	}
	return &Comm{comm: c.comm, ctx: ctx}
}

// SetErrhandler sets what happens with errors of operations on c, at this rank
// (MPI 4.1, section 9.3). Communicators made from c inherit it.
func (c *Comm) SetErrhandler(h Errhandler) { c.errh.Store(&h) }

// Errhandler returns what SetErrhandler set (MPI 4.1, section 9.3).
func (c *Comm) Errhandler() Errhandler { return *c.errh.Load() }

// Free says that c is not used any more; operations on it fail from now on.
// Pending ones complete (MPI 4.1, section 7.4.3). Memory needs no freeing.
func (c *Comm) Free() error {
	if err := c.usable("Free"); err != nil {
		return c.fail(err)
	}
	c.freed.Store(true)
	return nil
}

// usable says why c can start no operation.
func (c *Comm) usable(op string) *Error {
	switch {
	case c == nil || c.comm == nil:
		return opErrorf(ErrComm, op, "the communicator is nil: take the one that Main, Init or RunThreads gives")
	case c.freed.Load():
		return opErrorf(ErrComm, op, "the communicator was freed")
	case c.job.finalized.Load():
		return opErrorf(ErrOther, op, "MPI is finalized")
	case c.ctx != nil && c.ctx.Err() != nil:
		return opError(ErrOther, op, context.Cause(c.ctx))
	}
	return nil
}

// usableWith is usable by an operation with a peer, which the error then names.
func (c *Comm) usableWith(op string, peer int) *Error {
	err := c.usable(op)
	if err != nil && peer >= 0 {
		err.with(peer)
	}
	return err
}

// fail completes err with the place and gives it to the error handler.
func (c *Comm) fail(err *Error) error {
	if c == nil || c.comm == nil {
		return err
	}
	err.on(c.rank, c.name)
	err.Host = c.job.host
	return (*c.errh.Load())(c, err)
}

// checkPeer says what is wrong with a rank argument, if anything.
func (c *Comm) checkPeer(op, what string, rank int, wild bool) *Error {
	if rank >= 0 && rank < len(c.peers) || rank == ProcNull || wild && rank == AnySource {
		return nil
	}
	also := "or ProcNull"
	if wild {
		also = "AnySource or ProcNull"
	}
	return opErrorf(ErrRank, op, "%s %d: need 0 to %d, %s", what, rank, len(c.peers)-1, also)
}

func checkTag(op string, tag int, wild bool) *Error {
	if tag >= 0 && tag <= TagUB || wild && tag == AnyTag {
		return nil
	}
	also := ""
	if wild {
		also = ", or AnyTag"
	}
	return opErrorf(ErrTag, op, "tag %d: need 0 to %d%s", tag, TagUB, also)
}

// peerOf translates a source argument for the engine.
func (c *comm) peerOf(rank int) engine.PeerID {
	if rank == AnySource {
		return engine.AnyPeer
	}
	return c.peers[rank]
}

func engineTag(tag int) engine.Tag {
	if tag == AnyTag {
		return engine.AnyTag
	}
	return engine.Tag(tag)
}

// Errhandler decides what happens with an error of an operation: it may return
// it (or another), or end the job (MPI 4.1, section 9.3).
type Errhandler func(c *Comm, err *Error) error

// ErrorsAreFatal ends the job with one message; the default. In a job of thread
// ranks every pending operation ends and the error is returned.
func ErrorsAreFatal(c *Comm, err *Error) error {
	if err.Class == ErrProcFailed {
		c.job.awaitVerdict()
	}
	c.job.abort(1, err.Error())
	return err
}

// ErrorsReturn gives the error to the caller.
func ErrorsReturn(_ *Comm, err *Error) error { return err }
