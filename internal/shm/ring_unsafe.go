package shm

import "unsafe"

// Each layout is what the comment above it promises, or this does not compile.
var (
	_ [lineSize - unsafe.Sizeof(cell{})]byte
	_ [unsafe.Sizeof(cell{}) - lineSize]byte
	_ [lineSize - unsafe.Sizeof(consumed{})]byte
	_ [unsafe.Sizeof(consumed{}) - lineSize]byte
	_ [lineSize - unsafe.Sizeof(waiting{})]byte
	_ [unsafe.Sizeof(waiting{}) - lineSize]byte
)

// Alloc returns n zeroed bytes of Go memory, aligned for a ring.
func Alloc(n int) []byte {
	b := make([]byte, n+apart)
	at := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & (apart - 1))
	return b[at : at+n : at+n]
}

func aligned(b []byte) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))&(lineSize-1) == 0
}

// The parts of a ring. Preconditions: checkMemory(mem) == nil.

func consumedOf(mem []byte) *consumed { return (*consumed)(unsafe.Pointer(&mem[0])) }
func waitingOf(mem []byte) *waiting   { return (*waiting)(unsafe.Pointer(&mem[waitingAt])) }
func cellsOf(mem []byte) *cell        { return (*cell)(unsafe.Pointer(&mem[cellsAt])) }
func dataOf(mem []byte, g geometry) *byte {
	return &mem[cellsAt+g.cells*lineSize]
}

// cellAt is base[i] without a check: i is masked by its caller.
func cellAt(base *cell, i uint64) *cell {
	return (*cell)(unsafe.Add(unsafe.Pointer(base), i*lineSize))
}

// piece is n bytes of the data area from off on. Preconditions: off+n is within the area.
func piece(data *byte, off, n uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(data), off)), n)
}

// putHead copies a to the beginning of dst. For 32 to 56 bytes two moves of 32, which
// may overlap, cost less than the call of memmove. Preconditions: len(a) <= len(dst).
func putHead(dst *[Inline]byte, a []byte) {
	if n := len(a); n >= 32 {
		from := unsafe.Pointer(unsafe.SliceData(a))
		*(*[32]byte)(unsafe.Pointer(dst)) = *(*[32]byte)(from)
		*(*[32]byte)(unsafe.Add(unsafe.Pointer(dst), n-32)) = *(*[32]byte)(unsafe.Add(from, n-32))
		return
	}
	copy(dst[:], a)
}

// CopyShort copies src, of which mostly there are 8 to 32 bytes, to the beginning of dst: then
// without a call. Preconditions: len(src) <= len(dst).
func CopyShort(dst, src []byte) {
	n := len(src)
	if n < 8 || n > 32 {
		copy(dst, src)
		return
	}
	copyMoves(unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(src)), n)
}

// copyMoves copies n bytes by two moves, which may overlap. Preconditions: 8 <= n <= 32.
func copyMoves(to, from unsafe.Pointer, n int) {
	if n <= 16 {
		*(*[8]byte)(to) = *(*[8]byte)(from)
		*(*[8]byte)(unsafe.Add(to, n-8)) = *(*[8]byte)(unsafe.Add(from, n-8))
		return
	}
	*(*[16]byte)(to) = *(*[16]byte)(from)
	*(*[16]byte)(unsafe.Add(to, n-16)) = *(*[16]byte)(unsafe.Add(from, n-16))
}

// putTail copies b behind the first at bytes of dst; payloads of 8 to 32 bytes likewise without a
// call. Preconditions: at+len(b) <= len(dst).
func putTail(dst *[Inline]byte, at int, b []byte) {
	n := len(b)
	switch {
	case n == 0:
	case n < 8 || n > 32:
		copy(dst[at:], b)
	default:
		copyMoves(unsafe.Add(unsafe.Pointer(dst), at), unsafe.Pointer(unsafe.SliceData(b)), n)
	}
}
