package hosts

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Allocation is what a resource manager has given to the job script that fitrun runs in.
type Allocation struct {
	Manager string // "Slurm" or "PBS"
	Source  string // the variable that named the hosts
	Hosts   []Host // each with its slots
}

// Allocated returns the hosts that Slurm or PBS has allocated, as the environment says
// (SLURM_JOB_NODELIST, PBS_NODEFILE), or nil outside of an allocation. open opens the file that PBS
// names.
func Allocated(getenv func(string) string, open func(string) (io.ReadCloser, error)) (*Allocation, error) {
	for _, name := range []string{"SLURM_JOB_NODELIST", "SLURM_NODELIST"} {
		if list := getenv(name); list != "" {
			hosts, err := fromSlurm(name, list, getenv)
			return &Allocation{"Slurm", name, hosts}, err
		}
	}
	name := getenv("PBS_NODEFILE")
	if name == "" {
		return nil, nil
	}
	f, err := open(name)
	if err != nil {
		return nil, fmt.Errorf("PBS_NODEFILE=%s: %w", name, err)
	}
	defer f.Close()
	hosts, err := fromPBS(name, f)
	return &Allocation{"PBS", "PBS_NODEFILE", hosts}, err
}

// fromSlurm reads a list of nodes and, by node, the tasks that Slurm was asked for, else the
// processors it has given.
func fromSlurm(name, list string, getenv func(string) string) ([]Host, error) {
	hosts, err := Parse(list)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, counts := range []string{"SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE"} {
		value := getenv(counts)
		if value == "" {
			continue
		}
		slots, err := expandCounts(value, len(hosts))
		if err != nil {
			return nil, fmt.Errorf("%s=%s: %w", counts, value, err)
		}
		for i := range hosts {
			hosts[i].Slots = slots[i]
		}
		break
	}
	return hosts, nil
}

// expandCounts reads Slurm's counts by node, such as 4(x3),2, of which there must be n.
func expandCounts(s string, n int) ([]int, error) {
	var counts []int
	for item := range strings.SplitSeq(s, ",") {
		value, times, repeated := strings.Cut(item, "(x")
		k := 1
		if repeated {
			var err error
			if k, err = strconv.Atoi(strings.TrimSuffix(times, ")")); err != nil || !strings.HasSuffix(times, ")") {
				return nil, fmt.Errorf("%q: want COUNT or COUNT(xTIMES)", item)
			}
		}
		count, err := parseSlots(value)
		if err != nil {
			return nil, err
		}
		if k < 1 || k > n-len(counts) {
			return nil, fmt.Errorf("counts for more than the %d nodes of the list", n)
		}
		for range k {
			counts = append(counts, count)
		}
	}
	if len(counts) < n {
		return nil, fmt.Errorf("counts for %d nodes, and the list has %d", len(counts), n)
	}
	return counts, nil
}

// fromPBS reads a node file: a line for each slot.
func fromPBS(name string, r io.Reader) ([]Host, error) {
	hosts, err := ReadFile(name, r)
	for i := range hosts {
		hosts[i].Slots = max(hosts[i].Slots, 1)
	}
	return hosts, err
}
