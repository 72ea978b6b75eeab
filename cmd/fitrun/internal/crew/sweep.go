//go:build linux

package crew

import (
	"slices"
	"syscall"
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
)

const (
	sweepFor   = 2 * time.Second      // then what does not die is left to the kernel
	sweepPause = 1 * time.Millisecond // between rounds
)

// SweepOrphans kills and reaps every child of this process but those excepted, until none is left.
// With sys.AdoptOrphans the children of each killed child come to us in the next round.
func SweepOrphans(except ...int) {
	for end := time.Now().Add(sweepFor); time.Now().Before(end); time.Sleep(sweepPause) {
		kids, err := sys.Children()
		kids = slices.DeleteFunc(kids, func(pid int) bool { return slices.Contains(except, pid) })
		if err != nil || len(kids) == 0 {
			return
		}
		for _, pid := range kids {
			syscall.Kill(pid, syscall.SIGKILL) // our unreaped child: the pid is its own
			sys.ReapExited(pid)
		}
	}
}

// sweepMarked kills every process whose environment holds one of marks, NAME=VALUE each, until none
// is left. It finds those that have left their group and their parents; not those that have cleared
// their environment.
func sweepMarked(marks []string) {
	for end := time.Now().Add(sweepFor); time.Now().Before(end); time.Sleep(sweepPause) {
		pids := sys.ProcessesWith(marks)
		if len(pids) == 0 {
			return
		}
		for _, pid := range pids {
			syscall.Kill(pid, syscall.SIGKILL) // its environment was its own a moment ago
		}
	}
}
