//go:build linux

package mpi

import (
	"fmt"
	"time"

	"github.com/fitmpi/fitmpi/engine"
)

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
	MessageWithdrawn                    // its sender has cancelled it before anything matched it
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
