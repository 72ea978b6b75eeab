//go:build linux && !fitmpi_portable

package netpoll

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// ErrAgain says that the call would block: wait for the event and call again. It is compared with
// ==.
var ErrAgain = errors.New("netpoll: would block")

// sysError maps the outcomes that callers act on to sentinels and names the call in the others.
func sysError(op string, errno unix.Errno) error {
	switch errno {
	case unix.EAGAIN:
		return ErrAgain
	case unix.EBADF: // closed descriptors are -1 here, so this is never a descriptor of another owner
		return os.ErrClosed
	}
	return os.NewSyscallError(op, errno)
}

// IsInUse reports whether an error of [Listen] says that another address or port may do: this one
// is taken, or not for this user.
func IsInUse(err error) bool { return errors.Is(err, unix.EADDRINUSE) || errors.Is(err, unix.EACCES) }

// IsExhausted reports whether an error says that this process, or the system, may have no more
// descriptors open.
func IsExhausted(err error) bool { return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) }

// IsRefused reports whether an error of [Dial] or [Socket.ConnectResult] says that the host is
// there and no process listens.
func IsRefused(err error) bool { return errors.Is(err, unix.ECONNREFUSED) }
