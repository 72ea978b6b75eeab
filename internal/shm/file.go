package shm

import (
	"fmt"
	"os"
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
	if err := seal(f); err != nil {
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
	mem, err := mapShared(f, int(st.Size()))
	if err != nil {
		return nil, fmt.Errorf("mapping %d bytes (see ulimit -v): %w", st.Size(), err)
	}
	return mem, nil
}

// UnmapFile ends a mapping of MapFile's. Preconditions: no goroutine uses the memory any more.
func UnmapFile(mem []byte) error { return unmap(mem) }
