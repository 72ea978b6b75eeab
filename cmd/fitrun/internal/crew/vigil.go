//go:build linux

package crew

import (
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// Whether the kernel lets a process run is what its time on processors says, which nothing in the
// process can hide: not a runtime that waits for a loop that it may not interrupt, nor a call of C
// that does not return. A rank that promises heartbeats runs for some microseconds at each at the
// least. As one look tells nothing of that, the crew looks now and then.

// vigil is what looks at a process have found.
type vigil struct {
	used   time.Duration // on processors, at the last look
	idle   time.Duration // for how long that has not changed
	halted bool          // it was stopped, or in a debugger
}

// look notes whether the process, which consists of pids, has run since the last look, after which
// so much has passed. It returns for how long it has not.
func (v *vigil) look(pids []int, passed time.Duration) (idle time.Duration) {
	var used time.Duration
	for _, pid := range pids {
		t, _ := sys.ProcessTime(pid) // of one that is gone it is none
		used += t
	}
	v.idle += passed
	if used != v.used || isRunnable(pids) {
		v.used, v.idle = used, 0
	}
	return v.idle
}

func isRunnable(pids []int) bool {
	for _, pid := range pids {
		if !sys.IsHalted(pid) && sys.IsRunnable(pid) {
			return true
		}
	}
	return false
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
	p.vigil.look(p.runners(), passed)
	return Condition{}, false
}
