//go:build !fitmpi_portable

package sys

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// hugePage is the size of a huge page, or of several, on the systems that we run on.
const hugePage = 2 << 20

// MapMemory returns n zeroed bytes, n > 0, of memory outside the Go heap that begin on a page. From
// hugePage bytes on they begin on a huge page and the kernel is asked to use such pages; it may
// not. The garbage collector does not look inside: no pointers there. mapping is for UnmapMemory.
func MapMemory(n int) (mem, mapping []byte, err error) {
	extra := 0
	if n >= hugePage {
		extra = hugePage // so that there is an aligned part of n bytes; what is not touched costs nothing
	}
	if n+extra < n {
		return nil, nil, fmt.Errorf("mapping %d bytes: %w", n, unix.ENOMEM)
	}
	mapping, err = unix.Mmap(-1, 0, n+extra, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, nil, fmt.Errorf("mapping %d bytes: %w", n, err)
	}
	if extra == 0 {
		return mapping[:n:n], mapping, nil
	}
	at := offsetAligned(mapping, hugePage)
	mem = mapping[at : at+n : at+n]
	_ = unix.Madvise(mem, unix.MADV_HUGEPAGE) // a kernel without huge pages says no, and that is as good
	return mem, mapping, nil
}

// UnmapMemory gives memory of MapMemory back. A goroutine that touches it afterwards ends the
// process.
func UnmapMemory(mapping []byte) error {
	if err := unix.Munmap(mapping); err != nil {
		return fmt.Errorf("unmapping %d bytes: %w", len(mapping), err)
	}
	return nil
}
