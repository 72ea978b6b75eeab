package boot

import (
	"fmt"
	"slices"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// place is where a process runs.
type place struct {
	Host    string `json:"host"`    // its name, for people
	Machine string `json:"machine"` // equal for processes of one running kernel
	Net     string `json:"net"`     // its network: equal for those of a machine that share the loopback interface
	CPUs    string `json:"cpus"`    // processors that it may run on, as sys.FormatCPUs puts them; "" if it does not know
	PID     int    `json:"pid"`
}

// check says what is wrong with the place of another process.
func (p *place) check() error {
	if len(p.Host) > maxValue || len(p.Machine) > maxValue || len(p.Net) > maxValue || len(p.CPUs) > maxBound {
		return fmt.Errorf("a place with names of %d, %d and %d bytes and a list of processors of %d; at most %d and %d are allowed",
			len(p.Host), len(p.Machine), len(p.Net), len(p.CPUs), maxValue, maxBound)
	}
	_, err := sys.ParseCPUs(p.CPUs)
	return err
}

// arrange says to each rank what its place means for it among all: its local rank, its cores,
// whether there are other hosts. Ranks of a host are numbered in the order of their ranks in the
// job.
func arrange(places []place) []Info {
	infos := make([]Info, len(places))
	hosts := hostsOf(places)
	for _, ranks := range hosts {
		for local, r := range ranks {
			info := &infos[r]
			info.Rank, info.Size = r, len(places)
			info.LocalRank, info.LocalSize = local, len(ranks)
			info.Process, info.ProcessRanks = local, 1
			info.Host = places[r].Host
			info.Net.Remote = len(hosts) > 1
			info.local = slices.Clone(ranks)
			info.Cores, info.Bound = coresOf(places, ranks, r)
		}
	}
	return infos
}

// hostsOf lists the ranks of each host, in the order of their first ranks. Containers of one
// machine with networks of their own are hosts of their own, as nothing is known of how they share
// it.
func hostsOf(places []place) [][]int {
	type host struct{ machine, net string }
	index := make(map[host]int)
	var hosts [][]int
	for r := range places {
		h := host{places[r].Machine, places[r].Net}
		i, ok := index[h]
		if !ok {
			i = len(hosts)
			index[h] = i
			hosts = append(hosts, nil)
		}
		hosts[i] = append(hosts[i], r)
	}
	return hosts
}

// coresOf is how many processors rank me may count on, among the ranks of its host, and which if
// they are its own alone. Of processors that several ranks may run on each gets its part.
func coresOf(places []place, ranks []int, me int) (cores int, bound []int) {
	mine, _ := sys.ParseCPUs(places[me].CPUs) // checked
	if len(mine) == 0 || len(ranks) == 1 {
		return max(len(mine), 1), nil
	}
	sharers := 1
	for _, r := range ranks {
		if r == me {
			continue
		}
		theirs, _ := sys.ParseCPUs(places[r].CPUs)
		if len(theirs) == 0 || overlap(mine, theirs) {
			sharers++
		}
	}
	if sharers == 1 {
		return len(mine), mine
	}
	return max(len(mine)/sharers, 1), nil
}

// overlap reports whether two ascending lists have a number in common.
func overlap(a, b []int) bool {
	return slices.ContainsFunc(a, func(n int) bool {
		_, found := slices.BinarySearch(b, n)
		return found
	})
}
