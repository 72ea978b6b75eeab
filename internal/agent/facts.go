//go:build linux

package agent

import (
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// factsHere are those of this process and its host.
func factsHere() Facts {
	f := Facts{
		Hostname: sys.Hostname(), Arch: runtime.GOARCH, Cores: sys.AllowedCores(), CPUs: sys.AllowedCPUs(),
		BootID: sys.BootID(), Env: os.Environ(), PID: os.Getpid(),
	}
	f.Memory, f.Available = memory()
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		load := strings.Fields(string(b))
		f.Load = strings.Join(load[:min(3, len(load))], " ")
	}
	return f
}

// memory is what /proc/meminfo says, 0 where it says nothing.
func memory() (total, available uint64) {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		n, err := strconv.ParseUint(f[1], 10, 54)
		switch {
		case err != nil:
		case f[0] == "MemTotal:":
			total = n << 10
		case f[0] == "MemAvailable:":
			available = n << 10
		}
	}
	return total, available
}
