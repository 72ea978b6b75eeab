package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/engine/internal/core"
	"github.com/fitmpi/fitmpi/internal/shm"
	"github.com/fitmpi/fitmpi/netpoll"
)

// Way is how a peer is reached.
type Way uint8

// The ways. Both ranks of a pair must be given the same.
const (
	TCP    Way = iota // a connection
	Thread            // the peer is a thread of this process: Config.Process knows it
	Shared            // the peer is another process of this host: Config.Segment is shared with it
	numWays
)

func (w Way) String() string { return [...]string{"tcp", "thread", "shared"}[w] }

// local is a rank's part in the memory that it shares with ranks of its host.
type local struct {
	e            *Engine
	index        int        // ours; immutable
	block        *shm.Block // ours; immutable
	lanes        []*lane    // by index, nil where there is no such peer; immutable after Start
	byPeer       []*lane    // the same by peer; immutable after Start
	words        int        // of bit sets that are in use; immutable after Start
	mates        bool       // some peers are threads of this process; immutable after Start
	threads      bool       // all are; immutable after Start
	bell         *netpoll.Bell
	offers       offers // for threads of this process
	offersAbroad offers // for other processes
	pacer        pacer  // begun by newLocal, ended by close

	// Owned by the holder of the progress right.
	parts    [core.MaxTogether]shm.Part // what the kernel is asked for just now
	inputs   []*lane                    // those whose peers write
	inUse    []*lane                    // those in use either way
	seen     [shm.MaxRanks / 64]uint64  // of block.Opened: noticed
	blocked  int                        // lanes that are full
	turnOf   int                        // where in inputs receives of any peer look next
	anyTaken int                        // receives of any peer that could take, since one went the way of Post

	notify    [shm.MaxRanks / 64]uint64 // guarded by the engine's mutex: lanes whose peer is to be notified when the mutex is released
	anyNotify bool                      // guarded by the engine's mutex

	open atomic.Int32 // lanes in use; read by anyone
}

// newLocal is a rank's part before any peer is known.
func newLocal(e *Engine) (*local, error) {
	if e.cfg.Index < 0 || e.cfg.Index >= shm.MaxRanks {
		return nil, fmt.Errorf("engine: rank %d is number %d of its host: memory is shared by at most %d", e.cfg.Rank, e.cfg.Index, shm.MaxRanks)
	}
	n := &local{e: e, index: e.cfg.Index}
	if e.cfg.Segment != nil {
		n.block = e.cfg.Segment.Block(n.index)
	} else {
		n.block = shm.NewBlock()
	}
	n.offers.words, n.offersAbroad.words = new([shm.NumOffers]shm.Offer), &n.block.Offers
	n.block.Window.Store(uint64(e.core.Config().Window))
	if e.cfg.Segment != nil {
		shm.Join(n.block, e.cfg.Copy.mostFetched() > 0)
	}
	if e.cfg.Bell != nil {
		var err error
		if n.bell, err = netpoll.NewBell(e.cfg.Bell); err != nil {
			return nil, err
		}
	}
	if err := n.promise(); err != nil {
		return nil, errors.Join(err, n.close())
	}
	return n, nil
}

// meet makes the lane to a peer.
func (n *local) meet(id PeerID, info PeerInfo) error {
	if info.Index < 0 || info.Index >= shm.MaxRanks || info.Index == n.index {
		return fmt.Errorf("engine: rank %d is number %d of its host, as we are %d", id, info.Index, n.index)
	}
	l := &lane{n: n, peer: id, index: info.Index}
	eager := ringMax
	if info.Way == Thread {
		if l.thread = n.e.cfg.Process.engine(id); l.thread == nil || l.thread.local == nil {
			return fmt.Errorf("engine: rank %d is no thread of this process", id)
		}
		l.block, l.most = l.thread.local.block, math.MaxInt
	} else {
		l.block = n.e.cfg.Segment.Block(info.Index)
		if most := n.e.cfg.Copy.mostFetched(); most > 0 && n.canFetch(id, l.block) {
			l.most = most
		} else {
			eager = n.e.eagerMax
		}
	}
	for len(n.lanes) <= info.Index {
		n.lanes = append(n.lanes, nil)
	}
	if n.lanes[info.Index] != nil {
		return fmt.Errorf("engine: ranks %d and %d are both number %d of this host", n.lanes[info.Index].peer, id, info.Index)
	}
	n.lanes[info.Index], n.byPeer[id] = l, l
	n.words = (len(n.lanes) + 63) / 64
	n.e.core.SetLocal(id, l, eager)
	n.e.core.PeerUp(id, int(min(l.block.Window.Load(), 1<<40)))
	return nil
}

// canFetch reports whether the kernel lets us read a peer's memory; if so, we take it
// that it may read ours.
func (n *local) canFetch(id PeerID, b *shm.Block) bool {
	err := shm.Probe(b)
	if err != nil {
		level := slog.LevelInfo
		if n.e.cfg.Copy == CopyRead { // the user has asked for it
			level = slog.LevelWarn
		}
		n.e.cfg.Logger.Log(context.Background(), level, "long messages go through the ring", "rank", n.e.cfg.Rank, "peer", id, "why", err)
	}
	return err == nil
}

// ring is the memory of the ring to a lane's peer, or of that from it.
func (n *local) ring(l *lane, to bool) []byte {
	from, at := n.index, l.index
	if !to {
		from, at = at, from
	}
	if l.thread != nil {
		return n.e.cfg.Process.ring(from, at)
	}
	return n.e.cfg.Segment.Ring(from, at)
}

// close ends the use of shared memory: peers that have not heard a goodbye learn it so.
func (n *local) close() error {
	err := n.pacer.end()
	n.block.Closed.Store(1)
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

// LongMessages is how many processes of this host that we share memory with have their long
// messages fetched by the kernel, but for those that Config.Copy excepts, and how many through
// the ring.
func (e *Engine) LongMessages() (fetched, piped int) {
	if e.local == nil {
		return 0, 0
	}
	for _, l := range e.local.lanes {
		switch {
		case l == nil || l.thread != nil:
		case l.most > 0:
			fetched++
		default:
			piped++
		}
	}
	return fetched, piped
}

// SetBell gives the engine the bell of the peer with the index, which it asked for by
// Config.AskBell. f stays the caller's, which may close it.
func (e *Engine) SetBell(index int, f *os.File) error {
	n := e.local
	if n == nil || index < 0 || index >= len(n.lanes) || n.lanes[index] == nil {
		return fmt.Errorf("engine: a bell of number %d, which is no peer's", index)
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
