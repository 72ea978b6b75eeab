//go:build linux && !fitmpi_portable

package mpi

import (
	"runtime"
	"testing"
)

// TestProcessUse: each figure is there, and grows with what it counts.
func TestProcessUse(t *testing.T) {
	runtime.GC() // or what it has found already is freed, uncounted, while the test runs
	before := processUse()
	garbage := make([]byte, 32<<20)
	held := processUse()
	runtime.KeepAlive(garbage)
	runtime.GC()
	after := processUse()
	if before.RSS == 0 || before.PeakRSS < before.RSS/2 || before.Goroutines == 0 || before.CPU == 0 {
		t.Errorf("something is missing: %+v", before)
	}
	if held.Heap < before.Heap+16<<20 && held.GCs == before.GCs {
		t.Errorf("a heap of %d bytes, then of %d", before.Heap, held.Heap)
	}
	if after.GCs <= before.GCs || after.GCPause <= before.GCPause {
		t.Errorf("%d collections that took %v, then %d that took %v", before.GCs, before.GCPause, after.GCs, after.GCPause)
	}
}
