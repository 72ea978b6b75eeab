package sys

import "golang.org/x/sys/unix"

// LeaveTerminal gives up the controlling terminal of this process, and of those that it starts from now on, if it has one.
// Its session stays what it is, and so do its process group and with it the terminal's signals. Descriptors of the terminal
// stay usable, by any process group that has given it up. It reports false, and does nothing, if the process leads a session
// with a terminal: that would take it from all of them.
func LeaveTerminal() bool {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err == unix.ENXIO // there is none
	}
	defer unix.Close(fd)
	if sid, err := unix.Getsid(0); err != nil || sid == unix.Getpid() {
		return false
	}
	return unix.IoctlSetInt(fd, unix.TIOCNOTTY, 0) == nil
}
