package core

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/buffer"
	"github.com/fitmpi/fitmpi/engine/internal/wire"
)

// MinWindow is the eager credit, in bytes, that every rank grants every peer:
// it may be used before the handshake has said how much more there is.
const MinWindow = wire.MinWindow

// maxWindow bounds the credit that is believed, against overflow.
const maxWindow = 1 << 40

// Config holds the parameters of the protocols. Sizes are in bytes; a zero means
// the default.
type Config struct {
	Self       PeerID
	Peers      int // number of peers, Self among them
	SendBuffer int // library send buffer
	ShortMax   int // up to here a payload is copied behind its header
	EagerMax   int // up to here a payload follows without permission
	Window     int // eager credit granted to each peer
	Chunk      int // of one Data frame, so that other frames interleave
	MaxMessage int // longest message that a receive of unknown length allocates for
	Announced  int // messages, from all peers, of which there may be an announcement and no receive: see limits.go
	Parked     int // sends to a peer that may wait for their receives after their callers have returned
	Early      int // payloads of announced messages that no receive has asked for, taken nevertheless: see early.go; 0 = none
	Unacked    int // written to a peer whose stream is kept and not acknowledged, at most, and one write more, and what stands before an acknowledgement

	Family  ContextID // bits of a context that all contexts of a communicator share; 0 = all
	Streams Tag       // bits of a tag that may differ in the messages of one schedule

	Observer Observer // sees every message; nil = none
}

// Defaults of Config: see docs/decisions/ for the curves they come from.
const (
	DefaultSendBuffer = 16 << 20
	DefaultShortMax   = 4 << 10
	DefaultEagerMax   = 256 << 10
	DefaultWindow     = 8 << 20
	DefaultChunk      = 1 << 20
	DefaultMaxMessage = 1 << 40
	DefaultUnacked    = 16 << 20
)

func (c *Config) setDefaults() {
	c.SendBuffer = cmp.Or(c.SendBuffer, DefaultSendBuffer)
	c.ShortMax = cmp.Or(c.ShortMax, DefaultShortMax)
	c.EagerMax = cmp.Or(c.EagerMax, DefaultEagerMax)
	c.Window = max(cmp.Or(c.Window, defaultWindow(c.Peers)), MinWindow)
	c.Announced = cmp.Or(c.Announced, DefaultAnnounced)
	c.Parked = cmp.Or(c.Parked, defaultParked(c.Peers))
	c.Chunk = cmp.Or(c.Chunk, DefaultChunk)
	c.MaxMessage = cmp.Or(c.MaxMessage, DefaultMaxMessage)
	c.Unacked = max(cmp.Or(c.Unacked, DefaultUnacked), 2*ackEvery)
	c.ShortMax = min(c.ShortMax, c.EagerMax, outChunk-wire.HeaderLen)
	c.EagerMax = min(c.EagerMax, c.Window/2)
	c.Family = cmp.Or(c.Family, ^ContextID(0))
}

// Core is the protocol state of one rank. The engine's mutex guards all of it.
type Core struct {
	cfg      Config
	peers    []*Peer
	posted   posted
	events   events
	probes   []*MSO // blocked probes, in order of posting
	generals table  // generalised requests, in one queue
	ids      ids
	free     *MSO
	spare    int // in free, at most maxSpare

	announced int // messages that wait for their receives, of which there is the announcement only

	pool   *buffer.Pool // library send buffer
	slabs  *buffer.Pool // payloads of unexpected messages, bounded by the windows; it keeps no more than long ones may take
	early  *buffer.Pool // payloads of announced messages that no receive has asked for, bounded by cfg.Early; nil = none
	packed []byte       // room for the payload of a short message

	creditStep int // bytes that are given back at a time; immutable

	failed      []*Peer             // peers that failed, in order
	shut        map[ContextID]error // see Shut; nil as long as there is none
	ackedFailed map[ContextID]int   // by family: how many of failed are acknowledged
	running     []*Schedule         // that are not over, in no order
	spoilt      spoilt
	services    map[ContextID]*Service
	dirty       fifo[Peer, *Peer]  // peers with something to write
	jobs        buffer.Ring[Job]   // long work for the holder of the progress right
	fetches     fifo[MSO, *MSO]    // receives that fetch their payload, a chunk of each in turn
	fetching    [MaxTogether]Fetch // what the job that fetches is to do; its runner's while there is one
	woken       *Waiter            // fired, not yet woken
	notices     fifo[MSO, *MSO]    // signals and ends of peers that are to be delivered
	ended       *Watch             // of operations that are done, not yet taken
	room        *Waiter            // callers that wait for room in the library buffer, or for the last detached send
	sends       []*Parts           // partitioned sends in a round, in no order
	shorts      uint64             // messages that needed no MSO
	begun       uint64             // MSOs that were posted
	done        uint64             // MSOs that became Done after that
	round       uint32             // of Operations
	unsent      int                // bytes on all streams
	sizes       SizeCounts         // of messages sent, those to Self among them
	stats       Stats
	whole       bool             // the receive that is done next got a whole message, which has just arrived; for the observer
	scheds      ScheduleObserver // cfg.Observer, if it is one; immutable
	ill         atomic.Bool      // a peer has failed or a context is shut, which may end a schedule
}

// New returns the core of a rank with no connection up.
func New(cfg Config) *Core {
	cfg.setDefaults()
	c := &Core{
		cfg:      cfg,
		posted:   posted{t: newTable(0), quietMax: cfg.EagerMax},
		generals: newTable(0),
		events:   newEvents(),
		pool:     buffer.NewPool(cfg.SendBuffer),
		slabs:    buffer.NewPool((cfg.Window - spared(cfg.Window)) * max(2-cfg.Peers, 0)),
	}
	if cfg.Early > 0 {
		c.early = buffer.NewPool(cfg.Early)
	}
	c.setWindow(cfg.Window)
	c.scheds, _ = cfg.Observer.(ScheduleObserver)
	c.AddPeers(cfg.Peers)
	return c
}

// AddPeers adds n peers, whose numbers follow those that there are. What may wait here for receives
// grows with them.
func (c *Core) AddPeers(n int) {
	for range n {
		c.peers = append(c.peers, &Peer{ID: PeerID(len(c.peers)), credit: MinWindow, eager: c.cfg.EagerMax})
	}
	c.slabs.Grow((c.cfg.Window - spared(c.cfg.Window)) * n)
}

// setWindow sets the eager credit granted to each peer; before anything has come.
func (c *Core) setWindow(n int) {
	c.cfg.Window, c.creditStep = n, min(n, longWindow)/4
}

// Config returns the parameters in force.
func (c *Core) Config() Config { return c.cfg }

// Active is the number of operations between post and Done.
func (c *Core) Active() int { return int(c.begun - c.done) }

// IsBusy reports whether anything is to be expected: an operation is not done, or
// bytes are not with the kernel.
func (c *Core) IsBusy() bool { return c.begun != c.done || c.unsent > 0 }

// Urgency says how soon what is to be expected wants this rank.
type Urgency uint8

// Urgencies.
const (
	Quiet   Urgency = iota // nothing, or messages that come without permission: they may lie where they arrive until they are asked for
	Bulk                   // long messages: announced, on their way, or not yet with the kernel
	Waiting                // others may wait for this rank: collectives, and services of windows
)

// Urgency is the highest that there is.
func (c *Core) Urgency() Urgency {
	switch {
	case len(c.running) > 0 || len(c.services) > 0:
		return Waiting
	case c.begun-c.done != uint64(c.posted.quiet) || c.unsent > 0 || c.stats.RendezvousReceives > 0:
		return Bulk
	}
	return Quiet
}

// IsIdle reports that of all that was posted, or has come, nothing is left but operations that wait
// for peers. Then there is nothing to write, to run or to deliver, and no waiter to wake. That is
// the usual case after a short message.
func (c *Core) IsIdle() bool {
	return c.dirty.head == nil && c.jobs.Len() == 0 && c.fetches.head == nil && c.unsent == 0 && c.stats.Detached == 0 &&
		c.woken == nil && c.ended == nil && c.notices.head == nil
}

// IsOwed reports whether something is left to do of calls that have returned.
func (c *Core) IsOwed() bool { return c.stats.Detached > 0 || c.unsent > 0 || c.HasJobs() }

// Errors that complete an MSO.
var (
	ErrPeerFailed = errors.New("the peer failed")
	ErrPeerLeft   = errors.New("the peer has finalized")
	ErrTruncated  = errors.New("message truncated")
	ErrStopped    = errors.New("the engine was stopped")
)

// TruncateError says how long the message was and how much the receive could hold, in bytes.
type TruncateError struct{ Message, Buffer int }

func (e *TruncateError) Error() string {
	return fmt.Sprintf("message truncated: %d bytes arrived, the buffer holds %d", e.Message, e.Buffer)
}

// Is makes a TruncateError an ErrTruncated.
func (e *TruncateError) Is(target error) bool { return target == ErrTruncated }

// PeerError says why a peer is gone.
type PeerError struct {
	Peer  PeerID
	Left  bool // it finalized, rather than failed
	Cause error
	Lost  *LostMessage // what an operation has lost by it; nil: no message had come
}

// LostMessage is a message of which a part had come, or that stood behind such a one, when its
// sender failed.
type LostMessage struct {
	Tag    Tag
	Length int // bytes
	Elem   uint8
}

func (e *PeerError) Error() string {
	if e.Left {
		return fmt.Sprintf("rank %d has finalized", e.Peer)
	}
	return fmt.Sprintf("rank %d failed: %v", e.Peer, e.Cause)
}

func (e *PeerError) Unwrap() error { return e.Cause }

// Is makes a PeerError an ErrPeerFailed or ErrPeerLeft.
func (e *PeerError) Is(target error) bool {
	return target == ErrPeerFailed && !e.Left || target == ErrPeerLeft && e.Left
}

// LengthError says that a message is longer than a receive of unknown length allocates for.
type LengthError struct{ Message, Max int }

func (e *LengthError) Error() string {
	return fmt.Sprintf("message of %d bytes, the limit for a receive of unknown length is %d", e.Message, e.Max)
}

// ProtocolError is what a peer sent that it must not send.
type ProtocolError struct {
	Peer PeerID
	What string
}

func (e *ProtocolError) Error() string {
	return fmt.Sprintf("rank %d broke the protocol: %s", e.Peer, e.What)
}

func sortBySeq(ms []*MSO) {
	slices.SortFunc(ms, func(a, b *MSO) int { return cmp.Compare(a.seq, b.seq) })
}
