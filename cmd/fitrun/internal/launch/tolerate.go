//go:build linux

package launch

import (
	"fmt"
	"syscall"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
	"github.com/fitmpi/fitmpi/internal/boot"
)

// What a job does that tolerates failures ([Request.FT]): it goes on without a rank that dies.

// hasFT reports whether the death of a rank ends nothing now. Until every rank has the cards
// of all the others could not even begin: none of them would ever be whole.
func (s *supervisor) hasFT() bool { return s.job.FT && s.cards.IsComplete() }

// markFailed tells all ranks that some have failed, and goes on without those. text says which
// ranks they are and what happened. Their codes must be set already.
func (s *supervisor) markFailed(ranks []int, text string, last []string) {
	var why []boot.Event
	for _, r := range ranks {
		m := &s.members[r]
		m.dead = true
		if s.firstDeath == 0 {
			s.firstDeath = m.code
		}
		s.do.changed(r)
		why = append(why, boot.Event{Kind: boot.PeerFailed, Rank: r, Message: text, Code: m.code})
	}
	shown := text + "; "
	switch left := s.ranksAlive(); len(left) {
	case 0:
		shown += "no rank is left"
	case 1:
		shown += rankList(left) + " goes on"
	default:
		shown += rankList(left) + " go on"
	}
	s.do.sayOf(s.job.Ranks[ranks[0]].proc, shown, last)
	s.tellAll(why)
	s.do.lost(why)
}

// kill ends process p, of whose ranks nothing must be heard any more, and takes them for dead at
// once. Preconditions:
//   - hasFT.
func (s *supervisor) kill(p, code int, why string) {
	ranks := s.ranksOf(p, func(m *member) bool { return m.isRunning() && m.code == 0 })
	if len(ranks) == 0 {
		return
	}
	s.setCode(ranks, code, why)
	s.signalOne(p, syscall.SIGKILL)
	s.markFailed(ranks, s.names(ranks)+" "+why, nil)
}

// ranksOf are the ranks of process p that are as is says.
func (s *supervisor) ranksOf(p int, is func(*member) bool) []int {
	var ranks []int
	for _, r := range s.job.Processes[p].Ranks {
		if is(&s.members[r]) {
			ranks = append(ranks, r)
		}
	}
	return ranks
}

// ranksAlive are those that run and are not given up.
func (s *supervisor) ranksAlive() []int {
	var ranks []int
	for _, r := range s.ranksRunning() {
		if !s.members[r].dead {
			ranks = append(ranks, r)
		}
	}
	return ranks
}

// noteSurvivor notes the exit code of a process that could have ended well: its ranks were done
// with the others, or one of them has said that it has failed, which is another thing than to die.
// Preconditions:
//   - before is as of exited.
func (s *supervisor) noteSurvivor(p int, before map[memberState][]int, e crew.Exit) {
	isDone := e.Signal == 0 && len(before[memberFinalizing])+len(before[memberIdle]) == len(s.job.Processes[p].Ranks)
	hasSaid := len(s.ranksOf(p, func(m *member) bool { return m.failed != "" })) > 0
	if (isDone || hasSaid) && s.verdict == 0 {
		s.verdict = e.Status()
	}
}

// codeOfSurvivors is the exit code of a job that tolerates failures: that of the first survivor
// that failed, or of the abort that ended all; 0 if some rank ended well; else that of the first
// that died.
func (s *supervisor) codeOfSurvivors() int {
	if s.verdict != 0 {
		return s.verdict
	}
	for r := range s.members {
		if s.members[r].code == 0 {
			return 0
		}
	}
	return s.firstDeath
}

// finalReports says at the end of a job which ranks are missing.
func (s *supervisor) finalReports() {
	var dead, well []int
	for r := range s.members {
		switch m := &s.members[r]; {
		case m.dead:
			dead = append(dead, r)
		case m.code == 0:
			well = append(well, r)
		}
	}
	if len(dead) == 0 || s.state != jobRunning {
		return
	}
	verb := "has"
	if len(dead) > 1 {
		verb = "have"
	}
	s.do.say(fmt.Sprintf("%s %s died, %s ended well", rankList(dead), verb, rankList(well)))
}

// tellAll tells events to all ranks that run, but for what is about themselves.
func (s *supervisor) tellAll(evs []boot.Event) {
	for r := range s.members {
		for _, ev := range evs {
			if s.members[r].isRunning() && !s.members[r].dead && (r != ev.Rank || ev.Kind == boot.ForeignFailed) {
				s.do.tell(r, ev)
			}
		}
	}
}

// saidFailed is called when rank r says that it gives up; its exit follows.
func (s *supervisor) saidFailed(r int, text string) {
	if s.hasFT() {
		s.members[r].failed = text
	}
}
