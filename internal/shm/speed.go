//go:build linux

package shm

import (
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

// ReadsFast reports whether ReadProcess takes less than four times as long as a plain copy. What it costs beyond the copy is the kernel's work for each
// page, in which processors differ: an Intel Xeon takes twice as long as a plain copy, AMD EPYC processors under a hypervisor some eight times.
// It is measured once in a process, with the process's own memory, in less than 0.1 ms; the best of several tries counts, so that others who want the core do not.
var ReadsFast = sync.OnceValue(func() bool {
	block := make([]byte, 2*speedBytes) // too large for the stack, which may move
	for i := range block {
		block[i] = 1 // pages that were never written are none
	}
	src, dst := block[:speedBytes], block[speedBytes:]
	read, plain := time.Duration(1<<62), time.Duration(1<<62)
	for range speedTries {
		began := time.Now()
		if _, err := ReadProcess(os.Getpid(), dst, addressOf(src)); err != nil {
			return false
		}
		middle := time.Now()
		copy(dst, src)
		read, plain = min(read, middle.Sub(began)), min(plain, time.Since(middle))
	}
	runtime.KeepAlive(block)
	return read < slowRead*plain
})
