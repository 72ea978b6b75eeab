//go:build !race

package shm

import "sync/atomic"

// publish stores v behind everything that was stored before. Unlike w.Store it does not wait until
// other threads see that, a wait that takes a tenth of what a short message costs. So what the
// caller loads next may be older than what a thread that sees v stores then. A locked instruction
// in between, such as any other store or the release of a mutex, puts that right.
//
//go:noescape
func publish(w *atomic.Uint64, v uint64)
