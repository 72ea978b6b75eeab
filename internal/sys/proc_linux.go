//go:build !fitmpi_portable

package sys

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// WaitExit blocks until the child pid has exited, and leaves it to be reaped. Until then no other
// process can get its pid, so its process group can still be signalled safely.
func WaitExit(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		switch {
		case err == nil:
			return nil
		case err != unix.EINTR:
			return fmt.Errorf("waiting for process %d: %w", pid, err)
		}
	}
}

// AdoptOrphans makes this process the parent of those of its descendants whose own parent dies,
// instead of init, so that Children finds them.
func AdoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("becoming the reaper of orphans: %w", err)
	}
	return nil
}

// ReapExited reaps the child pid if it has exited. It does not block.
func ReapExited(pid int) error {
	var status syscall.WaitStatus
	_, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
	return err
}
