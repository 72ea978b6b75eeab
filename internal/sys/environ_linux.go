//go:build !fitmpi_portable

package sys

import (
	"bytes"
	"os"
	"strconv"
)

// ProcessesWith returns the processes, but for this one, whose environment held one of variables,
// NAME=VALUE each, when they were started, as far as we may look. Those that have exited are not
// among them.
func ProcessesWith(variables []string) []int {
	procs, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var found []int
	for _, p := range procs {
		pid, err := strconv.Atoi(p.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		environ, err := os.ReadFile("/proc/" + p.Name() + "/environ") // empty for a zombie
		if err != nil {
			continue
		}
		for _, v := range variables {
			if bytes.HasPrefix(environ, []byte(v+"\x00")) || bytes.Contains(environ, []byte("\x00"+v+"\x00")) {
				found = append(found, pid)
				break
			}
		}
	}
	return found
}
