//go:build linux

package launch

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

// sweepOrphans kills and reaps every child of this process but the one excepted, until none is left. With
// sys.AdoptOrphans the children of each killed child come to us in the next round.
func sweepOrphans(except int) {
	for end := time.Now().Add(sweepFor); time.Now().Before(end); time.Sleep(sweepPause) {
		kids, err := sys.Children()
		kids = slices.DeleteFunc(kids, func(pid int) bool { return pid == except })
		if err != nil || len(kids) == 0 {
			return
		}
		for _, pid := range kids {
			syscall.Kill(pid, syscall.SIGKILL) // our unreaped child: the pid is its own
			sys.ReapExited(pid)
		}
	}
}
