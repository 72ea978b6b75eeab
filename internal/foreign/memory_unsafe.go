package foreign

import "unsafe"

// bytesOf views the memory of values that have no pointers.
func bytesOf[T any](s []T) []byte {
	var v T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(v)))
}
