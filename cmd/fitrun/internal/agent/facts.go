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
	mark := sys.Mark() // before it looks for those of others: of two one sees the other
	return Facts{
		Hostname: sys.Hostname(), Arch: runtime.GOARCH, Cores: sys.AllowedCores(), CPUs: sys.AllowedCPUs(), Use: UseHere(),
		BootID: sys.BootID(), Place: sys.Place(), Mark: mark, Marks: sys.Marks(), Home: os.Getenv("HOME"), Env: os.Environ(), PID: os.Getpid(),
	}
}

// UseHere is how busy this host is now.
func UseHere() (u Use) {
	u.Memory, u.Available = memory()
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		load := strings.Fields(string(b))
		u.Load = strings.Join(load[:min(3, len(load))], " ")
	}
	return u
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
