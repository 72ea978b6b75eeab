package mpi_test

import (
	"fmt"
	"os"
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

func checkDescriptors(before int) int {
	after := descriptors()
	for end := time.Now().Add(20 * time.Second); after > before && time.Now().Before(end); after = descriptors() {
		time.Sleep(10 * time.Millisecond) // the runtime may close its own late
	}
	if after > before+2 { // the runtime's poller: an epoll and an eventfd, made on first use
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
