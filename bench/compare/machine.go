//go:build linux

package main

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// machine is what a reader must know of the machine to judge figures. It has no name: that would
// tell a reader nothing.
type machine struct {
	Cores         int    `json:"cores"`
	CPU           string `json:"cpu"`
	Kernel        string `json:"kernel"`
	Go            string `json:"go"`
	Congestion    string `json:"congestion"`    // default TCP congestion control of the system
	FitCongestion string `json:"fitCongestion"` // what FitMPI asks for here
	OpenMPI       string `json:"openmpi"`
	MPICH         string `json:"mpich"`
	NetPIPE       string `json:"netpipe"`
}

// describe looks at this machine.
func describe(ctx context.Context) machine {
	system := strings.TrimSpace(readFile("/proc/sys/net/ipv4/tcp_congestion_control"))
	return machine{
		Cores: runtime.NumCPU(), CPU: cpuModel(readFile("/proc/cpuinfo")), Kernel: kernelVersion(readFile("/proc/sys/kernel/osrelease")),
		Go: runtime.Version(), Congestion: system,
		FitCongestion: fitCongestion(system, readFile("/proc/sys/net/ipv4/tcp_available_congestion_control"), os.Getenv("FITMPI_CONGESTION")),
		OpenMPI:       packageVersion(ctx, "openmpi-bin"), MPICH: packageVersion(ctx, "mpich"), NetPIPE: packageVersion(ctx, "netpipe-tcp"),
	}
}

// fitCongestion is the congestion control that FitMPI's ranks run under: what is wished,
// by default cubic, if the system has it.
func fitCongestion(system, available, wished string) string {
	wished = cmp.Or(wished, "cubic")
	if wished == "system" || !slices.Contains(strings.Fields(available), wished) {
		return system
	}
	return wished
}

// readFile is the text of a file of the kernel's, empty if there is none.
func readFile(name string) string {
	b, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(b)
}

// cpuModel finds the model in /proc/cpuinfo, which not every architecture names.
func cpuModel(cpuinfo string) string {
	for line := range strings.Lines(cpuinfo) {
		name, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// kernelVersion is the number of a release, without what its builder added.
func kernelVersion(release string) string {
	version, _, _ := strings.Cut(strings.TrimSpace(release), "-")
	return version
}

// packageVersion is the version of a Debian package, empty if it is not installed.
func packageVersion(ctx context.Context, name string) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "dpkg-query", "-W", "-f", "${db:Status-Abbrev}${Version}", name).Output()
	version, isInstalled := strings.CutPrefix(string(out), "ii ")
	if err != nil || !isInstalled {
		return ""
	}
	return strings.TrimSpace(version)
}
