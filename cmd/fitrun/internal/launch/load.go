//go:build linux

package launch

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/agent"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/hosts"
	"github.com/fitmpi/fitmpi/internal/plain"
)

// Placing says on which host each rank is to run, by index, now that the load is known. machine
// says for each host which of idle it is, as some may be one under several names.
type Placing func(machine []int, idle []hosts.Idle) ([]int, error)

// placeByLoad puts the ranks of a request that goes by load on the hosts that were reached, and
// leaves out those that get none.
//
// Preconditions:
//   - r.Place has the hosts that may be used, each once, as indices of used.
func (a *across) placeByLoad() error {
	if a.r.ByLoad == nil {
		return nil
	}
	idle, on := make([]hosts.Idle, len(a.used)), make([]string, len(a.used))
	for i := range a.used {
		use, cores := agent.UseHere(), a.r.Cores
		if !a.local[i] {
			f := a.agentOf(i).Facts()
			use, cores = f.Use, f.Cores
		}
		idle[i], on[i] = hosts.Idle{Cores: cores, Load: loadOf(use)}, a.homeOf(i).machine
	}
	shareLoad(idle, on)
	for i, h := range a.used {
		a.tellLoad(h, idle[i])
	}
	machine := make([]int, len(a.r.Hosts))
	for i, h := range a.candidates {
		machine[h] = a.r.Place[i]
	}
	place, err := a.r.ByLoad(machine, idle)
	if err != nil {
		return err
	}
	for rank, h := range place {
		place[rank] = machine[h]
	}
	a.keep(place)
	return nil
}

// shareLoad gives all hosts that are one machine the load that its first one said: that is the
// kernel's, which changes from one question to the next.
func shareLoad(idle []hosts.Idle, machine []string) {
	for i, m := range machine {
		if first := slices.Index(machine, m); m != "" {
			idle[i].Load = idle[first].Load
		}
	}
}

// keep puts ranks on used hosts, and leaves out the others.
func (a *across) keep(place []int) {
	kept := slices.Compact(slices.Sorted(slices.Values(place)))
	for rank, i := range place {
		place[rank], _ = slices.BinarySearch(kept, i)
	}
	a.r.Place = place
	a.used, a.local, a.client = picked(a.used, kept), picked(a.local, kept), picked(a.client, kept)
}

// loadOf is the load over the last minute, 0 if a host does not say it.
func loadOf(u agent.Use) float64 {
	first, _, _ := strings.Cut(u.Load, " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil || load < 0 {
		return 0
	}
	return load
}

func (a *across) tellLoad(h hosts.Host, idle hosts.Idle) {
	if a.cfg.Verbose {
		a.say("host %s has a load of %.2f on %s", h, idle.Load, plain.Count(idle.Cores, "core"))
	}
}
