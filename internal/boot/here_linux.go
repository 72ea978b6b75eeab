//go:build !fitmpi_portable

package boot

import (
	"os"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// here is the place of this process.
func here() place {
	host := sys.Hostname()
	p := place{Host: clip(host, maxValue), Machine: sys.BootID(), PID: os.Getpid()}
	if p.Machine == "" {
		p.Machine = "host " + host
	}
	if net, err := os.Readlink("/proc/self/ns/net"); err == nil {
		p.Net = net
	}
	if cpus := sys.FormatCPUs(sys.AllowedCPUs()); len(cpus) <= maxBound {
		p.CPUs = cpus
	}
	return p
}
