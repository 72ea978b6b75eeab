//go:build !fitmpi_portable

package sys

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// Limit is a limit that the kernel sets to what a process may have (setrlimit(2)). Processes
// inherit it.
type Limit int

// The limits that a job runs into.
const (
	FileSize     Limit = unix.RLIMIT_FSIZE  // of files and memory files that it makes larger, in bytes
	OpenFiles    Limit = unix.RLIMIT_NOFILE // number of descriptors
	AddressSpace Limit = unix.RLIMIT_AS     // bytes that are mapped, used or not
	Data         Limit = unix.RLIMIT_DATA   // bytes that are mapped to be written
	Processes    Limit = unix.RLIMIT_NPROC  // threads of the user
	CPUTime      Limit = unix.RLIMIT_CPU    // seconds
)

// names are what limits are of, the options of ulimit that set them, and their units.
var names = map[Limit]struct{ of, option, unit string }{
	FileSize: {"the size of files", "-f", " bytes"}, OpenFiles: {"open files", "-n", ""}, AddressSpace: {"address space", "-v", " bytes"},
	Data: {"data", "-d", " bytes"}, Processes: {"processes and threads of the user", "-u", ""}, CPUTime: {"processor time", "-t", " s"},
}

// String says which limit it is, how large it is for this process, and what sets it: "the limit on
// open files is 64 (ulimit -n)".
func (l Limit) String() string {
	n := names[l]
	var lim unix.Rlimit
	if unix.Getrlimit(int(l), &lim) != nil || lim.Cur == unix.RLIM_INFINITY {
		return fmt.Sprintf("there is a limit on %s (ulimit %s)", n.of, n.option)
	}
	return fmt.Sprintf("the limit on %s is %d%s (ulimit %s)", n.of, lim.Cur, n.unit, n.option)
}

// isSet reports whether this process has the limit.
func (l Limit) isSet() bool { return l.IsBelow(unix.RLIM_INFINITY) }

// IsBelow reports whether this process has the limit, and less than so much.
func (l Limit) IsBelow(much uint64) bool {
	var lim unix.Rlimit
	return unix.Getrlimit(int(l), &lim) == nil && lim.Cur < much
}

// ExplainLimit adds to an error of a system call the limit that it may come from, if this process
// has one, and what to do.
func ExplainLimit(err error) error {
	for _, l := range limitsOf(err) {
		if l.isSet() {
			return fmt.Errorf("%w: %v; raise it", err, l)
		}
	}
	return err
}

func limitsOf(err error) []Limit {
	switch {
	case errors.Is(err, syscall.EFBIG):
		return []Limit{FileSize}
	case errors.Is(err, syscall.EMFILE):
		return []Limit{OpenFiles}
	case errors.Is(err, syscall.EAGAIN):
		return []Limit{Processes}
	case errors.Is(err, syscall.ENOMEM):
		return []Limit{AddressSpace, Data}
	default:
		return nil
	}
}

// NoFile is how many descriptors this process may have open, 0 if that is not known. Package os has
// raised it as far as it may.
func NoFile() uint64 {
	var lim unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &lim) != nil {
		return 0
	}
	return uint64(lim.Cur)
}
