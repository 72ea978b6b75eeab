//go:build !fitmpi_portable

package secure

import (
	"os"
	"syscall"
)

// Constants of statfs(2).
const (
	magicTmpfs   = 0x01021994
	flagReadOnly = 0x1 // ST_RDONLY
)

// isPrivateMount reports whether f lies on a read-only tmpfs, as the secrets of a pod do.
func isPrivateMount(f *os.File) bool {
	var st syscall.Statfs_t
	if err := syscall.Fstatfs(int(f.Fd()), &st); err != nil {
		return false
	}
	return int64(st.Type) == magicTmpfs && st.Flags&flagReadOnly != 0
}
