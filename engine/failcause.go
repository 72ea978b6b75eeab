package engine

import (
	"errors"

	"github.com/fitmpi/fitmpi/engine/internal/core"
)

// FailCause is how a peer was found to have failed.
type FailCause uint8

// The causes.
const (
	FailBroken      FailCause = iota // its connection broke, or its shared memory was closed, without a goodbye
	FailReported                     // another process says so: the launcher
	FailSilent                       // nothing was heard of it for too long
	FailUnreachable                  // it could not be connected to
	FailProtocol                     // it sent what it must not send
	numFailCauses
)

// String is fit for a metric label.
func (f FailCause) String() string {
	return [...]string{"broken", "reported", "silent", "unreachable", "protocol"}[f]
}

// reportedError is what another process says of a peer.
type reportedError struct{ err error }

func (e *reportedError) Error() string { return e.err.Error() }
func (e *reportedError) Unwrap() error { return e.err }

func failCauseOf(err error) FailCause {
	if _, ok := errors.AsType[*SilentError](err); ok { // whichever party has said so
		return FailSilent
	}
	if _, ok := errors.AsType[*reportedError](err); ok {
		return FailReported
	}
	if _, ok := errors.AsType[*core.ProtocolError](err); ok {
		return FailProtocol
	}
	if _, ok := errors.AsType[*unreachableError](err); ok {
		return FailUnreachable
	}
	return FailBroken
}
