//go:build !fitmpi_portable

package sys

import "testing"

func TestMemoryLimit(t *testing.T) {
	for _, test := range []struct {
		name  string
		files map[string]string
		want  uint64
	}{
		{"none", nil, 1000},
		{"no limit", map[string]string{"/proc/self/cgroup": "0::/a\n", "/sys/fs/cgroup/a/memory.max": "max\n"}, 1000},
		{"its own", map[string]string{"/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/b/memory.max": "300\n", "/sys/fs/cgroup/a/memory.max": "max\n"}, 300},
		{"of one above", map[string]string{"/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/b/memory.max": "max\n", "/sys/fs/cgroup/a/memory.max": "400\n"}, 400},
		{"of a container", map[string]string{"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "200\n"}, 200},
		{"version 1", map[string]string{"/proc/self/cgroup": "9:cpu:/c\n4:memory:/a\n", "/sys/fs/cgroup/memory/a/memory.limit_in_bytes": "500\n"}, 500},
		{"more than there is", map[string]string{"/proc/self/cgroup": "4:memory:/\n", "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 1000},
	} {
		if got := memoryLimit(1000, func(name string) string { return test.files[name] }); got != test.want {
			t.Errorf("%s: %d bytes, want %d", test.name, got, test.want)
		}
	}
	if n := MemoryLimit(); n < 16<<20 {
		t.Errorf("this process may use %d bytes", n)
	}
}
