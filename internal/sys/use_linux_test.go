//go:build !fitmpi_portable

package sys

import (
	"runtime"
	"testing"
)

// TestProcessUse: memory that was used and given back stays in the peak, and processor time grows
// with work.
func TestProcessUse(t *testing.T) {
	before := ProcessUse()
	const n = 64 << 20
	mem, mapping, err := MapMemory(n)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < n; i += 4096 {
		mem[i] = 1
	}
	during := ProcessUse()
	if err := UnmapMemory(mapping); err != nil {
		t.Fatal(err)
	}
	after := ProcessUse()
	if before.RSS == 0 || during.RSS < before.RSS+n/2 || after.RSS > during.RSS-n/2 {
		t.Errorf("with %d bytes more: %d, %d, %d bytes", n, before.RSS, during.RSS, after.RSS)
	}
	if after.PeakRSS < during.RSS-n/16 { // the kernel counts by thread, and adds up now and then
		t.Errorf("peak of %d bytes, and there were %d", after.PeakRSS, during.RSS)
	}
	if after.CPU <= before.CPU {
		t.Errorf("%v of processor time, then %v", before.CPU, after.CPU)
	}
	runtime.KeepAlive(mem)
}

func TestKibibytes(t *testing.T) {
	status := []byte("Name:\tVmRSS\nVmHWM:\t     900 kB\nVmRSS:\t   12345 kB\nVmSwap:\t x kB\nVmLck:\t 3 MB\n")
	if n, err := kibibytes(status, "VmRSS"); n != 12345<<10 || err != nil {
		t.Error(n, err)
	}
	for _, name := range []string{"VmSwap", "VmLck", "VmPeak", "Name"} {
		if n, err := kibibytes(status, name); n != 0 || err == nil {
			t.Error(name, n, err)
		}
	}
}
