// Package telemetry is what a rank says of itself to its launcher when it is asked: is it alive and
// does it wait, what has it counted, and what does it wait for. Package mpi answers,
// cmd/fitrun/internal/view asks and keeps the answers.
//
// A question is one of the names below. The answer is a [Report] as JSON, of at most boot.MaxAnswer
// bytes: what does not fit is left out, and what was left out is counted.
//
// # What a rank waits for
//
// The answer to AskPending has, all of one moment but for the goroutines:
//
//   - Calls. A wait that is not over at once takes a slot in the engine, with the return addresses
//     of its callers, its operations and how many of them it needs. A call whose operations a
//     context may end counts as bounded.
//   - Operations. They are found where they stand: in the queues, the table of ids and the streams.
//     Steps of a schedule, and partitions, stand for the whole of which they are parts. A schedule
//     names the peers of the messages that are under way, not of those that come after them. An
//     operation that outlives its call has a note of where it was begun. One of a blocking call
//     takes the place of that call.
//   - Messages that have arrived and that no receive has asked for. One that a matched probe has
//     taken is the program's, and not listed.
//   - Communicators of these. Peers are numbers of ranks: of the first job of a launcher the ranks
//     of its world, of jobs that were spawned what follows those (boot.Kin).
//   - Goroutines of the process that are the user's and do not wait in a call, from their stacks, a
//     moment later, with what may wake them. A rank may go on by itself as long as one of them may.
//     A caller that is in the library but waits for no operation is among them: one whose bytes the
//     network does not take (policy caller), or one that is closing.
//
// AskCollect has the rank collect garbage until that starts no more functions of the program's,
// which may be what others wait for.
//
// All that is noted for this costs a message some nanoseconds (docs/decisions/0024). Asking stops
// all goroutines of the process for as long as their stacks are written.
//
// # What a rank counts
//
// [Metrics] is the one table of it: package metrics shows it to Prometheus, and the C library to
// tools, as performance variables of MPI.
//
// # What shows a rank's counters elsewhere
//
// An [Exporter] serves and pushes the counters of a rank without its launcher. Package mpi uses the
// one that the program has linked, if any (docs/decisions/0065).
package telemetry

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/fitmpi/fitmpi/engine"
)

// Questions. Each but the last includes what those before it do.
const (
	AskPulse    = "pulse"    // Report.Pulse: some microseconds of the rank's time
	AskCounters = "counters" // Report.Counters as well: some tens of microseconds
	AskPending  = "pending"  // Report.Pending as well: stops all goroutines of the rank for a moment
	// AskCollect has the rank collect garbage until that starts no more functions of the program,
	// which may take seconds, and then say its Report.Pulse and Report.Functions. Other questions
	// are answered meanwhile.
	AskCollect = "collect"
)

// Report is the answer of a rank.
type Report struct {
	Pulse    Pulse
	Counters *Counters `json:",omitempty"`
	Pending  *Pending  `json:",omitempty"`
	// Functions is another number whenever the garbage collector has got a function to start
	// (runtime.AddCleanup, runtime.SetFinalizer), or one has returned: as it was before Pending, or
	// after collecting. Else it is 0.
	Functions uint64 `json:",omitempty"`
}

// Pulse says whether a rank lives, and whether it waits. A job is quiescent if every rank that
// takes part is blocked, none has become active between two pulses, what all have sent all have
// received, and nothing is unsent.
type Pulse struct {
	At        int64  // on the monotonic clock of its host, in nanoseconds
	Blocked   int    // callers in MPI calls that only messages can end
	Bounded   int    // callers in MPI calls that their context may end too
	Activity  uint64 // another number whenever something was posted, moved or completed
	FramesIn  uint64 // from all other ranks but those that it knows to be gone
	FramesOut uint64 // to them
	Unsent    int    // bytes, headers included, that no socket or ring has taken
}

// Counters is what a rank has counted since it began.
type Counters struct {
	Stats   engine.Stats
	Elapsed time.Duration // since the rank joined the job
	Last    bool          // it finalizes: these are its last
	Peers   []Peer        // the ranks with which it has exchanged messages, some at a time if they are very many
	Sites   []Site        `json:",omitempty"` // where it has waited longest
	Calls   []Call        `json:",omitempty"` // that are blocked, the longest first, a few; without Need and Waits
	Process Process       // the same for all ranks of a process
	// Collectives is what is counted by communicator.
	Collectives []Calls `json:",omitempty"`
	// Ready is for how long goroutines of the process were ready before they ran.
	Ready *Durations `json:",omitempty"`
}

// Calls is what is counted of one operation on the communicators of one name.
type Calls struct {
	Comm   string        // the name, "other" for all after the first some
	Op     string        // as the blocking form is called: Allreduce
	Count  uint64        // begun
	Waited time.Duration // by callers, for those that are complete
}

// Durations is a histogram: Counts[i] is of durations from Bounds[i-1], of the first from 0, to
// below Bounds[i], in seconds; of the last, which has no bound, of longer ones.
type Durations struct {
	Bounds []float64
	Counts []uint64
}

// Peer is the traffic of a rank with another, since the start.
type Peer struct {
	Rank     int   // its number, as everywhere in a Report
	Way      uint8 // an engine.Way
	Sent     engine.Traffic
	Received engine.Traffic
	Waited   Waited // of callers that waited for messages with that rank, alone or after all others they waited for
}

// Waited is time that callers spent waiting.
type Waited struct {
	Sending, Receiving time.Duration
}

// Site is a place of the program where it waits.
type Site struct {
	Op    string // the MPI call, such as Recv; "" if it is not known, as for the rest of too many places
	At    string // file:line of the caller; likewise
	Func  string // the caller
	Kind  engine.WaitKind
	Count uint64 // of waits, as Time an estimate where they were short
	Time  time.Duration
	Peer  int // the rank that a good part of it was for, -1 if not one
}

// Process is what the process of a rank uses.
type Process struct {
	RSS, PeakRSS uint64 // bytes
	Heap         uint64 // bytes of live and dead objects of Go's heap
	Goroutines   int
	GCs          uint64
	GCPause      time.Duration // for which all goroutines were stopped, all in all
	CPU          time.Duration // of all threads
}

// Pending is what a rank has begun and not finished, all at one moment but for Goroutines.
type Pending struct {
	Calls      []Call
	Operations []Operation
	Messages   []Message // that have arrived and no receive has taken, in order of arrival
	Comms      []Comm    // of those above
	Goroutines []Goroutine
	// A timer of the process is set (time.AfterFunc, the deadline of a context or a connection), as
	// far as the kernel tells: what it starts may let the rank go on. Asked for before everything
	// else here.
	Timer bool `json:",omitempty"`
	// Something in the process waits for a signal (signal.NotifyContext): what that starts may let
	// the rank go on.
	Signal bool `json:",omitempty"`
	// How many there were of each, if not all are listed; else 0.
	AllCalls, AllOperations, AllMessages, AllGoroutines int `json:",omitempty"`
}

// Call is a caller that is blocked.
type Call struct {
	Op      string        // as mpi names it: Recv, Wait, Barrier
	At      string        // file:line of the user's code
	Func    string        // the user's function
	Since   time.Duration // for how long
	Need    int           // how many of Waits must complete
	Waits   []int         // indices in Operations
	More    int           `json:",omitempty"` // how many operations that are not listed may do as well
	Besides int           `json:",omitempty"` // or how many of them must complete as well, if all of Waits must
	Bounded bool          // its context may end it
}

// Kind is what an operation is.
type Kind string

// The kinds of operations.
const (
	Send       Kind = "send"
	Receive    Kind = "receive"
	Probe      Kind = "probe"
	Collective Kind = "collective"
	Parts      Kind = "partitioned"
	Agreement  Kind = "agreement" // of ranks that may fail
	General    Kind = "general"   // completed by the program itself
	Flush      Kind = "flush"     // of a buffer for buffered sends: done when the messages in it have left
)

// Operation is posted and not complete.
type Operation struct {
	Op    string // that began it: Irecv, Isend, Iallreduce
	Kind  Kind
	At    string // where: file:line; "" if that is not known
	Func  string
	State string // of the engine's MSO: queued, offered, moving
	Comm  uint64 // Context of one of Comms; 0 and of no meaning if the Kind is General or Flush
	Peer  int    // rank of the world, -1 for any
	Tag   int    // -1 for any; of a collective which one it is on its communicator
	Bytes int    // of the message, or room for one; -1 if a receive takes any length
	// Of a collective: the ranks of the world with which it exchanges messages now, 64 of each at
	// most. Of an agreement they are the ranks for whose signals it waits. Those that Later counts
	// begin when these are done. Of a flush, To are the ranks that have not received a message that
	// it waits for.
	From, To []int `json:",omitempty"`
	Later    int   `json:",omitempty"`
	// The library has copied the message: its sender has gone on.
	Detached bool `json:",omitempty"`
	// A synchronous send, which is not complete before the message is received, however short it
	// is.
	Synchronous bool `json:",omitempty"`
	// Of a partitioned message: that this is the sender, how many partitions are not done, and how
	// many of those the sender has not made ready yet.
	Sends          bool `json:",omitempty"`
	Left, NotReady int  `json:",omitempty"`
}

// Message is one that waits for its receive.
type Message struct {
	Source    int // rank of the world
	Tag       int
	Comm      uint64
	Bytes     int
	Announced bool `json:",omitempty"` // its payload is still with the sender
	// Its sender waits until it is received.
	Synchronous bool `json:",omitempty"`
	// It is of a collective, of a partitioned message, or of the making of a communicator: no
	// receive of the user's takes it.
	Internal bool `json:",omitempty"`
}

// Comm is a communicator.
type Comm struct {
	Context uint64 // of its messages between two ranks; that of its collectives differs in Collectives
	// Collectives is the context of its collectives.
	Collectives uint64
	Name        string
	Rank        int   // of the rank that reports, in it
	Size        int   // how many ranks are in it, of an intercommunicator in the local group
	Ranks       []int // numbers of ranks, by rank in it; nil if it is the whole world of the rank in order, or if they do not fit
	Remote      []int `json:",omitempty"` // of an intercommunicator, the same of the remote group
}

// Goroutine is one of the user's that does not wait in an MPI call. They are those of the process:
// several ranks of one process name the same, and one that waits in a call of another of them is
// none. A goroutine is the user's if it has a frame of the user's code, be it a function that the
// library calls. It is so too if the user has started it in the standard library (go
// http.ListenAndServe), or if it waits for the network and the standard library has started it for
// the user (httptest.NewServer). So what the standard library starts for itself, for signals and
// contexts, is not.
type Goroutine struct {
	State string // as the Go runtime names it: running, chan receive, IO wait, sleep
	At    string // file:line of the innermost frame of the user's code, or of the go statement
	Func  string
	// May says that it may go on by itself: it runs, or waits for something that is neither a
	// message nor certain to need another goroutine: By is not ByGoroutine.
	May bool
	By  Waker
}

// Waker is what lets a goroutine go on.
type Waker string

// The wakers.
const (
	ByItself    Waker = "itself"    // it runs, sleeps, or is in a system call
	ByOutside   Waker = "outside"   // the network or a file
	ByChannel   Waker = "channel"   // a channel: of another goroutine, or of a timer, a signal, a context; which one cannot be seen. Or a sync.Cond
	ByGoroutine Waker = "goroutine" // another goroutine only: it locks a mutex, waits for a WaitGroup, sends to a channel
)

// Renumber replaces the number of each rank in r by what place says. Communicators that are the
// whole world of the rank, and name no ranks, stay so.
func (r *Report) Renumber(place func(number int) int) {
	one := func(n *int) {
		if *n >= 0 {
			*n = place(*n)
		}
	}
	all := func(ns []int) {
		for i := range ns {
			one(&ns[i])
		}
	}
	if c := r.Counters; c != nil {
		for i := range c.Peers {
			one(&c.Peers[i].Rank)
		}
		for i := range c.Sites {
			one(&c.Sites[i].Peer)
		}
	}
	p := r.Pending
	if p == nil {
		return
	}
	for i := range p.Operations {
		o := &p.Operations[i]
		one(&o.Peer)
		all(o.From)
		all(o.To)
	}
	for i := range p.Messages {
		one(&p.Messages[i].Source)
	}
	for i := range p.Comms {
		all(p.Comms[i].Ranks)
		all(p.Comms[i].Remote)
	}
}

// Decode reads an answer, whose strings are made plain (package plain). The error says what is
// wrong with it.
func Decode(data []byte) (*Report, error) {
	r := new(Report)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("telemetry: malformed report: %w", err)
	}
	if mayHide(data) {
		makePlain(reflect.ValueOf(r).Elem())
	}
	return r, nil
}
