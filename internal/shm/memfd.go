//go:build linux && !fitmpi_portable

package shm

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// seals keep the length of a memfd what it is.
const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

// createMemfd asks for memory that cannot be executed, which kernels before 6.3 do not know.
func createMemfd(name string) (*os.File, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate(name, flags|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) {
		fd, err = unix.MemfdCreate(name, flags)
	}
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return os.NewFile(uintptr(fd), "memfd:"+name), nil
}

// seal fixes the length of a memfd.
func seal(f *os.File) error {
	_, err := fcntl(f, unix.F_ADD_SEALS, seals)
	return err
}

// checkSeals makes sure that f is a memfd whose length cannot change under us.
func checkSeals(f *os.File) error {
	got, err := fcntl(f, unix.F_GET_SEALS, 0)
	if err != nil {
		return fmt.Errorf("not a memfd: %w", err)
	}
	if got&seals != seals {
		return fmt.Errorf("seals are %#x, want %#x: its length could change under us", got, seals)
	}
	return nil
}

func fcntl(f *os.File, cmd, arg int) (int, error) {
	n, err := unix.FcntlInt(f.Fd(), cmd, arg)
	if err != nil {
		return 0, os.NewSyscallError("fcntl", err)
	}
	return n, nil
}

// mapShared maps the first n bytes of f.
func mapShared(f *os.File, n int) ([]byte, error) {
	mem, err := unix.Mmap(int(f.Fd()), 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	return mem, os.NewSyscallError("mmap", err)
}

// unmap ends a mapping of mapShared's.
func unmap(mem []byte) error { return os.NewSyscallError("munmap", unix.Munmap(mem)) }
