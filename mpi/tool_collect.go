package mpi

import (
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
)

const (
	// quietCollections is how many collections in a row must have found nothing that has a function
	// to be started. One is not enough: what a sync.Pool holds becomes garbage in the second.
	quietCollections = 2
	// mostCollections is how many there are at most. Each of a chain of objects with finalizers
	// needs one, and a finalizer that sets itself again is started by every one.
	mostCollections = 16
	// mostLooks is how often, with lookPause between, functions that are to be started are looked
	// for until all have returned. Those that do not return wait, which the list of goroutines
	// shows, and those behind wait for them.
	mostLooks = 100
	lookPause = time.Millisecond
)

// collecting lets the ranks of a process share a collection.
var collecting struct {
	mu    sync.Mutex
	begun int64 // guarded by mu: by sys.Nanotime when the last began; 0 if none has
}

// collectGarbage collects garbage until that has no more functions started (runtime.AddCleanup,
// runtime.SetFinalizer), and those have returned, or wait. It gives the memory back to the system
// at once, because the runtime would do that bit by bit, by a timer, which for seconds or minutes
// could not be told from one of the program's.
func collectGarbage() {
	asked := sys.Nanotime()
	collecting.mu.Lock()
	defer collecting.mu.Unlock()
	if collecting.begun > asked {
		return // it was done for another rank
	}
	collecting.begun = sys.Nanotime()
	before := awaitFunctions()
	for quiet, n := 0, 0; quiet < quietCollections && n < mostCollections; n++ {
		debug.FreeOSMemory()
		now := awaitFunctions()
		if quiet++; now != before {
			quiet = 0
		}
		before = now
	}
}

// awaitFunctions waits until the functions that the garbage collector is to have started have
// returned, and returns functionsOf then. Nothing tells of that, so it looks from time to time.
func awaitFunctions() uint64 {
	for range mostLooks {
		if queued, executed := readFunctions(); queued == executed {
			break
		}
		time.Sleep(lookPause)
	}
	return functionsOf()
}

// functionsOf is telemetry.Report.Functions.
func functionsOf() uint64 {
	queued, executed := readFunctions()
	return queued + executed
}

// readFunctions returns how many functions the garbage collector has got to start so far, and how
// many have returned.
func readFunctions() (queued, executed uint64) {
	counts := [...]metrics.Sample{
		{Name: "/gc/cleanups/executed:cleanups"}, {Name: "/gc/finalizers/executed:finalizers"},
		{Name: "/gc/cleanups/queued:cleanups"}, {Name: "/gc/finalizers/queued:finalizers"},
	}
	metrics.Read(counts[:])
	for i, c := range counts {
		if c.Value.Kind() != metrics.KindUint64 {
			continue // a runtime that does not count them
		}
		if i < 2 {
			executed += c.Value.Uint64()
		} else {
			queued += c.Value.Uint64()
		}
	}
	return queued, executed
}
