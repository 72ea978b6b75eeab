//go:build linux

package mpi

import (
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"

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
	panics atomic.Pointer[string]                         // what is to be said of a panic, until abort has taken it
	failed atomic.Bool                                    // a tool has panicked: the job is ending
	leave  func()                                         // forgets the chain, once
}

// attachTools makes the tools of a rank, whose checker may be nil; nil if it has none. Whoever gets a chain calls its leave in the end.
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
	toldJobs.Add(1)
	ts.leave = sync.OnceFunc(func() { toldJobs.Add(-1) })
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

// observer is what the engine tells, nil if nobody wants to know.
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
	defer ts.guard(ts.tools[i], "Begin of ", k.Op)
	k.Value = nil
	ts.tools[i].Begin(k)
	k.values[i] = k.Value
}

// end tells tool i that k ends.
func (ts *toolchain) end(i int, k *Call, err error) {
	defer ts.guard(ts.tools[i], "End of ", k.Op)
	k.Value = k.values[i]
	ts.tools[i].End(k, err)
}

// guard ends the job if the tool panics; deferred. It says in which of its methods, and about what.
func (ts *toolchain) guard(t Tool, method, about string) {
	r := recover()
	if r == nil || ts.failed.Swap(true) {
		return
	}
	text := fmt.Sprintf("rank %d: the tool %T panicked in %s%s: %v", ts.rank, t, method, about, r)
	fmt.Fprintf(os.Stderr, "%s\n\n%s", text, debug.Stack())
	ts.panics.Store(&text)
	ts.maybeAbort()
}

// setAbort says how a panic ends the job, which ends now if a tool has panicked while the rank joined.
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
		(*abort)(2, *text)
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
	defer ts.guard(t, "Message", "")
	t.Message(ev)
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
	defer ts.guard(t, "Turn", "")
	t.Turn(ev)
}
