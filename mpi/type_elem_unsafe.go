package mpi

import (
	"fmt"
	"reflect"
	"unsafe"
)

// typeID is the address of the descriptor of *T, which is unique to the type and never moves. To
// compare two costs a fraction of what it costs to compare interfaces; that of T itself lies one
// load further away.
func typeID[T any]() uintptr {
	t := reflect.TypeOf(any((*T)(nil)))         // TypeFor would look two loads further
	return (*[2]uintptr)(unsafe.Pointer(&t))[1] // a reflect.Type is an interface holding *rtype
}

// bytesOf views the memory of s, in the machine's byte order: len(s) elements of T, none if T has
// no size. The view keeps s's array alive.
//
// Preconditions:
//   - T is plain.
func bytesOf[T any](s []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), uintptr(len(s))*unsafe.Sizeof(zero))
}

// overlap reports whether a and b share memory.
func overlap(a, b []byte) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	x, y := uintptr(unsafe.Pointer(unsafe.SliceData(a))), uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return x < y+uintptr(len(b)) && y < x+uintptr(len(a))
}

// distance is how far the memory of b begins behind that of a; negative: before it.
func distance(b, a []byte) int {
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(a))))
}

// sliceOf views b as elements of T: as many as fit whole, none if T has no size.
//
// Preconditions:
//   - T is plain.
//   - b is aligned for T: it is the start of memory allocated for T, or a whole number of elements
//     into it.
func sliceOf[T any](b []byte) []T {
	var zero T
	size := unsafe.Sizeof(zero)
	if size == 0 || uintptr(len(b)) < size {
		return nil
	}
	p := unsafe.Pointer(unsafe.SliceData(b))
	if uintptr(p)%unsafe.Alignof(zero) != 0 {
		panic(fmt.Sprintf("mpi: a bug in FitMPI: a buffer at %p is not aligned for %T", p, zero))
	}
	return unsafe.Slice((*T)(p), uintptr(len(b))/size)
}

// isAlignedFor reports whether b begins where a T may.
func isAlignedFor[T any](b []byte) bool {
	var zero T
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%unsafe.Alignof(zero) == 0
}

// truth is T's value for true: 1, or true itself.
//
// Preconditions:
//   - T is a truth value or an integer.
func truth[T any]() T {
	var v T
	switch p := unsafe.Pointer(&v); unsafe.Sizeof(v) {
	case 1:
		*(*uint8)(p) = 1
	case 2:
		*(*uint16)(p) = 1
	case 4:
		*(*uint32)(p) = 1
	case 8:
		*(*uint64)(p) = 1
	}
	return v
}

// complexesOf views vs as complex128, if T's underlying type is that; else there are none.
func complexesOf[T Number](vs []T) []complex128 {
	if unsafe.Sizeof(*new(T)) != unsafe.Sizeof(complex128(0)) { // the only number of that size
		return nil
	}
	return unsafe.Slice((*complex128)(unsafe.Pointer(unsafe.SliceData(vs))), len(vs))
}

// stringsOf views vs as strings.
//
// Preconditions:
//   - T's underlying type is string.
func stringsOf[T any](vs []T) []string {
	return unsafe.Slice((*string)(unsafe.Pointer(unsafe.SliceData(vs))), len(vs))
}

// byteSlicesOf views vs as byte slices.
//
// Preconditions:
//   - T's kind is a slice, of elements of kind uint8.
func byteSlicesOf[T any](vs []T) [][]byte {
	return unsafe.Slice((*[]byte)(unsafe.Pointer(unsafe.SliceData(vs))), len(vs))
}
