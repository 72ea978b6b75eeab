//go:build !fitmpi_portable

package sys

import (
	"fmt"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// InNetwork calls f on a thread that is in another network: that of the file, such as
// /run/netns/NAME. Sockets that f opens stay in it, and processes that f starts begin in it. f must
// not leave its goroutine. Tests have hosts by it. It needs root.
func InNetwork(file string, f func() error) error {
	ns, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("entering a network: %w", err)
	}
	defer ns.Close()
	var wg sync.WaitGroup
	wg.Go(func() { err = inNetwork(ns, f) })
	wg.Wait()
	return err
}

// inNetwork goes there and back. A thread that cannot go back ends with the goroutine; all others
// must go back, as the first thread of a process never ends, and stands for the process.
func inNetwork(ns *os.File, f func() error) error {
	runtime.LockOSThread()
	own, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("entering a network: %w", err)
	}
	defer own.Close()
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("entering a network: %w", err)
	}
	err = f()
	if back := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); back != nil {
		return fmt.Errorf("leaving a network: %w", back)
	}
	runtime.UnlockOSThread()
	return err
}
