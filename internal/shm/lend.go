//go:build linux && !fitmpi_portable

package shm

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Borrow opens what another process lends. The kernel lets processes of one user do so (proc(5),
// /proc/pid/fd; Yama has no say in it). The name is looked at before the file is opened, and after:
// in another PID namespace the lender's number means another process, or none, and the number of a
// descriptor may have passed on to another file. The caller closes the file.
func Borrow(l Loan) (*os.File, error) {
	path := "/proc/" + strconv.Itoa(l.PID) + "/fd/" + strconv.Itoa(l.FD)
	if err := l.isAt(path); err != nil {
		return nil, err
	}
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, l.explain(os.NewSyscallError("open", err))
	}
	f := os.NewFile(uintptr(fd), "memfd:"+l.Name)
	if err := l.isAt("/proc/self/fd/" + strconv.Itoa(fd)); err != nil {
		f.Close()
		return nil, err
	}
	if err := checkSeals(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// isAt says what is wrong if the link at path does not lead to the file.
func (l Loan) isAt(path string) error {
	got, err := os.Readlink(path)
	if err != nil {
		return l.explain(err)
	}
	if want := "/memfd:" + l.Name + " (deleted)"; got != want {
		return fmt.Errorf("descriptor %d of process %d here is %q, not %q: the lender has ended, or has another PID namespace", l.FD, l.PID, got, want)
	}
	return nil
}

// explain says what to look at.
func (l Loan) explain(err error) error {
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ESRCH):
		return fmt.Errorf("%w: process %d has ended, or has another PID namespace, or /proc is not there", err, l.PID)
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w: all ranks must run as one user, whose programs may be traced (PR_SET_DUMPABLE: no file capabilities, not set-user-id)", err)
	}
	return err
}
