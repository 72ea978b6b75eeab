package sys

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// timerPause is how long the runtime gets to settle: after 10 ms it takes the processor from a goroutine that is in a
	// system call, and whoever looks after the network then knows the timers of that processor too.
	timerPause = 50 * time.Millisecond
	// pollerEvents is the room for events in the runtime's epoll_pwait. No other caller in the process asks for as many.
	pollerEvents = 128
)

// IsTimerSet reports whether a timer of this process runs: that of a time.AfterFunc, of a deadline of a context or a
// connection, of a sleep. The runtime tells nobody, but when nothing else is to be done one of its threads waits for the
// network until the first timer, and the kernel shows its call. So the answer counts only if the goroutines of the process
// all wait, and known is false if the kernel does not show it. It blocks for 50 ms.
func IsTimerSet() (set, known bool) {
	pause := unix.NsecToTimespec(timerPause.Nanoseconds())
	unix.Nanosleep(&pause, nil) // not time.Sleep, which sets a timer
	calls, err := filepath.Glob("/proc/self/task/*/syscall")
	if err != nil {
		return false, false
	}
	for _, name := range calls {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // a thread that has ended; all fail where the kernel shows none
		}
		known = true
		set = set || isTimedPoll(string(text))
	}
	return set, known
}

// isTimedPoll reports whether a system call, as the kernel shows it, is the runtime's wait for the network with an end.
func isTimedPoll(call string) bool {
	f := strings.Fields(call)
	if len(f) < 5 || f[0] != strconv.Itoa(unix.SYS_EPOLL_PWAIT) || f[3] != fmt.Sprintf("%#x", pollerEvents) {
		return false
	}
	millis, err := strconv.ParseUint(strings.TrimPrefix(f[4], "0x"), 16, 64)
	return err == nil && int32(millis) > 0
}
