//go:build linux && !fitmpi_portable

package netpoll

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Bell is an eventfd that processes of one host share: one rings, the other's poller hears it. It
// is a blocking one: the mode would be every holder's, and the process that hears it silences it
// only when its poller says that it was rung.
type Bell struct {
	mu sync.Mutex // guards against using a descriptor that Close has closed
	fd descriptor // guarded by mu; only the raw number is read without, by the poller's owner
}

// NewBell makes a bell of the eventfd f, of which it keeps a duplicate; f stays its owner's.
func NewBell(f *os.File) (*Bell, error) {
	c, err := f.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("bell: %w", err)
	}
	raw := -1
	var dupErr error
	if err := c.Control(func(fd uintptr) {
		raw, dupErr = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 3)
	}); err != nil {
		return nil, fmt.Errorf("bell: %w", err)
	}
	if dupErr != nil {
		return nil, os.NewSyscallError("fcntl", dupErr)
	}
	b := &Bell{}
	b.fd.open(raw, "bell")
	return b, nil
}

// Ring makes the bell's hearer find it readable. What happened before Ring is to be published by
// the caller's own means: another process sees no memory of ours but what it shares. Any goroutine
// may call it, also beside Close.
func (b *Bell) Ring() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fd.raw < 0 {
		return os.ErrClosed
	}
	return ringEvent(b.fd.raw)
}

// Silence ends what was rung so far: the poller reports the bell again when it is rung again.
//
// Preconditions:
//   - the poller has reported it, and it has not been silenced since.
func (b *Bell) Silence() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fd.raw < 0 {
		return os.ErrClosed
	}
	return drainEvent(b.fd.raw)
}

// Close gives the descriptor back. It is idempotent.
func (b *Bell) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fd.close()
}

// AddBell reports b as readable under token when it has been rung, until it is silenced. Closing b
// removes it.
func (p *Poller) AddBell(b *Bell, token uint64) error {
	return p.control(unix.EPOLL_CTL_ADD, b.fd.raw, unix.EPOLLIN, token)
}
