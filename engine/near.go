package engine

import (
	"errors"
	"fmt"
	"math/bits"
	"os"
	"slices"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/internal/shm"
	"github.com/fitmpi/fitmpi/netpoll"
)

// Way is how a peer is reached.
type Way uint8

// The ways. Both ranks of a pair must be told the same.
const (
	TCP    Way = iota // a connection
	Thread            // the peer is a thread of this process: Config.Process knows it
	Shared            // the peer is another process of this host: Config.Segment is shared with it
	numWays
)

func (w Way) String() string { return [...]string{"tcp", "thread", "shared"}[w] }

// near is a rank's part in the memory that it shares with ranks of its host.
type near struct {
	e            *Engine
	index        int        // ours; immutable
	block        *shm.Block // ours; immutable
	lanes        []*lane    // by index, nil where there is no such peer; immutable after Start
	words        int        // of bit sets that are in use; immutable after Start
	mates        bool       // some peers are threads of this process; immutable after Start
	threads      bool       // all are; immutable after Start
	bell         *netpoll.Bell
	offers       offers // for threads of this process
	offersAbroad offers // for other processes

	// Owned by the holder of the progress right.
	inputs  []*lane                   // those whose peers write
	inUse   []*lane                   // those in use either way
	seen    [shm.MaxRanks / 64]uint64 // of block.Opened: noticed
	blocked int                       // lanes that are full

	told    [shm.MaxRanks / 64]uint64 // guarded by the engine's mutex: lanes whose peer is to be told when the mutex is released
	anyTold bool                      // guarded by the engine's mutex

	open atomic.Int32 // lanes in use; read by anyone
}

// newNear is a rank's part before anybody else is known.
func newNear(e *Engine) (*near, error) {
	if e.cfg.Index < 0 || e.cfg.Index >= shm.MaxRanks {
		return nil, fmt.Errorf("engine: rank %d is number %d of its host: memory is shared by at most %d", e.cfg.Rank, e.cfg.Index, shm.MaxRanks)
	}
	n := &near{e: e, index: e.cfg.Index}
	if e.cfg.Segment != nil {
		n.block = e.cfg.Segment.Block(n.index)
	} else {
		n.block = shm.NewBlock()
	}
	n.offers.words, n.offersAbroad.words = new([shm.NumOffers]shm.Offer), &n.block.Offers
	n.block.Window.Store(uint64(e.core.Config().Window))
	if e.drv.heart.beats {
		n.block.Beat.Store(firstBeat)
	}
	if e.cfg.Segment != nil {
		shm.Join(n.block, e.cfg.Fetch)
	}
	if e.cfg.Bell != nil {
		var err error
		if n.bell, err = netpoll.NewBell(e.cfg.Bell); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// meet makes the lane to a peer.
func (n *near) meet(id PeerID, info PeerInfo) error {
	if info.Index < 0 || info.Index >= shm.MaxRanks || info.Index == n.index {
		return fmt.Errorf("engine: rank %d is number %d of its host, as we are %d", id, info.Index, n.index)
	}
	l := &lane{n: n, peer: id, index: info.Index}
	eager := nearEager
	if info.Way == Thread {
		if l.thread = n.e.cfg.Process.engine(id); l.thread == nil || l.thread.near == nil {
			return fmt.Errorf("engine: rank %d is no thread of this process", id)
		}
		l.block, l.pull = l.thread.near.block, true
	} else {
		l.block = n.e.cfg.Segment.Block(info.Index)
		if l.pull = n.e.cfg.Fetch && n.canFetch(id, l.block); !l.pull {
			eager = n.e.eagerMax
		}
	}
	for len(n.lanes) <= info.Index {
		n.lanes = append(n.lanes, nil)
	}
	if n.lanes[info.Index] != nil {
		return fmt.Errorf("engine: ranks %d and %d are both number %d of this host", n.lanes[info.Index].peer, id, info.Index)
	}
	n.lanes[info.Index] = l
	n.words = (len(n.lanes) + 63) / 64
	n.e.core.SetNear(id, l, eager)
	n.e.core.PeerUp(id, int(min(l.block.Window.Load(), 1<<40)))
	return nil
}

// canFetch reports whether the kernel lets us read a peer's memory; if so, we take it
// that it may read ours.
func (n *near) canFetch(id PeerID, b *shm.Block) bool {
	err := shm.Probe(b)
	if err != nil {
		n.e.cfg.Logger.Warn("long messages go through the ring", "rank", n.e.cfg.Rank, "peer", id, "why", err)
	}
	return err == nil
}

// ring is the memory of the ring to a lane's peer, or of that from it.
func (n *near) ring(l *lane, to bool) []byte {
	from, at := n.index, l.index
	if !to {
		from, at = at, from
	}
	if l.thread != nil {
		return n.e.cfg.Process.ring(from, at)
	}
	return n.e.cfg.Segment.Ring(from, at)
}

// poll handles what peers have put. It reports whether there was something, and whether
// that left something to run or to write.
//
// Preconditions:
//   - the caller holds the progress right, as for all that follows but tell.
func (n *near) poll() (moved, work bool) {
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
func (n *near) turn() (moved bool) {
	moved, _ = n.poll()
	return n.check() || moved
}

// heard ends the ringing of our bell. Whoever rang it has disarmed us: if the worker
// sleeps, and a caller has come before it, it must wake to arm us again.
func (n *near) heard() {
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
func (n *near) isFetching(m *MSO) bool {
	id, ok := m.Offered()
	return ok && (n.offers.isBusy(id) || n.offersAbroad.isBusy(id))
}

// attach takes note of the peers that have begun to write.
func (n *near) attach(i int, opened uint64) {
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
func (n *near) use(l *lane) {
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
func (n *near) drop(l *lane) {
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
func (n *near) unblock() (moved bool) {
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
func (n *near) check() (moved bool) {
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
func (n *near) isSilent(l *lane) bool {
	i, bit := l.index/64, uint64(1)<<(l.index%64)
	return n.block.Opened[i].Load()&bit == n.seen[i]&bit && (l.r == nil || !l.r.Ready())
}

// hasInput reports whether poll or check would find something.
func (n *near) hasInput() bool {
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

// arm makes peers tell us of what they put from now on. It reports whether there is
// something already.
func (n *near) arm() bool {
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

// disarm: whoever holds the right looks for itself. It reports whether peers told us
// of what they put until now.
func (n *near) disarm() bool {
	if n.block.Armed.Load() == 0 {
		return false
	}
	n.block.Armed.Store(0)
	return true
}

// tellLocked notes that a peer is to be told, when the mutex is released, that there is
// something for it.
func (n *near) tellLocked(l *lane) {
	n.told[l.index/64] |= 1 << (l.index % 64)
	n.anyTold = true
}

// takeTold returns the lanes to tell: the words of the set that are in use.
func (n *near) takeTold() (told [shm.MaxRanks / 64]uint64) {
	for i := range n.words {
		told[i], n.told[i] = n.told[i], 0
	}
	n.anyTold = false
	return told
}

// tell wakes or serves those peers of word i of the set that sleep. No mutex is held; that it was released orders what was put
// before this look: see shm.Writer.PutHeaded.
func (n *near) tell(i int, told uint64) {
	for ; told != 0; told &= told - 1 {
		if l := n.lanes[i*64+bits.TrailingZeros64(told)]; l.block.Armed.Load() != 0 {
			l.rouse()
		}
	}
}

// close ends the use of shared memory: peers that have not heard a goodbye learn it so.
func (n *near) close() error {
	n.block.Closed.Store(1)
	var err error
	for _, l := range n.lanes {
		if l == nil {
			continue
		}
		if l.used {
			l.alarm()
		}
		if b := l.bell.Swap(nil); b != nil {
			err = errors.Join(err, b.Close())
		}
	}
	if n.bell != nil {
		err = errors.Join(err, n.bell.Close())
	}
	return err
}

// without is ls without l, in memory of its own: somebody may be walking over ls.
func without(ls []*lane, l *lane) []*lane {
	var rest []*lane
	for _, x := range ls {
		if x != l {
			rest = append(rest, x)
		}
	}
	return rest
}

// LongMessages is how many processes of this host that we share memory with have their
// long messages fetched by the kernel, and how many through the ring.
func (e *Engine) LongMessages() (fetched, piped int) {
	if e.near == nil {
		return 0, 0
	}
	for _, l := range e.near.lanes {
		switch {
		case l == nil || l.thread != nil:
		case l.pull:
			fetched++
		default:
			piped++
		}
	}
	return fetched, piped
}

// SetBell gives the engine the bell of the peer with the index, which it asked for by
// Config.AskBell. f stays the caller's, who may close it.
func (e *Engine) SetBell(index int, f *os.File) error {
	n := e.near
	if n == nil || index < 0 || index >= len(n.lanes) || n.lanes[index] == nil {
		return fmt.Errorf("engine: a bell of number %d, who is no peer", index)
	}
	l := n.lanes[index]
	b, err := netpoll.NewBell(f)
	if err != nil {
		return err
	}
	if l.missed.Swap(false) {
		err = b.Ring()
	}
	if !l.bell.CompareAndSwap(nil, b) || e.stopping.Load() && l.bell.CompareAndSwap(b, nil) {
		return errors.Join(err, b.Close())
	}
	if l.missed.Swap(false) { // between the first look and the bell's being there
		err = errors.Join(err, b.Ring())
	}
	return err
}
