package engine

import (
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/core"
)

// The core's types, as the packages above use them.
type (
	MSO       = core.MSO
	PeerID    = core.PeerID
	Tag       = core.Tag
	Kind      = core.Kind
	ContextID = core.ContextID
	Schedule  = core.Schedule
	PeerError = core.PeerError
	// TruncateError is the cause of a receive into too small a buffer.
	TruncateError = core.TruncateError
)

// Kinds, modes, wildcards and errors of the core.
const (
	KindSend    = core.KindSend
	KindRecv    = core.KindRecv
	KindProbe   = core.KindProbe
	KindMprobe  = core.KindMprobe
	KindGeneral = core.KindGeneral

	Standard    = core.Standard
	Synchronous = core.Synchronous

	AnyPeer = core.AnyPeer
	AnyTag  = core.AnyTag
)

// Errors that complete an MSO.
var (
	ErrPeerFailed = core.ErrPeerFailed
	ErrPeerLeft   = core.ErrPeerLeft
	ErrTruncated  = core.ErrTruncated
	ErrStopped    = core.ErrStopped
)

// NewSchedule returns an empty schedule; see core.Schedule.
var NewSchedule = core.NewSchedule

// Engine is the communication engine of one rank.
type Engine struct {
	cfg Config // immutable after Listen

	mu      sync.Mutex
	core    *core.Core     // guarded by mu
	cmds    []command      // guarded by mu: for the holder of the progress right
	waiters []*core.Waiter // guarded by mu: idle ones

	right atomic.Uint32 // 1 while somebody holds the progress right
	drv   *driver       // owned by the holder of the right; immutable pointer

	asleep    atomic.Uint32 // how the holder of the right sleeps: awake, asleepHolding, asleepIdle
	want      atomic.Uint32 // callers that want the right from a sleeping worker
	callers   atomic.Uint64 // times a caller took the right (assist)
	parked    atomic.Uint32 // 1 while the worker is parked without the right (futex word)
	followers atomic.Int32  // callers that sleep and could drive (caller policy)
	lead      chan struct{} // capacity 1: the chance to drive, for a follower

	stopping atomic.Bool
	worker   sync.WaitGroup // waits for the worker
	stats    driverStats
}

// Listen opens the listener of a rank; nothing moves before Start.
func Listen(cfg Config) (*Engine, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	e := &Engine{cfg: cfg, core: core.New(cfg.core()), lead: make(chan struct{}, 1)}
	drv, err := newDriver(e)
	if err != nil {
		return nil, err
	}
	e.drv = drv
	return e, nil
}

// Addr is where peers reach this rank.
func (e *Engine) Addr() netip.AddrPort { return e.drv.listener.Addr() }

// Rank is this rank's number, Size the number of ranks.
func (e *Engine) Rank() int { return e.cfg.Rank }

// Size is the number of ranks.
func (e *Engine) Size() int { return e.cfg.Size }

// Policy is the progress policy in force.
func (e *Engine) Policy() Policy { return e.cfg.Progress }

// Start fills the bridge table with one line per rank and starts the worker.
// Connections are made on first use.
func (e *Engine) Start(peers []PeerInfo) error {
	if len(peers) != e.cfg.Size {
		return fmt.Errorf("engine: %d addresses for %d ranks", len(peers), e.cfg.Size)
	}
	e.drv.bridge = peers
	if e.cfg.Progress != Caller {
		e.worker.Go(e.work)
	}
	return nil
}

// Peer returns the line of the bridge table for a peer.
func (e *Engine) Peer(id PeerID) PeerInfo { return e.drv.bridge[id] }

// unlock releases the mutex, then wakes who is due.
func (e *Engine) unlock() {
	w := e.core.TakeWoken()
	e.mu.Unlock()
	if w != nil {
		core.WakeAll(w)
	}
}

// Close announces the end to every connected peer, waits at most timeout for
// theirs, stops the worker and closes every descriptor. Operations still
// pending complete with ErrStopped. Call it once.
func (e *Engine) Close(timeout time.Duration) error {
	e.command(command{kind: cmdBye})
	e.awaitByes(time.Now().Add(timeout))
	return e.Kill()
}

// awaitByes waits until every connection is closed from both sides.
func (e *Engine) awaitByes(deadline time.Time) {
	for time.Now().Before(deadline) && e.drv.open.Load() > 0 {
		if e.cfg.Progress == Caller {
			e.takeRight()
			e.turn()
			if e.drv.open.Load() > 0 {
				e.sleep(false, 10*time.Millisecond)
			}
			e.releaseRight()
			continue
		}
		select {
		case <-e.drv.quiet:
		case <-time.After(time.Until(deadline)):
		}
	}
}

// Kill stops the engine at once: the worker ends, descriptors are closed,
// pending operations complete with ErrStopped. Peers see it as a failure unless
// Close has said goodbye.
func (e *Engine) Kill() error {
	if !e.stopping.CompareAndSwap(false, true) {
		return nil
	}
	e.rouse()
	e.worker.Wait()
	e.takeRight()
	defer e.right.Store(0)
	e.runCommands()
	e.drv.abandonPeers()
	e.mu.Lock()
	e.core.Stop()
	e.unlock()
	return e.drv.close()
}
