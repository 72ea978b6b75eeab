package mpi

import (
	"runtime"
	"slices"
	"sync"
	"weak"

	"github.com/fitmpi/fitmpi/engine"
)

// The name of a context is a number of 64 bits: what it is for (3), the world rank that leads it
// (29), that rank's count of contexts (31) and the collective bit. A rank that leads a new context
// takes the next count and tells the others. So names never meet, whichever goroutines of whichever
// ranks make communicators at the same time. Ranks that know ranks of other jobs, whose counts do
// not know of theirs, draw names instead. To tell the others needs a context too, one that both
// sides know without being told. Those are the contexts of the purposes below, which go with a
// communicator or a text.
const (
	// collectiveBit tells the collective context of a communicator from the other.
	collectiveBit engine.ContextID = 1
	// groupPurpose is for agreements about children of the communicator that not all of its ranks
	// take part in.
	groupPurpose engine.ContextID = 1 << 61
	// leaderPurpose is for the leaders that make an intercommunicator; they meet in that
	// communicator.
	leaderPurpose engine.ContextID = 2 << 61
	// innerPurpose is for the communicators of the local groups of an intercommunicator. Two have
	// the same context, but no rank in common.
	innerPurpose engine.ContextID = 3 << 61
	// bothPurpose is for the communicator of both groups of an intercommunicator.
	bothPurpose engine.ContextID = 4 << 61
	// textPurpose is for agreements about communicators without a parent; the other bits stand for
	// a text.
	textPurpose engine.ContextID = 5 << 61
	// partitionedPurpose is for partitioned messages over the communicator: their hellos and, with
	// the collective bit, their partitions.
	partitionedPurpose engine.ContextID = 6 << 61
	// agreePurpose is for the signals of agreements about the communicator; nothing is received
	// there.
	agreePurpose engine.ContextID = 7 << 61
	// contextFamily are the bits that all contexts of a communicator share.
	contextFamily = ^(purposes | collectiveBit)
	// mixedContext is in the names of contexts that are not counted, but drawn: see randomContext.
	// No rank's number has it.
	mixedContext engine.ContextID = 1 << 60
	// purposes are the bits that say what a context is for.
	purposes engine.ContextID = 7 << 61
)

// The contexts that every job has: of the world, of the barrier of Finalize, of each rank's self,
// and of the talk with the ranks that have spawned it. Each number stands for two: point-to-point
// and collective.
const (
	contextWorld = iota
	contextFinalize
	contextSelf
	contextParent
	contextFirst
)

// contextID is the name of the n-th context that a rank leads.
func contextID(leader, n int) engine.ContextID {
	return engine.ContextID(leader)<<32 | engine.ContextID(n)<<1
}

// leadContext returns a context that no other communicator has of which this rank, or any that it
// knows, is a member. Safe for concurrent use. After some two billion communicators names are used
// again.
func (j *job) leadContext() engine.ContextID {
	if j.abroad.knows.Load() {
		return randomContext()
	}
	const most = 1<<31 - contextFirst
	return contextID(j.engine.Rank(), contextFirst+int(j.nextContext.Add(1)-1)%most)
}

// commList knows which communicator a context is of, to answer what a rank waits for. A
// communicator need not be freed, so the list must not keep it. Nor must the list be a part of
// anything that keeps a communicator: the cleanups of communicators keep the list.
type commList struct {
	mu   sync.Mutex
	live map[engine.ContextID]commEntry // guarded by mu; by the context of messages between two ranks
}

// commEntry is what is said of a communicator, as it was when it got its context.
type commEntry struct {
	c     weak.Pointer[comm]
	coll  engine.ContextID
	rank  int
	group []engine.PeerID
	peers []engine.PeerID // the ranks that are addressed: of an intercommunicator the remote group
}

// add adds c, unless its context is that of another communicator that lives. Communicators that
// agree about new ones are short-lived, and several of them may have the same context. One that has
// yet to get its own has that of the world.
func (l *commList) add(c *comm) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.live == nil {
		l.live = make(map[engine.ContextID]commEntry)
	}
	if e, ok := l.live[c.p2p]; ok && e.c.Value() != nil && e.c.Value() != c {
		return
	}
	e := commEntry{weak.Make(c), c.coll, c.rank, c.group, c.peers}
	l.live[c.p2p] = e
	runtime.AddCleanup(c, l.drop, commKey{c.p2p, e.c})
}

// commKey names an entry.
type commKey struct {
	p2p engine.ContextID
	c   weak.Pointer[comm]
}

// drop forgets a communicator that no goroutine can use any more.
func (l *commList) drop(k commKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.live[k.p2p].c == k.c {
		delete(l.live, k.p2p)
	}
}

// collectivesOf returns the collective contexts of the communicators that p belongs to.
func (l *commList) collectivesOf(p engine.PeerID) (ctxs []engine.ContextID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.live {
		if slices.Contains(e.group, p) || slices.Contains(e.peers, p) {
			ctxs = append(ctxs, e.coll)
		}
	}
	return ctxs
}

// p2pOf returns the context of the messages between two ranks of the communicator that ctx is of.
func p2pOf(ctx engine.ContextID) engine.ContextID {
	ctx &^= collectiveBit
	if ctx&purposes == partitionedPurpose {
		ctx &^= purposes
	}
	return ctx
}

// entry returns what is known of the communicator that a context is of, and the context of its
// messages.
func (l *commList) entry(ctx engine.ContextID) (p2p engine.ContextID, e commEntry, ok bool) {
	p2p = p2pOf(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok = l.live[p2p]
	return p2p, e, ok
}
