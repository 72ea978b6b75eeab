//go:build !fitmpi_portable

package sys

import (
	"time"

	"golang.org/x/sys/unix"
)

// Pauser waits without a timer of the runtime's, which IsTimerSet would see.
type Pauser struct {
	fd int // an eventfd: End has been called if it can be read; immutable
}

// NewPauser makes one. Close it.
func NewPauser() (*Pauser, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, err
	}
	return &Pauser{fd}, nil
}

// Pause waits for d, in a system call, and reports whether End was called, which ends it sooner.
func (p *Pauser) Pause(d time.Duration) (ended bool) {
	for until := Nanotime() + int64(d); ; {
		left := max(time.Duration(until-Nanotime()), 0)
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}, int((left+time.Millisecond-1)/time.Millisecond))
		if err != unix.EINTR {
			return n > 0 || err != nil
		}
	}
}

// End ends this Pause and all that follow. It may be called by any goroutine, before Close.
func (p *Pauser) End() { unix.Write(p.fd, []byte{1, 0, 0, 0, 0, 0, 0, 0}) } // it fails if that is what the eventfd holds already

// Close gives the descriptor back.
//
// Preconditions:
//   - no goroutine is in Pause or End.
func (p *Pauser) Close() error { return unix.Close(p.fd) }
