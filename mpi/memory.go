//go:build linux

package mpi

import (
	"math"
	"sync"

	"github.com/fitmpi/fitmpi/internal/sys"
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
