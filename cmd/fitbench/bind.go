//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// bindProcess lets all of this process run on one core only: the one at index rank of
// those that it may use. It comes after Init, which gives each rank the cores and the
// polling that it would have without; a process that starts on one core of its own
// would take the machine for full.
func bindProcess(rank int) error {
	cores := sys.AllowedCPUs()
	if rank >= len(cores) {
		return fmt.Errorf("-bind core: rank %d has no core of its own, this process may use %d: start fewer ranks or leave -bind out",
			rank, len(cores))
	}
	return bindThreads(cores[rank:][:1])
}

// bindThreads binds every thread of this process to cores. A thread inherits the cores
// of the one that starts it, so once a pass over all threads has found none to bind,
// there is none, and never will be.
func bindThreads(cores []int) error {
	for {
		tids, err := threads()
		if err != nil {
			return err
		}
		bound := true
		for _, tid := range tids {
			have, err := sys.ThreadCPUs(tid)
			if err == nil && !slices.Equal(have, cores) {
				bound = false
				err = sys.SetThreadCPUs(tid, cores)
			}
			if err != nil && !errors.Is(err, syscall.ESRCH) { // it has ended
				return fmt.Errorf("-bind core: %w", err)
			}
		}
		if bound {
			return nil
		}
	}
}

// threads are the ids of the threads of this process.
func threads() (tids []int, err error) {
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil, fmt.Errorf("-bind core: %w", err)
	}
	for _, e := range entries {
		tid, err := strconv.Atoi(e.Name())
		if err != nil {
			return nil, fmt.Errorf("-bind core: %w", err)
		}
		tids = append(tids, tid)
	}
	return tids, nil
}
