//go:build linux

package crew

import "github.com/fitmpi/fitmpi/internal/sys"

// Leaving says whether a rank that runs, for all that the leader has heard, leaves the job.
type Leaving uint8

const (
	// Stays: nothing says that it leaves.
	Stays Leaving = iota
	// HangsUp: its link has ended, or may have. Its process need not exit.
	HangsUp
	// Exits: its process is on its way out or gone. The leader will hear of its exit.
	Exits
)

// LeavingOf says whether a rank leaves the job.
func (c *Crew) LeavingOf(rank int) Leaving {
	p := c.process(c.at[rank].proc)
	if p == nil {
		return Stays
	}
	return p.leaving(c.at[rank].k)
}

// Gone is the ranks that leave, at least as surely as least says.
func (c *Crew) Gone(least Leaving) []int {
	var ranks []int
	for i := range c.plan.Processes {
		for _, info := range c.plan.Processes[i].Ranks {
			if c.LeavingOf(info.Rank) >= least {
				ranks = append(ranks, info.Rank)
			}
		}
	}
	return ranks
}

// leaving says whether the i-th rank of the process leaves the job, heard of or not.
func (p *process) leaving(i int) Leaving {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.reaped || sys.IsExiting(p.pid):
		return Exits
	case p.linkEnded[i].Load():
		return HangsUp
	default:
		return Stays
	}
}
