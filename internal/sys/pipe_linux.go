//go:build !fitmpi_portable

package sys

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// drainPause is how often AwaitRead looks.
const drainPause = time.Millisecond

// AwaitRead waits until the reader of the pipe f has taken all that was written, but no longer than
// limit. It returns at once if f is no pipe. It is for the final report of this process:
// the launcher, told of the end by another way, then ends the process and stops reading.
func AwaitRead(f *os.File, limit time.Duration) {
	raw, err := f.SyscallConn()
	if err != nil {
		return
	}
	for until := time.Now().Add(limit); time.Now().Before(until); time.Sleep(drainPause) {
		unread := 0
		raw.Control(func(fd uintptr) {
			var st unix.Stat_t
			if unix.Fstat(int(fd), &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO {
				unread, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) // also FIONREAD; 0 after an error
			}
		})
		if unread == 0 {
			return
		}
	}
}
