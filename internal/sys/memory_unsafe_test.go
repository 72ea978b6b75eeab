//go:build linux && !fitmpi_portable

package sys

import (
	"errors"
	"math"
	"os"
	"syscall"
	"testing"
	"unsafe"
)

func TestMapMemory(t *testing.T) {
	for _, n := range []int{1, os.Getpagesize(), hugePage - 1, hugePage, 2*hugePage + 1, 8*hugePage + 7} {
		mem, mapping, err := MapMemory(n)
		if err != nil {
			t.Fatal(err)
		}
		align := uintptr(os.Getpagesize())
		if n >= hugePage {
			align = hugePage
		}
		if at := uintptr(unsafe.Pointer(&mem[0])); len(mem) != n || cap(mem) != n || at%align != 0 {
			t.Errorf("%d bytes: %d of %d at %#x", n, len(mem), cap(mem), at)
		}
		if mem[0]|mem[n/2]|mem[n-1] != 0 {
			t.Errorf("%d bytes are not zero", n)
		}
		mem[0], mem[n/2], mem[n-1] = 1, 1, 1
		if err := UnmapMemory(mapping); err != nil {
			t.Error(err)
		}
		if err := UnmapMemory(mapping); err == nil {
			t.Error("unmapped twice")
		}
	}
	for _, n := range []int{math.MaxInt, math.MaxInt - hugePage, 1 << 60} {
		if _, _, err := MapMemory(n); !errors.Is(err, syscall.ENOMEM) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}
