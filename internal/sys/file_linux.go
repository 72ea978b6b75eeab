//go:build !fitmpi_portable

package sys

import (
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// LockRange waits until f, as it was opened, has a lock on n bytes from off on, to write or only to
// read. It returns what gives the lock back. The lock keeps out every other caller that locks,
// threads of this process that have opened the file for themselves among them. It does not keep out
// users of the same f. It ends with the process.
func LockRange(f *os.File, off, n int, write bool) (unlock func() error, err error) {
	kind := int16(unix.F_RDLCK)
	if write {
		kind = unix.F_WRLCK
	}
	if err := setLock(f, kind, off, n); err != nil {
		return nil, err
	}
	return func() error { return setLock(f, unix.F_UNLCK, off, n) }, nil
}

func setLock(f *os.File, kind int16, off, n int) error {
	return onFile(f, "lock", func(fd int) error {
		l := unix.Flock_t{Type: kind, Whence: io.SeekStart, Start: int64(off), Len: int64(n)}
		return unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLKW, &l)
	})
}

// Inode is the number of a file in its file system, 0 if that is not known.
func Inode(st os.FileInfo) uint64 {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return s.Ino
	}
	return 0
}

// Allocate makes sure that there is room on the disk for the first n bytes of f, and that f has as
// many.
func Allocate(f *os.File, n int) error {
	return onFile(f, "allocate", func(fd int) error { return unix.Fallocate(fd, 0, 0, int64(n)) })
}

// onFile calls do with the descriptor of f, again after each signal, and says which file an error
// is of.
func onFile(f *os.File, op string, do func(fd int) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		for {
			if failed = do(int(fd)); !errors.Is(failed, unix.EINTR) {
				return
			}
		}
	})
	if err == nil && failed != nil {
		err = &os.PathError{Op: op, Path: f.Name(), Err: failed}
	}
	return err
}
