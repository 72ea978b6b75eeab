//go:build linux

package main

import (
	"syscall"
	"unsafe"
)

// machineTime is CLOCK_MONOTONIC in nanoseconds: unlike now, the same in every process
// of this machine. It is a system call, of some 0.1 us.
func machineTime() (int64, error) {
	const clockMonotonic = 1 // include/uapi/linux/time.h
	var t syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&t)), 0)
	if errno != 0 {
		return 0, errno
	}
	return t.Nano(), nil
}
