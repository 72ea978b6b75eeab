//go:build linux

package mpi

import (
	"math"
	"os"
	"runtime/debug"
	"sync"
)

// heapFloor is, in bytes, how much garbage a process of a job makes at least between two
// collections. By itself Go collects a heap whenever it has grown from what lives to twice as much,
// but for the first 4 MiB. A rank that keeps little and sends many short messages makes 4 MiB of
// requests and statuses within 600 windows of 64, 4 ms, and a collection of that takes 1 to 5 ms,
// as it shares the rank's core with the caller that sends: it is never far from the next one. See
// docs/decisions/0054.
const heapFloor = 12 << 20

// raiseHeap sees to heapFloor, unless the user has chosen how memory is collected: a memory limit
// would count the ballast. The ballast, which raiseHeap returns and keeps, is memory that no code
// reads or writes. So the system gives no memory for it, and Go counts it as alive.
var raiseHeap = sync.OnceValue(func() (ballast []byte) {
	if os.Getenv("GOGC") == "" && debug.SetMemoryLimit(-1) == math.MaxInt64 {
		ballast = make([]byte, heapFloor)
	}
	return ballast
})
