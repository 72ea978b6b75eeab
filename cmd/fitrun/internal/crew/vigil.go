//go:build linux

package crew

import (
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// Whether the kernel lets a process run is what sys.Vigil finds. A rank that promises heartbeats
// runs for some microseconds at each at the least. As one look tells nothing of that, the crew
// looks now and then.

// vigil is what looks at a process have found.
type vigil struct {
	sys.Vigil
	halted bool // it was stopped, or in a debugger
}

// keepVigil looks at all processes every so often, until Finish, and tells the leader of those that
// are stopped.
func (c *Crew) keepVigil() {
	t := time.NewTicker(c.plan.Looks)
	defer t.Stop()
	for last := time.Now(); ; {
		select {
		case <-c.release:
			return
		case <-t.C:
		}
		now := time.Now()
		passed := min(now.Sub(last), 2*c.plan.Looks) // a crew that looks late was stopped too, with all of the job perhaps
		last = now
		for i := range c.plan.Processes {
			if p := c.process(i); p != nil {
				if found, isNews := p.lookAgain(passed); isNews {
					c.to.Examined(i, found)
				}
			}
		}
	}
}

// lookAgain is look as part of the vigil. What it finds is news if the process is stopped, or was.
func (p *process) lookAgain(passed time.Duration) (found Condition, isNews bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped || p.paused {
		return Condition{}, false
	}
	halted := false
	for _, pid := range append(p.inPlace(), p.pid) {
		halted = halted || sys.IsHalted(pid)
	}
	isNews = halted || p.vigil.halted
	p.vigil.halted = halted
	if isNews {
		return p.lookLocked(passed), true
	}
	p.vigil.Look(p.runners(), passed)
	return Condition{}, false
}
