// Package cores counts the cores on which a program runs, for what examples say of their speed.
package cores

import (
	"os"
	"runtime"
	"strings"

	"github.com/fitmpi/fitmpi/mpi"
)

// place is where a rank may run.
type place struct {
	Where string // its host, and which cores of it
	Cores int    // how many those are
}

// Of is how many cores the ranks of c have together. A rank that is bound to a core sees that
// one only.
func Of(c *mpi.Comm) (int, error) {
	host, err := os.Hostname()
	if err != nil {
		return 0, err
	}
	all := make([]place, c.Size())
	if err := mpi.Allgather(c, []place{{host + " " + allowed(), runtime.NumCPU()}}, all); err != nil {
		return 0, err
	}
	return together(all), nil
}

// together counts the cores of ranks that have the same ones, or none in common.
func together(all []place) int {
	n, seen := 0, make(map[string]bool)
	for _, p := range all {
		if !seen[p.Where] {
			n += p.Cores
			seen[p.Where] = true
		}
	}
	return n
}

// allowed is the list of cores on which this process may run, "" if the system does not say.
func allowed() string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(status), "Cpus_allowed_list:")
	list, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(list)
}
