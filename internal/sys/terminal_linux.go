//go:build !fitmpi_portable

package sys

import "golang.org/x/sys/unix"

// LeaveTerminal gives up the controlling terminal of this process, and of those that it starts from
// now on, if it has one. Its session stays what it is, and so do its process group and with it the
// terminal's signals. Descriptors of the terminal stay usable, by any process group that has given
// it up. It reports false, and does nothing, if the process leads a session with a terminal: that
// would take it from all of them.
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

// TerminalWidth is how many columns the terminal has whose descriptor fd is; 80 if it does not
// know. It reports false if fd is no terminal.
func TerminalWidth(fd int) (int, bool) {
	size, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
	switch {
	case err != nil:
		return 0, false
	case size.Col == 0:
		return 80, true
	}
	return int(size.Col), true
}

// InForeground reports whether a shell has given the terminal fd to the process group of this
// process. A group that was sent to the background should not draw there. On a terminal that does
// not control our session every process may draw.
func InForeground(fd int) bool {
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}
