//go:build linux

package launch

import (
	"fmt"
	"strings"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
	"github.com/fitmpi/fitmpi/internal/boot"
)

// abortRequest is a rank's Abort that waits for the exit of ranks that may have died before it.
type abortRequest struct {
	rank  int
	code  int
	text  string
	since time.Time // when it was asked for
	until time.Time // wait no longer, for what is known
}

// abortAsked is called when rank r wants the job to end. Often the reason is that another rank
// died, and its exit is still on its way to us: then that exit is the news, and the abort a
// consequence.
func (s *supervisor) abortAsked(now time.Time, r int, n boot.Notice) {
	s.members[r].aborted = true // whatever it does now, the abort explains it
	if s.state != jobRunning || s.asked != nil {
		return
	}
	s.asked = &abortRequest{rank: r, code: n.Code, text: n.Text, since: now}
	s.do.census()
	s.settleAbort(now)
}

// settleAbort carries out an abort that waits, unless it must wait longer.
func (s *supervisor) settleAbort(now time.Time) {
	a := s.asked
	if a == nil || s.state != jobRunning {
		return
	}
	if a.until = a.since.Add(s.patience(a)); now.Before(a.until) {
		return
	}
	m := &s.members[a.rank]
	if m.code = a.code & 0xff; m.code == 0 {
		m.code = ExitError
	}
	text := fmt.Sprintf("%s aborted the job with code %d", s.name(a.rank), a.code)
	if a.text != "" {
		text += ": " + strings.TrimRight(a.text, "\n")
	}
	s.verdict = m.code
	s.failedOf(text)
	m.why = strings.TrimPrefix(text, s.name(a.rank)+" ")
	s.do.say(text)
	s.end(now, failGrace, boot.Event{Kind: boot.JobAborted, Rank: a.rank, Message: text, Code: a.code})
}

// patience is how long an abort waits since it was asked for. The exit of a process that is on its
// way out comes for certain, but not within a time that is known: all its memory is freed before.
func (s *supervisor) patience(a *abortRequest) time.Duration {
	wait := time.Duration(0)
	for r := range s.members {
		// Others of its own process go with it, which says nothing.
		if s.job.Ranks[r].proc == s.job.Ranks[a.rank].proc || !s.members[r].isRunning() {
			continue
		}
		switch s.do.leaving(r) {
		case crew.Exits:
			return exitWait
		case crew.HangsUp:
			wait = suspectWait
		}
	}
	return wait
}
