package engine

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fitmpi/fitmpi/buffer"
	"github.com/fitmpi/fitmpi/engine/internal/core"
	"github.com/fitmpi/fitmpi/engine/internal/progress"
	"github.com/fitmpi/fitmpi/netpoll"
)

// HasSockets says whether ranks of other processes can be reached from here: on Linux they can.
const HasSockets = netpoll.HasSockets

// The core's types, as the packages above use them.
type (
	MSO       = core.MSO
	PeerID    = core.PeerID
	Tag       = core.Tag
	Kind      = core.Kind
	ContextID = core.ContextID
	Schedule  = core.Schedule
	// Layout is a payload that is not one piece of memory.
	Layout = core.Layout
	// Message is what Send and Recv move.
	Message   = core.Message
	PeerError = core.PeerError
	// TruncateError is the cause of a receive into too small a buffer.
	TruncateError = core.TruncateError
	// PartError is the error of a step of a schedule that waits for a rank whose part has failed.
	PartError = core.PartError
	// LengthError is the cause of a receive of unknown length for more than Config.MaxMessage.
	LengthError = core.LengthError
	// ProtocolError is the cause of a PeerError when the peer sent what it must not send.
	ProtocolError = core.ProtocolError
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

	kindSched = core.KindSched

	moving = core.Moving

	AnyPeer = core.AnyPeer
	AnyTag  = core.AnyTag

	// PartFailed is the first of 15 marks; see core.PartFailed.
	PartFailed = core.PartFailed

	// BsendOverhead is what a message in the attached buffer occupies beyond its bytes.
	BsendOverhead = buffer.Overhead
)

// Errors that complete an MSO.
var (
	ErrPeerFailed = core.ErrPeerFailed
	ErrPeerLeft   = core.ErrPeerLeft
	ErrTruncated  = core.ErrTruncated
	ErrStopped    = core.ErrStopped
	ErrRevoked    = core.ErrRevoked
)

// NewSchedule returns an empty schedule; see core.Schedule.
var NewSchedule = core.NewSchedule

// Engine is the communication engine of one rank.
type Engine struct {
	cfg Config // immutable after Listen
	// Immutable after Listen.
	eagerMax int           // cfg.EagerMax in force
	shortMax int           // cfg.ShortMax in force
	turns    TurnObserver  // cfg.Observer, if it is one; else nil
	rests    bool          // the worker rests; see Config.Moderation
	yieldFor time.Duration // cfg.Yield in force; immutable after Start

	mu      sync.Mutex
	core    *core.Core     // guarded by mu
	cmds    []command      // guarded by mu: for the holder of the progress right
	waiters []*core.Waiter // guarded by mu: idle ones
	taken   uint64         // guarded by mu: messages that Recv took
	counts  counts         // guarded by mu

	leftover []Unreceived // guarded by mu: see Unreceived

	right progress.Right
	drv   *driver        // owned by the holder of the right; immutable pointer
	local *local         // shared memory; nil if there is none. Immutable pointer
	habit progress.Habit // guarded by mu as far as it says so
	seat  seat           // of the worker

	callers atomic.Uint64 // times a caller took the right (assist)
	roused  atomic.Uint32 // times sleeping callers were woken
	waiting atomic.Int32  // callers that test and yield until the worker has done their operations (worker)
	polls   atomic.Uint32 // times of Poll where ranks share cores and have workers; it wraps
	lead    chan struct{} // capacity 1: the chance to drive, for a follower

	delegated atomic.Pointer[delegated] // of the thread that visits, which holds the right; nil if none does; read by anyone

	excused  []atomic.Bool // by peer: it may end without a goodbye
	noticed  atomic.Bool   // there are signals, or ends of peers, to be delivered by the holder of the right
	stopping atomic.Bool
	worker   sync.WaitGroup // waits for the worker
	securing sync.WaitGroup // waits for the goroutines of TLS handshakes
	stats    driverStats
	waits    waitClock // guarded by mu
	flights  flights   // guarded by mu, but for what says otherwise
}

// Listen opens the listener of a rank; nothing moves before Start.
func Listen(cfg Config) (*Engine, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	e := &Engine{cfg: cfg, core: core.New(cfg.core()), lead: make(chan struct{}, 1)}
	e.waits.byPeer = make([]PeerWait, cfg.Size)
	e.counts.framesIn = make([]uint64, cfg.Size)
	e.excused = make([]atomic.Bool, cfg.Size)
	e.flights.skip = e.flights.gap()
	e.turns, _ = cfg.Observer.(TurnObserver)
	e.eagerMax, e.shortMax = e.core.Config().EagerMax, e.core.Config().ShortMax
	e.rests = cfg.Progress == Assist && cfg.Moderation > 0
	e.setHabit()
	drv, err := newDriver(e)
	if err != nil {
		return nil, err
	}
	e.drv = drv
	if cfg.Process != nil || cfg.Segment != nil {
		if err := e.joinHost(); err != nil {
			return nil, errors.Join(err, drv.close())
		}
	}
	return e, nil
}

// joinHost begins to share memory with ranks of this host.
func (e *Engine) joinHost() (err error) {
	if e.local, err = newLocal(e); err != nil {
		return err
	}
	if e.local.bell != nil {
		if err := e.drv.poller.AddBell(e.local.bell, bellToken); err != nil {
			return err
		}
	}
	if e.cfg.Process != nil {
		e.cfg.Process.join(e)
	}
	return nil
}

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
	e.mu.Lock()
	e.drv.bridge = slices.Clip(peers)
	e.mu.Unlock()
	e.drv.bigEndian = PayloadsBigEndian(peers)
	if e.local != nil {
		e.local.byPeer = make([]*lane, len(peers))
	}
	threads, mates := true, false
	for id, p := range peers {
		if err := e.canReach(PeerID(id), p); err != nil {
			return err
		}
		if p.Way != TCP && id != e.cfg.Rank {
			if err := e.local.meet(PeerID(id), p); err != nil {
				return err
			}
		}
		threads = threads && (p.Way == Thread || id == e.cfg.Rank)
		mates = mates || p.Way == Thread
	}
	e.yieldFor = e.cfg.Yield
	if e.local != nil {
		e.local.threads, e.local.mates = threads, mates
		if threads {
			e.yieldFor = 0 // Go changes from one to the next for less
		}
	}
	if e.cfg.Workers > 1 && netpoll.HasSockets {
		var err error
		if e.drv.hands, err = newHands(e.drv.poller, min(e.cfg.Workers, MaxWorkers)-1); err != nil {
			return err
		}
	}
	if e.cfg.Progress != Caller {
		e.worker.Go(e.work)
	}
	return nil
}

// canReach says what is wrong with a peer that can be reached by a socket only, if there are none.
func (e *Engine) canReach(id PeerID, p PeerInfo) error {
	if netpoll.HasSockets || p.Way == Thread || int(id) == e.cfg.Rank {
		return nil
	}
	return fmt.Errorf("engine: rank %d could be reached by %v only: FitMPI has that on Linux, elsewhere ranks are threads of one process", id, p.Way)
}

// PayloadsBigEndian is the byte order of payloads between these ranks, which the users of
// their engines keep to: little-endian, unless every rank is big-endian.
func PayloadsBigEndian(peers []PeerInfo) bool {
	return !slices.ContainsFunc(peers, func(p PeerInfo) bool { return !p.BigEndian })
}

// Peer returns the line of the bridge table for a peer.
func (e *Engine) Peer(id PeerID) PeerInfo {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.drv.bridge[id]
}

// unlock releases the mutex, then wakes the waiters that are due, and the peers for which something
// was put.
func (e *Engine) unlock() {
	if e.core.HasEnded() {
		e.landLocked()
	}
	if e.core.HasNotices() {
		e.noticed.Store(true)
	}
	w := e.core.TakeWoken()
	n := e.local
	if n == nil || !n.anyNotify {
		e.mu.Unlock()
		e.wakeAll(w)
		return
	}
	if n.words == 1 {
		notify := n.notify[0]
		n.notify[0], n.anyNotify = 0, false
		e.mu.Unlock()
		e.wakeAll(w)
		n.tell(0, notify)
		return
	}
	notify := n.takeNotify()
	e.mu.Unlock()
	e.wakeAll(w)
	for i := range n.words {
		n.tell(i, notify[i])
	}
}

// isIdleLocked reports whether a caller that has moved a short message leaves nothing to do.
func (e *Engine) isIdleLocked() bool {
	return e.cfg.Progress == Assist && e.core.IsIdle() && len(e.cmds) == 0
}

// unlockIdle is unlock after a short message.
//
// Preconditions:
//   - core.IsIdle.
func (e *Engine) unlockIdle() {
	n := e.local
	switch {
	case n == nil:
		e.mu.Unlock()
		return
	case n.words > 1:
		e.unlock()
		return
	}
	notify := n.notify[0]
	n.notify[0], n.anyNotify = 0, false
	e.mu.Unlock()
	if notify != 0 {
		n.tell(0, notify)
	}
}

func (e *Engine) wakeAll(w *core.Waiter) {
	if w != nil {
		e.roused.Add(1)
		core.WakeAll(w)
	}
}
