//go:build !fitmpi_portable

package sys

import (
	"testing"

	"golang.org/x/sys/unix"
)

// A child must not inherit an eventfd, and the Go runtime must not poll it.
func TestEventFDFlags(t *testing.T) {
	f, err := NewEventFD()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("descriptor flags %#x, %v; want close-on-exec", flags, err)
	}
	if flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0); err != nil || flags&unix.O_NONBLOCK != 0 {
		t.Errorf("file flags %#x, %v; want a blocking file", flags, err)
	}
}
