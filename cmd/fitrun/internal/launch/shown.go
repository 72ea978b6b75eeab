//go:build linux

package launch

import (
	"strconv"

	"github.com/fitmpi/fitmpi/internal/boot"
)

// Environment variables that say where a process is in its job, for programs to read;
// boot.RankVariable and boot.SizeVariable are others. Nothing of ours reads them.
const (
	ranksHereVariable = "FITMPI_RANKS_HERE" // ranks of the process
	localRankVariable = "FITMPI_LOCAL_RANK" // among the ranks of the host
	localSizeVariable = "FITMPI_LOCAL_SIZE"
	nodeVariable      = "FITMPI_NODE" // number of the host in the job
)

// addShown adds the variables that say where a process is. What the user has given of them, or a
// fitrun around this one has set, is overruled: the last counts.
func (p *planner) addShown() {
	nodes := make([]int, len(p.sites)) // hosts without ranks are not counted
	n := 0
	for at := range p.sites {
		nodes[at] = n
		if len(p.local[at]) > 0 {
			n++
		}
	}
	size := strconv.Itoa(len(p.r.Place))
	for i := range p.job.Processes {
		proc := &p.job.Processes[i]
		first := p.job.Ranks[proc.Ranks[0]]
		rank := strconv.Itoa(first.Rank)
		proc.Env = append(proc.Env,
			boot.RankVariable+"="+rank,
			boot.SizeVariable+"="+size,
			boot.ShownVariable+"="+boot.Shown(rank, size),
			ranksHereVariable+"="+strconv.Itoa(len(proc.Ranks)),
			localRankVariable+"="+strconv.Itoa(first.LocalRank),
			localSizeVariable+"="+strconv.Itoa(first.LocalSize),
			nodeVariable+"="+strconv.Itoa(nodes[proc.site]),
		)
	}
}
