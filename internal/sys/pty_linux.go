//go:build !fitmpi_portable

package sys

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// OpenPty makes a terminal: what is written to the one end comes out of the other, the way a user
// sees it. Tests look at programs through it.
func OpenPty() (user, program *os.File, err error) {
	m, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("making a terminal: %w", err)
	}
	user = os.NewFile(uintptr(m), "/dev/ptmx")
	n, err := unix.IoctlGetInt(m, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(m, unix.TIOCSPTLCK, 0) // unlocks it
	}
	if err == nil {
		program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		user.Close()
		return nil, nil, fmt.Errorf("making a terminal: %w", err)
	}
	return user, program, nil
}

// SetTerminalSize changes the size of the terminal fd, and tells the processes that it controls.
func SetTerminalSize(fd, columns, rows int) error {
	size := unix.Winsize{Col: uint16(columns), Row: uint16(rows)}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &size); err != nil {
		return fmt.Errorf("changing the size of a terminal: %w", err)
	}
	return nil
}
