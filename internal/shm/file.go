package shm

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// CreateFile makes a memfd of size zero bytes, of which only what is touched takes memory, and
// seals its length. name is for users that look into /proc. The caller closes the file.
func CreateFile(name string, size int64) (*os.File, error) {
	f, err := createMemfd(name)
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(size); err != nil {
		f.Close()
		return nil, fmt.Errorf("memory of %d bytes for %s (see ulimit -f): %w", size, name, err)
	}
	if _, err := fcntl(f, unix.F_ADD_SEALS, seals); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// MapFile maps all of a file of CreateFile's. The mapping outlives f; UnmapFile ends it.
func MapFile(f *os.File) ([]byte, error) {
	if err := checkSeals(f); err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, int(st.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping %d bytes (see ulimit -v): %w", st.Size(), os.NewSyscallError("mmap", err))
	}
	return mem, nil
}

// UnmapFile ends a mapping of MapFile's. Preconditions: no goroutine uses the memory any more.
func UnmapFile(mem []byte) error { return os.NewSyscallError("munmap", unix.Munmap(mem)) }

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
