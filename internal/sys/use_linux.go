//go:build !fitmpi_portable

package sys

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Use is what this process uses of the machine.
type Use struct {
	RSS, PeakRSS uint64        // bytes of memory that is there, now and at most; 0 if the system does not tell
	CPU          time.Duration // of all threads, in the program and in the kernel
}

// ProcessUse returns what this process uses now. It takes some tens of microseconds.
func ProcessUse() Use {
	var u Use
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) == nil {
		u.CPU = time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		u.RSS, _ = kibibytes(status, "VmRSS")
		u.PeakRSS, _ = kibibytes(status, "VmHWM")
	}
	return u
}

// kibibytes finds a line such as "VmRSS:	    5372 kB" and returns its number of bytes.
func kibibytes(status []byte, name string) (uint64, error) {
	for line := range bytes.Lines(status) {
		value, ok := bytes.CutPrefix(line, []byte(name+":"))
		if !ok {
			continue
		}
		value, ok = bytes.CutSuffix(bytes.TrimSpace(value), []byte(" kB"))
		n, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 53)
		if err != nil || !ok {
			return 0, fmt.Errorf("%s: malformed line %q", name, line)
		}
		return n << 10, nil
	}
	return 0, fmt.Errorf("no line %s", name)
}
