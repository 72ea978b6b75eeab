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
