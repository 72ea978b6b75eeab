//go:build !fitmpi_portable

package sys

import (
	"os"
	"path"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// MemoryLimit is how many bytes of memory this process may use together with those that share its
// limit: the machine's, or what its control group allows, whichever is less. It is 0 if neither can
// be found out.
var MemoryLimit = sync.OnceValue(func() uint64 {
	var info unix.Sysinfo_t
	total := uint64(0)
	if unix.Sysinfo(&info) == nil {
		total = uint64(info.Totalram) * uint64(info.Unit)
	}
	return memoryLimit(total, func(name string) string {
		b, _ := os.ReadFile(name) // what is not there sets no limit
		return string(b)
	})
})

// memoryLimit is the least of total and what the files of control groups say, of version 2 or 1.
// read returns a file's content, "" if there is none.
func memoryLimit(total uint64, read func(name string) string) uint64 {
	least := total
	for line := range strings.Lines(read("/proc/self/cgroup")) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) < 3 {
			continue
		}
		root, name := "/sys/fs/cgroup", "memory.max"
		if f[0] != "0" {
			if root, name = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"; f[1] != "memory" {
				continue
			}
		}
		for dir := path.Clean("/" + f[2]); ; dir = path.Dir(dir) { // the limits of those above count too
			n, err := strconv.ParseUint(strings.TrimSpace(read(path.Join(root, dir, name))), 10, 64)
			if err == nil && n > 0 && (least == 0 || n < least) {
				least = n
			}
			if dir == "/" {
				break
			}
		}
	}
	return least
}
