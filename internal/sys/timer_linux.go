//go:build !fitmpi_portable

package sys

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// TellsTimers says that NextTimer mostly knows.
const TellsTimers = true

const (
	// canary is longer than any timer that is looked for, and no more than the 11 days that the
	// runtime waits at once.
	canary = 10 * 24 * time.Hour
	// LongTimer is more than those that are looked for: see NextTimer.
	LongTimer = canary - 24*time.Hour
	// timerPatience is after how long NextTimer gives up.
	timerPatience = 5 * time.Second
	// pollerEvents is the room for events in the runtime's epoll_pwait. No other caller in the
	// process asks for as many.
	pollerEvents = 128
)

// IsTimerSet reports whether a timer of this process that ends within nine days may run: that of a
// time.AfterFunc, of a deadline of a context or a connection, of a sleep. The runtime does not
// tell. But when nothing else is to be done one of its threads waits for the network until the
// first timer, and the kernel shows its call. So the answer counts only if the goroutines of the
// process all wait, and known is false if the kernel does not show the call.
//
// A timer of our own makes that thread look at all timers anew. Then the thread waits until ours,
// or until another that is earlier. On a machine with much to do it may not get there for a while,
// so IsTimerSet waits for it, usually some milliseconds. If the thread is not there after five
// seconds, IsTimerSet says that a timer may be set.
func IsTimerSet() (set, known bool) {
	until, known := NextTimer()
	return until < LongTimer, known
}

// NextTimer is IsTimerSet, but says when the first of the timers ends: longer than nine days if
// none is set or that is not known, 0 if it cannot be told for now.
func NextTimer() (until time.Duration, known bool) {
	defer time.AfterFunc(canary, func() {}).Stop()
	wait := time.Millisecond
	for end := Nanotime() + int64(timerPatience); Nanotime() < end; {
		pause := unix.NsecToTimespec(wait.Nanoseconds())
		unix.Nanosleep(&pause, nil)             // not time.Sleep, which sets a timer
		wait = min(2*wait, 64*time.Millisecond) // after 20 ms in a call the runtime takes our processor, which may be the only one
		calls := callsOfThreads()
		if len(calls) == 0 {
			return canary, false
		}
		for _, call := range calls {
			if until, ok := timedPoll(call); ok {
				return until, true
			}
		}
	}
	return 0, true
}

// StirPoller lets the thread that waits for the network look at the timers anew, as it may wait for
// one that was stopped.
func StirPoller() {
	r, w, err := os.Pipe()
	if err != nil {
		return // NextTimer sees more timers then
	}
	defer r.Close()
	var read sync.WaitGroup
	read.Go(func() { r.Read(make([]byte, 1)) })
	w.Close() // which the poller tells
	read.Wait()
}

// callsOfThreads is what the threads of the process do, as the kernel shows it: the system call in
// which each sleeps.
func callsOfThreads() (calls []string) {
	names, err := filepath.Glob("/proc/self/task/*/syscall")
	if err != nil {
		return nil
	}
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil { // else a thread that has ended; all fail where the kernel shows none
			calls = append(calls, string(text))
		}
	}
	return calls
}

// timedPoll reports whether a system call, as the kernel shows it, is the runtime's wait for the
// network with an end, and how long it waits at most.
func timedPoll(call string) (until time.Duration, ok bool) {
	f := strings.Fields(call)
	if len(f) < 5 || f[0] != strconv.Itoa(unix.SYS_EPOLL_PWAIT) || f[3] != fmt.Sprintf("%#x", pollerEvents) {
		return 0, false
	}
	millis, err := strconv.ParseUint(strings.TrimPrefix(f[4], "0x"), 16, 64)
	if err != nil || int32(millis) <= 0 {
		return 0, false
	}
	return time.Duration(int32(millis)) * time.Millisecond, true
}
