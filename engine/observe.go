package engine

import (
	"github.com/fitmpi/fitmpi/engine/internal/core"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// What an observer sees.
type (
	// Observer sees every message of a rank, in the order in which things happen. It is called with
	// the engine's mutex held: it must be short, must not block and must not call the engine. An
	// Observer that is a TurnObserver too also sees which goroutine drives.
	Observer = core.Observer
	// ScheduleObserver is an Observer that sees schedules as well.
	ScheduleObserver = core.ScheduleObserver
	// MessageEvent is something that happened to a message.
	MessageEvent = core.MessageEvent
	// EventKind is what happened to it.
	EventKind = core.EventKind
	// Protocol is how a message travels.
	Protocol = core.Protocol
)

// The kinds of events, and the protocols.
const (
	EventSent      = core.EventSent
	EventSendDone  = core.EventSendDone
	EventArrived   = core.EventArrived
	EventMatched   = core.EventMatched
	EventReceived  = core.EventReceived
	EventWithdrawn = core.EventWithdrawn

	Short      = core.Short
	Eager      = core.Eager
	Rendezvous = core.Rendezvous
)

// TurnObserver sees turns, in which a goroutine drives, and sleeps. The goroutine that has driven
// or slept calls Turn, without the mutex: the worker, a caller, or a rank of this process that
// delivers here. Turns of one engine follow each other; a sleep may overlap with turns of others.
// It must not call the engine.
type TurnObserver interface {
	Turn(TurnEvent)
}

// TurnEvent is a turn that moved something, or a sleep in the poller.
type TurnEvent struct {
	Slept      bool // else it was a turn
	By         Driver
	Begin, End int64 // by sys.Nanotime
}

// Driver is which goroutine drives.
type Driver uint8

// The drivers. A sleep is the worker's, or a caller's that dozes or, under Caller, drives.
const (
	ByWorker  Driver = iota
	ByCaller         // blocked, or in a send
	ByVisitor        // a thread of this process that has put something for us
)

func (d Driver) String() string { return [...]string{"worker", "caller", "visitor"}[d] }

// turnBegins is the time if an observer wants to know of turns, else 0.
func (e *Engine) turnBegins() int64 {
	if e.turns == nil {
		return 0 // this much is inlined
	}
	return sys.Nanotime()
}

// maybeTurned has the observer see a turn that moved something, and began when turnBegins says.
//
// Preconditions:
//   - the caller holds the progress right.
func (e *Engine) maybeTurned(begin int64) {
	if begin != 0 {
		e.turned(begin)
	}
}

func (e *Engine) turned(begin int64) {
	by := ByCaller
	switch {
	case e.delegated.Load() != nil:
		by = ByVisitor
	case e.drv.byWorker:
		by = ByWorker
	}
	e.turns.Turn(TurnEvent{By: by, Begin: begin, End: sys.Nanotime()})
}

// slept has the observer see a sleep, in the poller's own waiter or in that of the caller that
// dozes.
func (e *Engine) slept(begin int64, own bool) {
	by := ByCaller
	if own && e.cfg.Progress != Caller {
		by = ByWorker
	}
	e.turns.Turn(TurnEvent{Slept: true, By: by, Begin: begin, End: sys.Nanotime()})
}
