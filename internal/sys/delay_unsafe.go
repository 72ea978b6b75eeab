//go:build linux && !fitmpi_portable

package sys

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ThreadDelay tells for how long a thread that was ready to run has waited for a processor.
type ThreadDelay struct {
	file *os.File
	text [96]byte
}

// errNoDelay says that the kernel keeps no account (CONFIG_SCHED_INFO).
var errNoDelay = errors.New("the kernel does not say how long a thread waits for a processor")

// NewThreadDelay is for the calling thread, which must be locked to its goroutine. Close it.
func NewThreadDelay() (*ThreadDelay, error) {
	f, err := os.Open(fmt.Sprintf("/proc/self/task/%d/schedstat", unix.Gettid()))
	if err != nil {
		return nil, err
	}
	d := &ThreadDelay{file: f}
	if _, runs, err := d.read(); err != nil || runs == 0 {
		return nil, errors.Join(cmp.Or(err, errNoDelay), f.Close())
	}
	return d, nil
}

// Total is the whole time since the thread began. It keeps the P.
func (d *ThreadDelay) Total() (time.Duration, error) {
	total, _, err := d.read()
	return total, err
}

// read also says how often the thread has begun to run.
func (d *ThreadDelay) read() (total time.Duration, runs uint64, err error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_PREAD64, d.file.Fd(), uintptr(unsafe.Pointer(&d.text)), uintptr(len(d.text)), 0, 0, 0)
	if errno != 0 {
		return 0, 0, os.NewSyscallError("pread", errno)
	}
	_, rest, _ := bytes.Cut(d.text[:n], []byte(" "))
	delay, last, _ := bytes.Cut(rest, []byte(" "))
	ns, err := strconv.ParseUint(string(delay), 10, 63)
	if err == nil {
		runs, err = strconv.ParseUint(string(bytes.TrimSpace(last)), 10, 64)
	}
	return time.Duration(ns), runs, err
}

// Close ends it.
func (d *ThreadDelay) Close() error { return d.file.Close() }
