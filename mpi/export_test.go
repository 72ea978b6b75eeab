package mpi

import (
	"time"

	"github.com/fitmpi/fitmpi/engine"
)

// transportsHere are the values of FITMPI_TRANSPORT that lead to different transports here.
func transportsHere() []string {
	if !engine.HasSockets {
		return []string{transportAuto}
	}
	return []string{transportAuto, transportTCP}
}

// TransportsHere is transportsHere.
func TransportsHere() []string { return transportsHere() }

// SetThreadsPause makes jobs of thread ranks that begin from now on be watched at another interval,
// until restore is called.
func SetThreadsPause(d time.Duration) (restore func()) {
	before := threadsPause
	threadsPause = d
	return func() { threadsPause = before }
}

// Blocks and Persists report what the form of the call of that name is.
func Blocks(op string) bool { return formOf(op) == blocking }

// Persists is that of persistent calls.
func Persists(op string) bool { return formOf(op) == persistent }
