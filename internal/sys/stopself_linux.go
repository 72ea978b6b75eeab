//go:build !fitmpi_portable

package sys

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// StopSelf stops this process as SIGSTOP does, and returns when it goes on. The signal is sent to
// the calling thread: sent to the process, another thread could take it, after this one has
// returned.
func StopSelf() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGSTOP) // to oneself it cannot fail
}
