package mpi

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"

	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// allocated are the blocks of AllocMem that FreeMem has not freed, of all ranks of this process, by
// their first byte.
var allocated = struct {
	mu       sync.Mutex
	mappings map[*byte][]byte // guarded by mu
}{mappings: make(map[*byte][]byte)}

// AllocMem returns n zeroed elements in memory of their own, outside the Go heap. The memory begins
// on a page and, from 2 MB on, on a huge page, which the kernel is asked to use (MPI 4.1, section
// 9.2). T must be plain, without pointers: the garbage collector does not look there. Free the
// memory with FreeMem: nothing else frees it. A negative n is an error of class [ErrArg], another T
// one of [ErrType], and if there is no memory it is of class [ErrNoMem].
//
// It is rarely needed: every operation takes any slice, and memory of make is as good for messages.
// What it buys is fewer misses of the address cache in large arrays, and a heap that is not larger
// for them.
func AllocMem[T any](n int) ([]T, error) {
	const op = "AllocMem"
	e := elemOf[T]()
	switch {
	case e.err != nil:
		return nil, opError(ErrType, op, e.err)
	case !e.plain:
		return nil, opErrorf(ErrType, op, "type %s has pointers, which the garbage collector would not see there: use make", e.name)
	case n < 0:
		return nil, opErrorf(ErrArg, op, "%d elements: need 0 or more", n)
	case n == 0 || e.size == 0:
		return make([]T, n), nil
	case n > math.MaxInt/e.size:
		return nil, opErrorf(ErrNoMem, op, "%d elements of %d bytes are more than the memory of any machine", n, e.size)
	}
	mem, mapping, err := sys.MapMemory(n * e.size)
	if err != nil {
		return nil, opError(ErrNoMem, op, err)
	}
	allocated.mu.Lock()
	defer allocated.mu.Unlock()
	allocated.mappings[&mem[0]] = mapping
	return sliceOf[T](mem), nil
}

// FreeMem gives memory of AllocMem back (MPI 4.1, section 9.2): mem must begin where that began.
// After it no goroutine may touch the memory: that would end the process. Memory that is not of
// AllocMem, or was freed, is an error of class [ErrBase]. A slice without memory is freed by doing
// nothing.
func FreeMem[T any](mem []T) error {
	const op = "FreeMem"
	if e := elemOf[T](); cap(mem) == 0 || e.size == 0 {
		return nil
	}
	if !elemOf[T]().plain {
		return opErrorf(ErrBase, op, "memory of %s is not of AllocMem", elemOf[T]().name)
	}
	first := &bytesOf(mem[:1])[0]
	allocated.mu.Lock()
	mapping, ok := allocated.mappings[first]
	delete(allocated.mappings, first)
	allocated.mu.Unlock()
	if !ok {
		return opErrorf(ErrBase, op, "the memory at %p is not of AllocMem, or was freed", first)
	}
	if err := sys.UnmapMemory(mapping); err != nil {
		return opError(ErrBase, op, err)
	}
	return nil
}

// heapFloor is, in bytes, how much garbage a process of a job makes at least between two
// collections. By itself Go collects a heap whenever it has grown from what lives to twice as much,
// but for the first 4 MiB. A rank that keeps little and sends many short messages makes 4 MiB of
// requests and statuses within 600 windows of 64, 4 ms. A collection of that takes 1 to 5 ms, as it
// shares the rank's core with the caller that sends. So it is never far from the next one. See
// docs/decisions/0048.
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
