//go:build linux

package launch

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
	"github.com/fitmpi/fitmpi/internal/boot"
)

// What is done about a rank of which others say that nothing is heard of it. The crew of its host
// looks at its process first. A process that the kernel lets run is alive, and is left alone,
// unless it is the way to it that is lost. A process that is held in a debugger is left alone too.
// The exception is one that another rank has lost for good, in a job that goes on: it must not be
// dead to one rank and alive to others. Every other process is ended for good before the others are
// told that it failed: no rank that is held to be dead goes on. A host of which nothing is heard
// cannot look; it is lost by another clock, see hostLost.

// suspicion is that a rank is silent.
type suspicion struct {
	by   int    // the rank that says so
	text string // what it has found
}

// suspected is called when rank r says that another is silent, or is not any more.
func (s *supervisor) suspected(now time.Time, r int, n boot.Notice) {
	q := n.Suspect
	others := slices.DeleteFunc(slices.Clone(s.suspicions[q]), func(sus suspicion) bool { return sus.by == r })
	switch {
	case q < 0 || q >= len(s.members):
		s.linkBroken(now, r, fmt.Errorf("it suspects rank %d of %d", q, len(s.members)))
	case n.Text == "":
		s.suspicions[q] = others
	case s.state != jobRunning, !s.canFail(q):
	case s.job.Ranks[q].proc == s.job.Ranks[r].proc && !strings.HasPrefix(n.Text, boot.Lost): // busy: they live or die together
	case len(s.suspicions[q]) > 0: // it is being looked at; the first rank to say so may be dead by then
		s.suspicions[q] = append(others, suspicion{r, n.Text})
	default:
		s.suspicions[q] = []suspicion{{r, n.Text}}
		s.do.examine(s.job.Ranks[q].proc)
	}
}

// canFail reports whether a rank runs and has not failed.
func (s *supervisor) canFail(r int) bool { return s.members[r].isRunning() && s.members[r].code == 0 }

// examined is called when a crew has looked at process p.
func (s *supervisor) examined(now time.Time, p int, c crew.Condition) {
	for _, q := range s.job.Processes[p].Ranks {
		all := s.suspicions[q]
		delete(s.suspicions, q)
		i := slices.IndexFunc(all, func(sus suspicion) bool { return s.counts(q, sus.by) })
		switch {
		case i < 0, c.Gone, c.Paused, s.state != jobRunning, !s.canFail(q): // or withdrawn meanwhile; of one that is gone more will be heard
			continue
		}
		says := func(prefix string) int {
			return slices.IndexFunc(all, func(sus suspicion) bool { return strings.HasPrefix(sus.text, prefix) && s.counts(q, sus.by) })
		}
		switch lost, cutOff := says(boot.Lost), says(boot.Unreachable); {
		case c.Tracer != 0 && lost < 0:
			s.heldByDebugger(q, all[i], c.Tracer)
		case c.Tracer != 0:
			s.holdDead(now, p, all[lost], c)
		case c.Stopped || max(lost, cutOff) < 0 && !s.runs(c):
			s.holdDead(now, p, all[i], c)
		case max(lost, cutOff) < 0:
			s.busy(q, all[i])
		default:
			s.holdDead(now, p, all[max(lost, cutOff)], c)
		}
	}
	s.noteHalt(now, p, c)
}

// runs reports whether the kernel has let a process run in the time in which it is to show several
// times that it lives.
func (s *supervisor) runs(c crew.Condition) bool { return c.Idle < s.job.Silence/2 }

// busy says once for each rank why it is not taken for dead.
func (s *supervisor) busy(q int, sus suspicion) {
	if !s.members[q].busy {
		s.members[q].busy = true
		s.do.say(fmt.Sprintf("%s: %s, says rank %d; its process runs, so it is not taken for dead: perhaps it is in a loop that the runtime may not interrupt "+
			"(GODEBUG=asyncpreemptoff=1), or in a long step of a reduction", s.name(q), sus.text, sus.by))
	}
}

// counts reports whether it matters that rank by holds q to be dead. It does not if by has failed:
// of two that lost each other the first to say so stays. Nor if both are done with the others.
func (s *supervisor) counts(q, by int) bool {
	return s.members[by].code == 0 && (s.members[q].state < memberFinalizing || s.members[by].state < memberFinalizing)
}

// heldByDebugger says once for each rank why the job does not go on.
func (s *supervisor) heldByDebugger(q int, sus suspicion, tracer int) {
	if !s.members[q].held {
		s.members[q].held = true
		s.do.say(fmt.Sprintf("%s: %s, says rank %d; process %d traces it, so it is not taken for dead", s.name(q), sus.text, sus.by, tracer))
	}
}

// holdDead ends process p, all of whose ranks have failed with it, because of what was said of one.
func (s *supervisor) holdDead(now time.Time, p int, sus suspicion, c crew.Condition) {
	what := fmt.Sprintf("%s: %s, says rank %d", takenForDead(c), sus.text, sus.by)
	if !c.Stopped && !s.runs(c) && c.Idle > 0 {
		what += fmt.Sprintf("; its host has not seen it run for %v", c.Idle.Round(time.Millisecond))
	}
	s.endProcess(now, p, what)
}

// takenForDead says so of one rank or several.
func takenForDead(c crew.Condition) string {
	switch {
	case c.Stopped && c.Signal != 0:
		return fmt.Sprintf("stopped by %s and taken for dead", signalName(c.Signal))
	case c.Stopped:
		return "stopped by a signal and taken for dead"
	}
	return "taken for dead"
}

// endProcess ends process p for good: its ranks have failed of what.
func (s *supervisor) endProcess(now time.Time, p int, what string) {
	var ranks []int
	for _, r := range s.job.Processes[p].Ranks {
		if s.canFail(r) {
			ranks = append(ranks, r)
		}
	}
	s.signalOne(p, syscall.SIGKILL)
	s.setCode(ranks, ExitError, what)
	s.fail(now, ranks, what, nil)
}

// signalName is the name of a signal that stops.
func signalName(sig syscall.Signal) string {
	switch sig {
	case syscall.SIGSTOP:
		return "SIGSTOP"
	case syscall.SIGTSTP:
		return "SIGTSTP"
	case syscall.SIGTTIN:
		return "SIGTTIN"
	case syscall.SIGTTOU:
		return "SIGTTOU"
	default:
		return fmt.Sprintf("signal %d", int(sig))
	}
}
