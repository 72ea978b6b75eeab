//go:build linux && !fitmpi_portable

package shm

import (
	"math"
	"os"
	"runtime"
	"sync"
	"time"
)

// What ReadsFast measures with.
const (
	speedBytes = 64 << 10
	speedTries = 8
	slowRead   = 4 // times as long as a plain copy is slow
)

// ReadsFast reports whether ReadProcess takes less than four times as long as a plain copy. What it
// costs beyond the copy is the kernel's work for each page, in which processors differ. A page of 4
// KiB takes 0.16 us in all on an Intel Xeon, and took 0.5 to 0.7 on AMD EPYC processors, both under
// hypervisors. It is measured once in a process, with the process's own memory, in 0.1 to 0.2 ms.
// The best of several tries counts, so that tries that lost the core to other threads do not.
var ReadsFast = sync.OnceValue(func() bool {
	return readsFast(func(dst []byte, addr uint64) error {
		_, err := ReadProcess(os.Getpid(), dst, addr)
		return err
	})
})

// readsFast is ReadsFast of read, which copies from an address of this process.
func readsFast(read func(dst []byte, addr uint64) error) bool {
	block := make([]byte, 2*speedBytes) // too large for the stack, which may move
	for i := range block {
		block[i] = 1 // pages that were never written are none
	}
	src, dst := block[:speedBytes], block[speedBytes:]
	reading, plain := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for range speedTries {
		began := time.Now()
		if read(dst, addressOf(src)) != nil {
			return false
		}
		middle := time.Now()
		copy(dst, src)
		reading, plain = min(reading, middle.Sub(began)), min(plain, time.Since(middle))
	}
	runtime.KeepAlive(block)
	return isFast(reading, plain)
}

// isFast compares a read with a plain copy of as much.
func isFast(reading, plain time.Duration) bool { return reading < slowRead*plain }
