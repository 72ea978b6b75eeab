//go:build linux

package launch

import (
	"fmt"
	"slices"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
)

// What is done about processes that are stopped and that no rank has missed. No rank has missed
// them because all are stopped, or because those that run have nothing to do with them yet, or do
// not watch others while they compute (caller). Ranks come first, as they can say which rank waits.

const (
	// haltPatience is for how many times the silence that ranks permit a process may be stopped
	// while others run.
	haltPatience = 2
	// haltPatienceForAll is the same where none runs. Stopping a whole job for a while holds up no
	// process in it, and a user that does so may mean to let it go on.
	haltPatienceForAll = 4
)

// noteHalt is called when a crew has looked at process p, which it does again and again while that
// is stopped.
func (s *supervisor) noteHalt(now time.Time, p int, c crew.Condition) {
	if c.Gone || !c.Stopped && c.Tracer == 0 {
		delete(s.halted, p)
		return
	}
	s.halted[p] = c
	if s.state != jobRunning || s.job.Silence <= 0 || c.Tracer != 0 || !s.isMissing(p) {
		return
	}
	what, idle, patience := "", c.Idle, haltPatience*s.job.Silence
	if s.standsStill() {
		patience, what = haltPatienceForAll*s.job.Silence, ", as has the rest of the job"
		for _, other := range s.halted {
			if other.Tracer != 0 {
				return // a debugger is at work on it
			}
			idle = min(idle, other.Idle)
		}
	}
	if idle >= patience {
		s.endProcess(now, p, fmt.Sprintf("%s: it has not gone on for %v%s", takenForDead(c), idle.Round(time.Millisecond), what))
	}
}

// isMissing reports whether the others need a process: it is in the job, or is to join one that has
// begun, and has not said that it is done.
func (s *supervisor) isMissing(p int) bool {
	return slices.ContainsFunc(s.job.Processes[p].Ranks, func(r int) bool {
		return s.canFail(r) && s.members[r].state <= memberJoined
	}) && slices.ContainsFunc(s.members, func(m member) bool { return m.state == memberJoined })
}

// standsStill reports whether every process that has not ended is stopped, or in a debugger.
func (s *supervisor) standsStill() bool {
	for p := range s.job.Processes {
		if _, halted := s.halted[p]; !halted && s.members[s.job.Processes[p].Ranks[0]].isRunning() {
			return false
		}
	}
	return true
}
