//go:build linux

package mpi

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// processUse is what this process uses.
func processUse() telemetry.Process {
	use := sys.ProcessUse()
	p := telemetry.Process{RSS: use.RSS, PeakRSS: use.PeakRSS, CPU: use.CPU, Goroutines: runtime.NumGoroutine()}
	heap := [1]metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	if metrics.Read(heap[:]); heap[0].Value.Kind() == metrics.KindUint64 {
		p.Heap = heap[0].Value.Uint64()
	}
	var gc debug.GCStats
	debug.ReadGCStats(&gc)
	p.GCs, p.GCPause = uint64(gc.NumGC), gc.PauseTotal
	return p
}
