package mpi

import (
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/boot"
)

// toolchain are the tools of one rank, its recorder and its checker, at least one of all.
type toolchain struct {
	// Immutable after attachTools.
	rank     int
	tools    []Tool
	messages []MessageTool // those of tools that are, as the lists that follow
	turns    []TurnTool
	regions  []RegionTool
	controls []ControlTool
	rec      *recorder // nil if what the rank does is not recorded
	checks   *checker  // nil unless it is checked

	abort  atomic.Pointer[func(code int, message string)] // nil until the rank has joined: how a panic ends the job
	panics atomic.Pointer[string]                         // what is to be said of a panic, or a goroutine that has ended, until abort has taken it
	failed sync.Once                                      // a tool has panicked, or ended its goroutine: that is said once, and the job is ending
	leave  func()                                         // forgets the chain, once
}

// attachTools makes the tools of a rank, whose checker may be nil; nil if it has none. A caller
// that gets a chain calls its leave in the end.
func attachTools(info boot.Info, checks *checker) *toolchain {
	ts := &toolchain{rank: info.Rank, checks: checks}
	who := ToolRank{Rank: info.Rank, Size: info.Size, Host: info.Host}
	for _, m := range makers() {
		if t := m.attach(who); t != nil {
			ts.add(t)
		}
	}
	var err error
	if ts.rec, err = newRecorder(info); err != nil {
		fmt.Fprintf(os.Stderr, "mpi: rank %d is not traced: %v\n", info.Rank, err)
	}
	if len(ts.tools) == 0 && ts.rec == nil && checks == nil {
		return nil
	}
	observedJobs.Add(1)
	ts.leave = sync.OnceFunc(func() { observedJobs.Add(-1) })
	return ts
}

func (ts *toolchain) add(t Tool) {
	ts.tools = append(ts.tools, t)
	if m, ok := t.(MessageTool); ok {
		ts.messages = append(ts.messages, m)
	}
	if m, ok := t.(TurnTool); ok {
		ts.turns = append(ts.turns, m)
	}
	if m, ok := t.(RegionTool); ok {
		ts.regions = append(ts.regions, m)
	}
	if m, ok := t.(ControlTool); ok {
		ts.controls = append(ts.controls, m)
	}
}

// detach forgets the tools; it may be called again, and of none.
func (ts *toolchain) detach() {
	if ts != nil {
		ts.leave()
	}
}

// observer is what the engine tells, nil if nothing wants to know.
func (ts *toolchain) observer() engine.Observer {
	switch o := ts.toolObserver(); {
	case ts == nil || ts.rec == nil:
		return o
	case o == nil:
		return ts.rec
	default:
		return observers{ts.rec, o}
	}
}

// toolObserver tells tools, nil if none wants to know.
func (ts *toolchain) toolObserver() engine.Observer {
	switch {
	case ts == nil || len(ts.messages)+len(ts.turns) == 0:
		return nil
	case len(ts.turns) == 0:
		return messageObserver{ts}
	default:
		return turnObserver{messageObserver{ts}}
	}
}

// begin tells tool i that k begins.
func (ts *toolchain) begin(i int, k *Call) {
	returned := false
	defer ts.guard(&returned, false, ts.tools[i], "Begin of ", k.Op)
	k.Value = nil
	ts.tools[i].Begin(k)
	k.values[i], returned = k.Value, true
}

// end tells tool i that k ends.
func (ts *toolchain) end(i int, k *Call, err error) {
	returned := false
	defer ts.guard(&returned, false, ts.tools[i], "End of ", k.Op)
	k.Value = k.values[i]
	ts.tools[i].End(k, err)
	returned = true
}

// guard ends the job if the tool has not returned, as it has panicked or ended its goroutine;
// deferred. It says in which of its methods, and about what. After a panic the goroutine goes on.
// What has ended does not: where the engine stands still meanwhile, as inside says, it would do so
// for ever, and with it other ranks of the process, so nothing is left but to end the process.
func (ts *toolchain) guard(returned *bool, inside bool, t Tool, method, about string) {
	if *returned {
		return
	}
	r := recover()
	said := fmt.Sprintf("panicked in %s%s: %v", method, about, r)
	if r == nil {
		said = fmt.Sprintf("failed in %s%s: %v", method, about, engine.Ended())
	}
	ts.failed.Do(func() {
		text := fmt.Sprintf("rank %d: the tool %T %s", ts.rank, t, said)
		fmt.Fprintf(os.Stderr, "%s\n\n%s", text, debug.Stack())
		ts.panics.Store(&text)
		ts.maybeAbort()
	})
	if inside && r == nil {
		os.Exit(toolExit)
	}
}

// toolExit is the exit code of a rank one of whose tools has failed.
const toolExit = 2

// setAbort says how a panic ends the job, which ends now if a tool has panicked while the rank
// joined.
func (ts *toolchain) setAbort(abort func(code int, message string)) {
	ts.abort.Store(&abort)
	ts.maybeAbort()
}

// maybeAbort ends the job if a tool has panicked and it is known how.
func (ts *toolchain) maybeAbort() {
	abort := ts.abort.Load()
	if abort == nil {
		return
	}
	if text := ts.panics.Swap(nil); text != nil {
		(*abort)(toolExit, *text)
	}
}

// messageObserver tells tools of messages.
type messageObserver struct{ ts *toolchain }

// Message implements engine.Observer.
func (o messageObserver) Message(e engine.MessageEvent) {
	ev := eventOf(o.ts.rank, e)
	for _, t := range o.ts.messages {
		o.ts.message(t, ev)
	}
}

func (ts *toolchain) message(t MessageTool, ev MessageEvent) {
	returned := false
	defer ts.guard(&returned, true, t, "Message", "")
	t.Message(ev)
	returned = true
}

// turnObserver tells tools of turns too.
type turnObserver struct{ messageObserver }

// Turn implements engine.TurnObserver.
func (o turnObserver) Turn(e engine.TurnEvent) {
	ev := turnOf(e)
	for _, t := range o.ts.turns {
		o.ts.turn(t, ev)
	}
}

func (ts *toolchain) turn(t TurnTool, ev TurnEvent) {
	returned := false
	defer ts.guard(&returned, true, t, "Turn", "")
	t.Turn(ev)
	returned = true
}

// MessageEvent is something that happened to a message, at one of its ends, for a [MessageTool].
type MessageEvent struct {
	Kind     MessageKind
	Source   int // world rank of the sender
	Dest     int // of the receiver; one of the two is the rank that is told
	Tag      int // of a collective operation, its number; of a partition, a number that names it
	Context  uint64
	Use      MessageUse
	Bytes    int
	Number   uint64 // the message is that many of all that Source has sent to Dest, from 1: the same at both ends
	Protocol string // "short", "eager" or "rendezvous"; a receiver sees short messages as eager ones

	Unexpected bool  // MessageArrived: no receive waited for it
	Cancelled  bool  // MessageSendDone: by its sender, and no receive has got it
	Err        error // MessageSendDone, MessageReceived: why it failed
}

// MessageKind is what happened to a message.
type MessageKind uint8

// The kinds. The sender hears MessageSent and then MessageSendDone. The receiver hears
// MessageArrived, then MessageMatched, at once if it waits for the message, and MessageReceived; or
// MessageWithdrawn instead of the last two. A message of a rank to itself has all of them. What
// fails in between has no last event. A receive that ends with its context gives its message back:
// then that is as if it had just arrived, and is matched once more, or withdrawn. Where the
// receiver finalizes while the sender withdraws the message, the sender may hear that the receiver
// has left, and the receiver that the message is withdrawn.
const (
	MessageSent      MessageKind = iota // its header is on the way
	MessageSendDone                     // the memory that it was sent from is free; a copy may still be on the way
	MessageArrived                      // its header is here
	MessageMatched                      // a receive has it
	MessageReceived                     // its payload is in the memory of the receive
	MessageWithdrawn                    // before anything matched it its sender has cancelled it, or the collective or communicator that it belongs to has failed
)

// String names the kind, such as "sent".
func (k MessageKind) String() string {
	names := [...]string{"sent", "send done", "arrived", "matched", "received", "withdrawn"}
	if int(k) >= len(names) {
		return fmt.Sprintf("message kind %d", k)
	}
	return names[k]
}

// MessageUse is what a message is for. It says what [MessageEvent]'s Context is.
type MessageUse uint8

// The uses.
const (
	UsePointToPoint MessageUse = iota // Context is the communicator's
	UseCollective                     // Context is the communicator's, or that of both groups of an intercommunicator
	UsePartitioned                    // Context is the communicator's
	UseAgreement                      // of ranks about a new communicator; Context is a number of its own
)

// String names the use, such as "collective".
func (u MessageUse) String() string {
	names := [...]string{"point-to-point", "collective", "partitioned", "agreement"}
	if int(u) >= len(names) {
		return fmt.Sprintf("message use %d", u)
	}
	return names[u]
}

// eventOf translates what the engine of a rank tells.
func eventOf(rank int, e engine.MessageEvent) MessageEvent {
	ev := MessageEvent{
		Kind: messageKinds[e.Kind], Source: int(e.Peer), Dest: rank, Tag: int(e.Tag), Bytes: e.Bytes, Number: e.Number,
		Protocol: e.Protocol.String(), Unexpected: e.Unexpected, Cancelled: e.Cancelled, Err: e.Err,
	}
	if e.Kind == engine.EventSent || e.Kind == engine.EventSendDone {
		ev.Source, ev.Dest = rank, int(e.Peer)
	}
	ev.Context, ev.Use = useOf(e.Ctx)
	return ev
}

var messageKinds = [...]MessageKind{
	engine.EventSent: MessageSent, engine.EventSendDone: MessageSendDone, engine.EventArrived: MessageArrived,
	engine.EventMatched: MessageMatched, engine.EventReceived: MessageReceived, engine.EventWithdrawn: MessageWithdrawn,
}

// useOf is what messages of a context are for, and the communicator's context that goes with it.
func useOf(id engine.ContextID) (context uint64, use MessageUse) {
	switch id & purposes {
	case partitionedPurpose:
		return uint64(id &^ (purposes | collectiveBit)), UsePartitioned
	case groupPurpose, leaderPurpose, textPurpose:
		return uint64(id), UseAgreement
	}
	if id&collectiveBit != 0 {
		return uint64(id &^ collectiveBit), UseCollective
	}
	return uint64(id), UsePointToPoint
}

func turnOf(e engine.TurnEvent) TurnEvent {
	return TurnEvent{Slept: e.Slept, By: e.By.String(), Took: time.Duration(e.End - e.Begin)}
}
