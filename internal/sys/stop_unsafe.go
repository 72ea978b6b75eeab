//go:build linux && !fitmpi_portable

package sys

import (
	"encoding/binary"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// StopSignal is the signal that has stopped the child pid, 0 if that is not known. Other callers
// can still wait for the news, and what has exited can still be reaped.
func StopSignal(pid int) syscall.Signal {
	var info unix.Siginfo
	// WNOHANG leaves info as it is if there is no news. Where the parent of the child was told
	// before, there is none.
	if err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WNOWAIT|unix.WNOHANG, nil); err != nil || info.Signo == 0 {
		return 0
	}
	const statusAt = 24 // of si_status, behind si_pid and si_uid, on every machine of 64 bits
	raw := (*[unsafe.Sizeof(info)]byte)(unsafe.Pointer(&info))
	return syscall.Signal(binary.NativeEndian.Uint32(raw[statusAt:]))
}
