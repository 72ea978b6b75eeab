//go:build linux

package sys

import (
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Hostname is the host's name, "localhost" if it has none.
func Hostname() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "localhost"
	}
	return name
}

// BootID identifies the running kernel: two processes with the same BootID share a machine, though containers may give
// them different host names. It is "" where /proc is hidden.
var BootID = sync.OnceValue(func() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
})

// RaiseNoFile raises this process's limit of open descriptors as far as it may, for children too, and returns it. Failing
// to raise it is not an error, the limit in force is returned.
func RaiseNoFile() (uint64, error) {
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		return 0, os.NewSyscallError("getrlimit", err)
	}
	raised := unix.Rlimit{Cur: lim.Max, Max: lim.Max}
	// Set even when nothing changes: package os raises the limit by itself at start, but puts it back for children
	// unless the program has called Setrlimit.
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &raised); err != nil {
		return lim.Cur, nil
	}
	return raised.Cur, nil
}
