//go:build linux

package mpi

import (
	"runtime"
	"slices"
	"sync"
	"weak"

	"github.com/fitmpi/fitmpi/engine"
)

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

// add adds c, unless its context is that of another communicator that lives: of those that agree
// about new ones, which are short-lived, several may have the same, and one that has yet to get its
// own has that of the world.
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
