//go:build linux

package netpoll

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// ErrAgain says that the call would block: wait for the event and call again. It is compared with ==.
var ErrAgain = errors.New("netpoll: would block")

// sysError maps the outcomes that callers act on to sentinels and names the call in the others.
func sysError(op string, errno unix.Errno) error {
	switch errno {
	case unix.EAGAIN:
		return ErrAgain
	case unix.EBADF: // closed descriptors are -1 here, so this is never somebody else's descriptor
		return os.ErrClosed
	}
	return os.NewSyscallError(op, errno)
}
