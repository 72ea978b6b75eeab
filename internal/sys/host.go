package sys

import (
	"os"
	"strconv"
	"strings"
	"sync"
)

// Hostname is the host's name, "localhost" if it has none.
func Hostname() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "localhost"
	}
	return name
}

// BootID identifies the running kernel: two processes with the same BootID share a machine, though
// containers may give them different host names. It is "" where /proc is hidden.
var BootID = sync.OnceValue(func() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
})

// Place is the namespaces in which this process sees the machine, and its user: two processes of
// one BootID and one Place see the same files, processes and networks, and may share memory. It is
// "" where /proc does not tell.
func Place() string {
	var place strings.Builder
	place.WriteString(strconv.Itoa(os.Geteuid()))
	for _, kind := range []string{"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"} {
		space, err := os.Readlink("/proc/self/ns/" + kind)
		if err != nil {
			return ""
		}
		place.WriteString(" " + space)
	}
	return place.String()
}

// Network is the network stack of this process: the running kernel, and the namespace in it.
// Processes of one Network reach each other without leaving it. It is "" where /proc does not tell.
func Network() string {
	space, err := os.Readlink("/proc/self/ns/net")
	if err != nil || BootID() == "" {
		return ""
	}
	return BootID() + " " + space
}

// PIDSpace is the space in which processes are numbered for this one: processes of one BootID and
// one PIDSpace give the same process the same number. It is "" where /proc does not tell, or
// numbers them in another way.
func PIDSpace() string {
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil || BootID() == "" {
		return ""
	}
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return ""
	}
	return space
}
