//go:build !amd64 || race

package shm

import "sync/atomic"

// publish is w.Store: other processors have an instruction for it, and the race detector is to see
// it.
func publish(w *atomic.Uint64, v uint64) { w.Store(v) }
