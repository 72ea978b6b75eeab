package mpi_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain fails the run if something is left of the jobs that the tests ran: goroutines or
// descriptors.
func TestMain(m *testing.M) {
	before := descriptors()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if code == 0 && before >= 0 {
			code = checkDescriptors(before)
		}
		os.Exit(code)
	}))
}

// ofRuntime is how many the runtime's poller has, made on first use: an epoll and an eventfd.
const ofRuntime = 2

func checkDescriptors(before int) int {
	after := descriptors()
	for end := time.Now().Add(20 * time.Second); after > before+ofRuntime && time.Now().Before(end); after = descriptors() {
		time.Sleep(10 * time.Millisecond) // the runtime may close its own late
		runtime.GC()                      // and what dead ranks have left open as garbage
	}
	if after > before+ofRuntime {
		fmt.Fprintf(os.Stderr, "%d descriptors were left open\n", after-before)
		return 1
	}
	return 0
}

// descriptors is the number of open ones, -1 where that cannot be seen.
func descriptors() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	return len(entries)
}
