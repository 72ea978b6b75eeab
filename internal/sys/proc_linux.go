package sys

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// WaitExit blocks until the child pid has exited, and leaves it to be reaped: until then nobody else can get its pid,
// so its process group can still be signalled safely.
func WaitExit(pid int) error {
	_, err := waitid(pid, unix.WEXITED|unix.WNOWAIT)
	return err
}

// HasExited reports whether the child pid has exited and waits to be reaped. It does not block.
func HasExited(pid int) (bool, error) {
	return waitid(pid, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG)
}

func waitid(pid, options int) (exited bool, err error) {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, options, nil)
		switch {
		case err == nil:
			return info.Signo != 0, nil // waitid(2): left at 0 when WNOHANG found nothing
		case err != unix.EINTR:
			return false, fmt.Errorf("waiting for process %d: %w", pid, err)
		}
	}
}

// AdoptOrphans makes this process the parent of those of its descendants whose own parent dies, instead of init, so
// that Children finds them.
func AdoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("becoming the reaper of orphans: %w", err)
	}
	return nil
}

// Children returns the process ids of the children of this process, zombies included.
func Children() ([]int, error) {
	procs, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("looking for child processes: %w", err)
	}
	self := os.Getpid()
	var kids []int
	for _, p := range procs {
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		if ppid, ok := parentOf(pid); ok && ppid == self {
			kids = append(kids, pid)
		}
	}
	return kids, nil
}

// parentOf reads the parent of pid; false when the process is gone.
func parentOf(pid int) (int, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	// pid (comm) state ppid ...; comm may contain anything, so look for the last parenthesis.
	i := strings.LastIndexByte(string(stat), ')')
	fields := strings.Fields(string(stat[i+1:]))
	if i < 0 || len(fields) < 2 {
		return 0, false
	}
	ppid, err := strconv.Atoi(fields[1])
	return ppid, err == nil
}

// ReapExited reaps the child pid if it has exited. It does not block.
func ReapExited(pid int) error {
	var status syscall.WaitStatus
	_, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
	return err
}
