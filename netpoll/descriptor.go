//go:build linux && !fitmpi_portable

package netpoll

import (
	"os"
	"runtime"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// descriptor owns one file descriptor. It is embedded by value in the type that uses it, and the
// cleanup hangs on that whole object: an object that becomes unreachable unclosed gets its
// descriptor closed by the garbage collector. That is a backstop, not a way to close things; tests
// fail when it fires.
type descriptor struct {
	raw     int // -1 once closed
	cleanup runtime.Cleanup
}

// onLeak, set by TestMain before anything is opened, hears of descriptors that the backstop closed.
var onLeak func(kind string, creator []byte)

type leak struct {
	raw     int
	kind    string
	creator []byte // stack of the opening goroutine; nil unless onLeak is set
}

// open takes ownership of raw.
func (d *descriptor) open(raw int, kind string) {
	l := leak{raw: raw, kind: kind}
	if onLeak != nil {
		l.creator = debug.Stack()
	}
	d.raw = raw
	d.cleanup = runtime.AddCleanup(d, func(l leak) {
		unix.Close(l.raw)
		if onLeak != nil {
			onLeak(l.kind, l.creator)
		}
	}, l)
}

// close is idempotent.
func (d *descriptor) close() error {
	if d.raw < 0 {
		return nil
	}
	raw := d.raw
	d.raw = -1
	d.cleanup.Stop()
	// Not retried on EINTR: Linux has released the descriptor by then, and its number may already
	// be another descriptor's.
	if err := unix.Close(raw); err != nil && err != unix.EINTR {
		return os.NewSyscallError("close", err)
	}
	return nil
}
