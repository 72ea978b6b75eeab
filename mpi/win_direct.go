package mpi

import (
	"sync"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/mpi/internal/rma"
)

// How an origin reads and writes the memory of a target itself, where it has that memory. It has
// that of the ranks of its process, whose windows it knows, and of those with which it shares the
// window's memory. Epochs are begun and ended by messages as ever; when one has begun no rank is
// asked for more. What changes values in one step needs the target's mutex, which a rank of another
// process does not have. So accumulates go to such a target by message, and all that meet there are
// its service's.

// mate is a target whose memory this rank has.
type mate struct {
	mem   []byte // nil: it is no such target
	guard *guard
	win   *win // the target's own; nil if it is of another process
}

// guard keeps memory in its place while a rank reads or writes it.
type guard struct {
	mu     sync.RWMutex // held for reading by a goroutine that touches the memory
	closed bool         // guarded by mu: it is the caller's of Free, or gone
}

// close returns when no goroutine touches the memory any more, and none will.
func (g *guard) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
}

// join says that the window w of this process is at rank.
func (l *local) join(w *win) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wins == nil {
		l.wins = make(map[engine.ContextID][]*win)
	}
	if l.wins[w.comm.p2p] == nil {
		l.wins[w.comm.p2p] = make([]*win, w.comm.Size())
	}
	l.wins[w.comm.p2p][w.comm.rank] = w
}

// part says that w is no more.
func (l *local) part(w *win) {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := false
	ws := l.wins[w.comm.p2p]
	for r := range ws {
		if r == w.comm.rank {
			ws[r] = nil
		}
		left = left || ws[r] != nil
	}
	if !left {
		delete(l.wins, w.comm.p2p)
	}
}

// meetMates finds the windows of the ranks of this process.
//
// Preconditions:
//   - all ranks have joined.
func (w *win) meetMates() {
	w.mates = make([]mate, len(w.ranks))
	if w.flavor == FlavorDynamic {
		return // its memory comes and goes
	}
	c := w.comm
	c.job.local.mu.Lock()
	defer c.job.local.mu.Unlock()
	for r, x := range c.job.local.wins[c.p2p] {
		if x != nil && (r == c.rank || c.job.engine.Peer(c.peers[r]).Way == engine.Thread) {
			w.mates[r] = mate{x.base, &x.guard, x}
		}
	}
}

// meetShared adds the ranks of other processes with which w shares its memory.
func (w *win) meetShared() {
	for r := range w.mates {
		if w.mates[r].win == nil {
			w.mates[r] = mate{w.shared.parts.of(w.shared.common.mem, r), &w.guard, nil}
		}
	}
}

// enter begins to touch the memory of the target, which must be left. It is nil if that takes
// messages.
func (a *remoteAccess) enter() *mate {
	m := &a.w.mates[a.target]
	if m.mem == nil {
		return nil
	}
	if a.requested && a.w.comm.job.engine.PeerGone(a.w.comm.peers[a.target]) != nil {
		return nil // a request is done before a Flush could say so: the message fails
	}
	if m.guard.mu.RLock(); m.guard.closed {
		m.guard.mu.RUnlock()
		return nil
	}
	return m
}

// leave ends what enter has begun, and notes that it was done.
func (a *remoteAccess) leave(m *mate, out *remoteAccess) {
	m.guard.mu.RUnlock()
	a.w.mu.Lock()
	a.w.targets[a.target].direct = true
	a.w.mu.Unlock()
	if out != nil {
		*out = *a
	}
}

func (a *remoteAccess) region(m *mate) *rma.Region {
	return &rma.Region{Mem: m.mem, Blocks: a.blocks, Size: a.size}
}

// memory is the bytes of x, as they travel.
func (x *winOperand) memory() []byte {
	if x.o == nil {
		return x.b
	}
	b := make([]byte, x.o.size)
	x.o.Pack(b, 0)
	return b
}

// take copies src to x.
func (x *winOperand) take(src []byte) {
	if x.o != nil {
		x.o.Unpack(0, src)
		return
	}
	copy(x.b, src)
}

// putDirectly is a Put of x, if the target's memory is at hand.
func (a *remoteAccess) putDirectly(x *winOperand, out *remoteAccess) bool {
	m := a.enter()
	if m == nil {
		return false
	}
	defer a.leave(m, out)
	region := a.region(m)
	if piece := region.Piece(); piece != nil {
		x.pack(piece, 0)
	} else {
		region.Unpack(0, x.memory())
	}
	return true
}

// getDirectly is a Get into x, if the target's memory is at hand.
func (a *remoteAccess) getDirectly(x *winOperand, out *remoteAccess) bool {
	m := a.enter()
	if m == nil {
		return false
	}
	defer a.leave(m, out)
	region := a.region(m)
	piece := region.Piece()
	if piece == nil {
		piece = make([]byte, a.size)
		region.Pack(piece, 0)
	}
	x.take(piece)
	return true
}

// accumulateDirectly is an accumulate of x, whose old values result gets unless it is nil, if the
// target is of this process. It goes by the pieces that requests have, as each is a step of its own
// there too.
func (a *remoteAccess) accumulateDirectly(x, result *winOperand, out *remoteAccess) bool {
	m := a.enterWin()
	if m == nil {
		return false
	}
	defer a.leave(m, out)
	data := x.memory()
	var old []byte
	if result != nil {
		old = make([]byte, a.size)
	}
	a.each(a.room(), func(r *rma.Request, off, n int) {
		region := &rma.Region{Mem: m.mem, Blocks: r.Blocks, Size: n}
		if result != nil {
			m.win.fetch(region, r, old[off:off+n], data[off:off+n])
		} else {
			m.win.accumulate(region, r, data[off:off+n])
		}
	})
	if result != nil {
		result.take(old)
	}
	return true
}

// enterWin is enter of a target of this process.
func (a *remoteAccess) enterWin() *mate {
	if a.w.mates[a.target].win == nil {
		return nil
	}
	return a.enter()
}

// swapDirectly is a CompareAndSwap, if the target is of this process. data is what to compare with,
// and the new value.
func (a *remoteAccess) swapDirectly(x *winOperand, data []byte) bool {
	m := a.enterWin()
	if m == nil {
		return false
	}
	defer a.leave(m, nil)
	old := make([]byte, a.size)
	m.win.swap(a.region(m), old, data)
	x.take(old)
	return true
}

// lostMate is the error of operations that were done directly in the memory of one of targets, if
// that target has failed since: perhaps no rank has what they did.
func (w *win) lostMate(op string, targets []int) *Error {
	for _, t := range targets {
		w.mu.Lock()
		direct := w.targets[t].direct
		w.targets[t].direct = false
		w.mu.Unlock()
		if !direct {
			continue
		}
		if err := w.comm.job.engine.PeerGone(w.comm.peers[t]); err != nil {
			return w.comm.engineError(op, err, t, 0, 0)
		}
	}
	return nil
}
