//go:build !fitmpi_portable

package sys

import (
	"os"

	"golang.org/x/sys/unix"
)

// NewEventFD makes an eventfd that is to be handed to other processes. It blocks, and no process
// may set O_NONBLOCK. That flag belongs to the open file that all of them share. os.NewFile
// registers a descriptor that has it with the Go runtime's poller, which then wakes a thread in
// every process at every write. Blocking costs nothing here: a write of 1 never waits, and its only
// reader reads when epoll has said that there is something.
func NewEventFD() (*os.File, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("eventfd", err)
	}
	return os.NewFile(uintptr(fd), "eventfd"), nil
}
