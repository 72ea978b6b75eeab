//go:build linux

package launch

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/crew"
)

// What is done about a rank of which others say that nothing is heard of it. Somebody looks at its process first, on its host. What is
// held in a debugger is left alone, unless another has lost it for good, in a job that goes on: it must not be dead to one and alive to others. All else is ended for good before the others are told that it failed: nobody who is held to be
// dead goes on. A host of which nothing is heard cannot look; it is lost by another clock, see hostLost.

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
	case len(s.suspicions[q]) > 0: // it is being looked at; who was the first to say so may be dead by then
		s.suspicions[q] = append(others, suspicion{r, n.Text})
	default:
		s.suspicions[q] = []suspicion{{r, n.Text}}
		s.do.examine(s.job.Ranks[q].proc)
	}
}

// canFail reports whether a rank runs and has not failed.
func (s *supervisor) canFail(r int) bool { return s.members[r].isRunning() && s.members[r].code == 0 }

// examined is called when somebody has looked at process p.
func (s *supervisor) examined(now time.Time, p int, c crew.Condition) {
	for _, q := range s.job.Processes[p].Ranks {
		all := s.suspicions[q]
		delete(s.suspicions, q)
		i := slices.IndexFunc(all, func(sus suspicion) bool { return s.counts(q, sus.by) })
		switch {
		case i < 0, c.Gone, s.state != jobRunning, !s.canFail(q): // or withdrawn meanwhile; of one that is gone more will be heard
			continue
		}
		lost := slices.IndexFunc(all, func(sus suspicion) bool { return strings.HasPrefix(sus.text, boot.Lost) && s.counts(q, sus.by) })
		switch {
		case c.Tracer == 0:
			s.holdDead(now, p, all[i], c)
		case lost < 0:
			s.heldByDebugger(q, all[i], c.Tracer)
		default:
			s.holdDead(now, p, all[lost], c)
		}
	}
}

// counts reports whether it matters that rank by holds q to be dead. It does not if by has failed: of two that lost each other the first to
// say so stays. Nor if both are done with the others.
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

// holdDead ends process p, all of whose ranks have failed with it.
func (s *supervisor) holdDead(now time.Time, p int, sus suspicion, c crew.Condition) {
	what := "taken for dead" // of one rank or several
	switch {
	case c.Stopped && c.Signal != 0:
		what = fmt.Sprintf("stopped by %s and %s", signalName(c.Signal), what)
	case c.Stopped:
		what = "stopped by a signal and " + what
	}
	what = fmt.Sprintf("%s: %s, says rank %d", what, sus.text, sus.by)
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
