//go:build linux

package crew

import (
	"fmt"
	"os/exec"

	"github.com/fitmpi/fitmpi/internal/plain"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// startBound starts cmd on cpus only, or where the caller may run if cpus is nil. The new process
// inherits the affinity of the thread that starts it; there is no moment at which it runs
// elsewhere. Preconditions:
//   - The caller is locked to its thread. Threads that the Go runtime starts meanwhile do not
//     inherit the affinity: it never makes them from a locked one.
func startBound(cmd *exec.Cmd, cpus []int) error {
	if cpus == nil {
		return cmd.Start()
	}
	before, err := sys.ThreadCPUs(0)
	if err == nil {
		err = sys.SetThreadCPUs(0, cpus)
	}
	if err != nil {
		return fmt.Errorf("binding it to %s %s: %w; use --bind-to none", plain.Noun(len(cpus), "core"), sys.FormatCPUs(cpus), err)
	}
	defer sys.SetThreadCPUs(0, before) // they were allowed a moment ago; if not now, starting the next process says so
	return cmd.Start()
}
