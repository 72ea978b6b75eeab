package engine

import (
	"math/bits"
	"slices"

	"github.com/fitmpi/fitmpi/internal/shm"
)

// How a rank looks after the memory that it shares: what peers have put, what there is room for
// again, which peers are gone, and which must be notified.

// poll handles what peers have put. It reports whether there was something, and whether
// that left something to run or to write.
//
// Preconditions:
//   - the caller holds the progress right, as for all that follows but tell.
func (n *local) poll() (moved, work bool) {
	for i := range n.words {
		if o := n.block.Opened[i].Load(); o != n.seen[i] {
			n.attach(i, o)
			moved, work = true, true
		}
	}
	for _, l := range n.inputs {
		if l.r.Ready() {
			work = l.receive() || work
			moved = true
		}
	}
	return moved, work
}

// turn is the part of a turn that is about shared memory.
func (n *local) turn() (moved bool) {
	moved, _ = n.poll()
	return n.check() || moved
}

// heard ends the ringing of our bell. The peer that rang it has disarmed us: if the worker sleeps,
// and a caller has come before it, the worker must wake to arm us again.
func (n *local) heard() {
	n.answered()
	if n.e.cfg.Progress == Assist {
		n.e.kick(true)
	}
	if err := n.bell.Silence(); err != nil {
		n.e.cfg.Logger.Error("bell", "rank", n.e.cfg.Rank, "err", err)
	}
}

// isFetching reports whether the peer is copying the payload of m just now.
//
// Preconditions:
//   - the caller holds the progress right, and waits for m.
func (n *local) isFetching(m *MSO) bool {
	id, ok := m.Offered()
	return ok && (n.offers.isBusy(id) || n.offersAbroad.isBusy(id))
}

// attach takes note of the peers that have begun to write.
func (n *local) attach(i int, opened uint64) {
	fresh := opened &^ n.seen[i]
	n.seen[i] |= opened
	for ; fresh != 0; fresh &= fresh - 1 {
		switch k := i*64 + bits.TrailingZeros64(fresh); {
		case k >= len(n.lanes) || n.lanes[k] == nil:
		case n.lanes[k].ended:
			n.lanes[k].hangUp()
		default:
			n.lanes[k].attach()
		}
	}
}

// use puts a lane on the lists of those in use.
func (n *local) use(l *lane) {
	if l.ended {
		return
	}
	if !l.used {
		l.used = true
		n.inUse = append(n.inUse, l)
		n.open.Add(1)
		if l.thread == nil {
			n.e.drv.lookAfter()
		}
	}
	if l.r != nil && !slices.Contains(n.inputs, l) {
		n.inputs = append(n.inputs, l)
	}
}

// drop takes a lane off the lists for good: the peer is gone.
func (n *local) drop(l *lane) {
	if l.ended {
		return
	}
	l.ended = true
	if l.blocked {
		l.blocked = false
		n.blocked--
	}
	n.inputs, n.inUse = without(n.inputs, l), without(n.inUse, l)
	if l.used {
		n.open.Add(-1)
		n.e.drv.maybeQuiet()
	}
}

// unblock goes on with lanes that were full.
func (n *local) unblock() (moved bool) {
	if n.blocked == 0 {
		return false
	}
	for _, l := range n.inUse {
		if l.blocked && l.unblock() {
			moved = true
		}
	}
	return moved
}

// check is unblock, and finds peers that ended without a goodbye.
func (n *local) check() (moved bool) {
	moved = n.unblock()
	for _, l := range n.inUse {
		if l.isHungUp() && n.isSilent(l) {
			l.hungUp()
			moved = true
		}
	}
	return moved
}

// isSilent reports whether all that the peer has put is handled.
func (n *local) isSilent(l *lane) bool {
	i, bit := l.index/64, uint64(1)<<(l.index%64)
	return n.block.Opened[i].Load()&bit == n.seen[i]&bit && (l.r == nil || !l.r.Ready())
}

// hasInput reports whether poll or check would find something.
func (n *local) hasInput() bool {
	for i := range n.words {
		if n.block.Opened[i].Load() != n.seen[i] {
			return true
		}
	}
	for _, l := range n.inputs {
		if l.r.Ready() {
			return true
		}
	}
	return false
}

// arm makes peers notify us of what they put from now on. It reports whether there is something
// already.
func (n *local) arm() bool {
	n.block.Armed.Store(1)
	if n.hasInput() {
		return true
	}
	for _, l := range n.inUse {
		if l.blocked && l.w.Block() || l.isHungUp() {
			return true
		}
	}
	return false
}

// disarm: the holder of the right looks for itself. It reports whether peers notified us of what
// they put until now.
func (n *local) disarm() bool {
	if n.block.Armed.Load() == 0 {
		return false
	}
	n.block.Armed.Store(0)
	return true
}

// tellLocked notes that a peer is to be notified, when the mutex is released, that there is
// something for it.
func (n *local) tellLocked(l *lane) {
	n.notify[l.index/64] |= 1 << (l.index % 64)
	n.anyNotify = true
}

// takeNotify returns the lanes whose peers are to be notified: the words of the set that are in
// use. It empties the set.
func (n *local) takeNotify() (notify [shm.MaxRanks / 64]uint64) {
	for i := range n.words {
		notify[i], n.notify[i] = n.notify[i], 0
	}
	n.anyNotify = false
	return notify
}

// tell wakes or serves those peers of word i of the set that sleep. No mutex is held; that it was
// released orders what was put before this look: see shm.Writer.PutHeaded.
func (n *local) tell(i int, notify uint64) {
	for ; notify != 0; notify &= notify - 1 {
		if l := n.lanes[i*64+bits.TrailingZeros64(notify)]; l.block.Armed.Load() != 0 {
			l.rouse()
		}
	}
}

// without is ls without l, in memory of its own: a loop may be walking over ls.
func without(ls []*lane, l *lane) []*lane {
	var rest []*lane
	for _, x := range ls {
		if x != l {
			rest = append(rest, x)
		}
	}
	return rest
}
