package mpi

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/mpi/internal/coll"
)

// Comm is a communicator: a group of ranks and a context that keeps its
// messages apart from those of every other communicator (MPI 4.1, chapter 7).
//
// A Comm is safe for concurrent use, except that collective operations must be started in the same
// order at all its ranks, so by one goroutine at a time. Making communicators of one (Dup, Split,
// Create and so on) is such an operation of it. Goroutines that make communicators side by side
// have a parent each, or use CreateGroup and IntercommCreate with a tag each. Those two may go on
// beside anything else.
type Comm struct {
	*comm
	ctx context.Context // bounds blocking calls made through this value; nil = unbounded
	// Layouts of buffers of operations made through this value; nil = buffers are whole.
	sendType, recvType *Datatype

	unobserved bool // no tool is told of calls through this value
	quiet      bool // errors of operations through this value go to no handler
}

// comm is what all values of one communicator share.
type comm struct {
	// Immutable after newComm.
	job     *job
	scope   *scope
	rank    int             // in the local group
	group   []engine.PeerID // the local group: rank -> peer of the engine
	peers   []engine.PeerID // the bridge table of the ranks that are addressed: the local group, in an intercommunicator the remote one
	ranks   ranking         // of peers
	inner   *Comm           // of an intercommunicator: the local group's own communicator, for its part in collectives; else nil
	both    *Comm           // of an intercommunicator: a communicator of both groups, for agreements; else nil
	low     bool            // of an intercommunicator: the local group comes first in both
	topo    topology        // nil if there is none; set before the communicator is handed out
	p2p     engine.ContextID
	coll    engine.ContextID
	member  func(engine.PeerID) bool
	places  *coll.Places              // which ranks share a host; nil if it makes no difference
	collSeq atomic.Uint32             // number of the next collective
	calls   atomic.Pointer[commCalls] // where its collectives are counted; nil until the first, and after SetName
	settles bool                      // it is for the agreement of a CreateGroup alone, whose number is the user's tag; false before it is handed out
	partTag atomic.Uint64             // first tag that no partition sent from here has

	persistSeq atomic.Uint32 // number of the next persistent collective
	calling    calling       // of the goroutine that starts collectives
	recipes    recipes       // of its blocking collectives

	name  atomic.Pointer[string]
	errh  atomic.Pointer[Errhandler]
	hints hints
	freed atomic.Bool
	attrs attributes[*Comm]

	buffer bufferSlot // of buffered sends over this communicator
}

func newComm(j *job, from *scope, name string, rank int, peers []engine.PeerID, id engine.ContextID) *Comm {
	c := &comm{job: j, scope: from, rank: rank, group: peers, peers: peers, ranks: rankingOf(peers), p2p: id, coll: id | collectiveBit}
	c.name.Store(&name)
	c.member, c.places = c.has, j.placesOf(peers)
	j.comms.add(c)
	j.checker.saw(c)
	j.adopt(c)
	return &Comm{comm: c}
}

func (c *comm) has(p engine.PeerID) bool { return c.rankOf(p) >= 0 }

// rankOf is the inverse of the bridge table; -1 for a stranger.
func (c *comm) rankOf(p engine.PeerID) int { return c.ranks.of(p) }

// ranking is the inverse of a list of peers: the rank of each. Immutable.
type ranking struct {
	ranks map[engine.PeerID]int // nil if ranks are peers
	n     int                   // ranks
}

func rankingOf(peers []engine.PeerID) ranking {
	r := ranking{n: len(peers)}
	for i, p := range peers {
		if int(p) != i {
			r.ranks = make(map[engine.PeerID]int, len(peers))
			break
		}
	}
	if r.ranks != nil {
		for i, p := range peers {
			r.ranks[p] = i
		}
	}
	return r
}

// of is the rank of p; -1 if it has none.
func (r *ranking) of(p engine.PeerID) int {
	if r.ranks == nil {
		if int(p) < r.n {
			return int(p)
		}
		return -1
	}
	if i, ok := r.ranks[p]; ok {
		return i
	}
	return -1
}

// Rank is the number of the calling rank in c, from 0; in an intercommunicator, in
// the local group (MPI 4.1, section 7.4.1).
func (c *Comm) Rank() int { return c.rank }

// Size is the number of ranks in c; of an intercommunicator, in the local group
// (MPI 4.1, section 7.4.1).
func (c *Comm) Size() int { return len(c.group) }

// Name is the name of c, for messages to people (MPI 4.1, section 7.8). Until SetName
// gives another it says where c comes from.
func (c *Comm) Name() string { return *c.name.Load() }

// SetName names c at the calling rank, for messages to people (MPI 4.1, section 7.8).
// It is local; communicators made from c before keep their names.
func (c *Comm) SetName(name string) (err error) {
	defer c.begin("SetName").endAt(&err)
	if err := c.present("SetName"); err != nil {
		return c.fail(err)
	}
	c.rename(name)
	if c.both != nil { // their collectives are those of c, for readers that ask what is waited for
		c.inner.rename(name + localGroup)
		c.both.rename(name + bothGroups)
	}
	return nil
}

func (c *comm) rename(name string) {
	c.name.Store(&name)
	c.calls.Store(nil)
}

// String describes c for logs.
func (c *Comm) String() string {
	if c.IsInter() {
		return fmt.Sprintf("%s (rank %d of %d, %d remote)", c.Name(), c.rank, c.Size(), c.RemoteSize())
	}
	return fmt.Sprintf("%s (rank %d of %d)", c.Name(), c.rank, c.Size())
}

// WithContext returns c with blocking calls bounded by ctx. When ctx ends, a call that waits ends
// its operation and returns an error whose cause is context.Cause(ctx). It does so whatever the
// error handler of c, since it is what the caller has asked for. The buffer then belongs to the
// caller again, and what it holds is undefined.
//
// No message is lost by that. A receive that ends is as if it had never been posted, also when a
// part of its message has come: the next receive gets that message, whole, in its order. The same
// holds for the receive of a matched probe. A receive that needs nothing of its sender any more
// completes instead; one whose message is longer than its buffer does so with ErrTruncate. A send
// whose message the receiver has asked for, or need not ask for, completes too. If a send ends with
// an error, its message may still arrive, and then it is whole.
//
// Requests started through the returned value end with ctx too, when a call waits for them.
// Deadlines are local. A collective that ends this way leaves its communicator unusable for further
// collectives, and a partitioned operation its pair of requests. The messages that belong to it are
// dropped. No counterpart in MPI; MPI_Cancel treats receives alike (MPI 4.1, section 3.8.4).
func (c *Comm) WithContext(ctx context.Context) *Comm {
	if ctx == nil {
		panic("mpi: WithContext needs a context, got nil")
	}
	n := *c
	n.ctx = ctx
	return &n
}

// mayEnd reports whether a context may end operations of c.
func (c *Comm) mayEnd() bool { return c.ctx != nil && c.ctx.Done() != nil }

// Free says that c is not used any more: its attributes are deleted, and operations on it fail from
// now on. Operations that are pending complete. If the delete callback of an attribute fails, so
// does Free, and c stays as it is. The world and Self cannot be freed (ErrComm). It is local.
// Memory needs no freeing (MPI 4.1, section 7.4.3).
func (c *Comm) Free() (err error) {
	defer c.begin("Free").endAt(&err)
	return c.free("Free")
}

// free is Free in the call op.
func (c *Comm) free(op string) error {
	if err := c.present(op); err != nil {
		return c.fail(err)
	}
	if c.comm == c.job.world.comm || c.comm == c.job.self.comm {
		return c.fail(opErrorf(ErrComm, op, "%s is of the job and ends with it", c))
	}
	if err := c.deleteAttributes(); err != nil {
		return c.fail(err)
	}
	c.freed.Store(true)
	c.leaveBuffer()
	return nil
}

// isOpen reports that c can start operations. Otherwise it may be able to: usable knows.
func (c *Comm) isOpen() bool {
	return c != nil && c.comm != nil && c.ctx == nil && !c.freed.Load() && c.scope.isOpen() && c.job.faults.count.Load() == 0 && callbacks.Load() == 0
}

// usable says why c can start no operation that communicates. To a function that must not start any
// it does not return.
func (c *Comm) usable(op string) *Error {
	refuseCallbacks()
	if err := c.present(op); err != nil {
		return err
	}
	if r := c.job.faults.find(c.family()); r != nil {
		return opError(ErrRevoked, op, &revokedError{c.job.describePeer(r.by)})
	}
	return nil
}

// present says why c can start no operation at all.
func (c *Comm) present(op string) *Error {
	switch {
	case c == nil || c.comm == nil:
		return opErrorf(ErrComm, op, "the communicator is nil: take the one that Main, Init or RunThreads gives")
	case c.freed.Load():
		return opErrorf(ErrComm, op, "the communicator was freed")
	case !c.scope.isOpen():
		return c.scope.closed(op)
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
