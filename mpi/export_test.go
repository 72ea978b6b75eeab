//go:build linux

package mpi

import "time"

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
