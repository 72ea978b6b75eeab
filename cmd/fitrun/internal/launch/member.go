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
	"github.com/fitmpi/fitmpi/internal/plain"
)

// memberState says how far a rank is.
//
//	Waiting -> Started -> Joined <-> Idle ----> Finalizing
//	   |          |          |          |           |
//	   +----------+----------+----------+-----------+--> Over
//
// A rank that has no use for sessions goes from Joined to Finalizing.
type memberState uint8

const (
	// memberWaiting: not started yet.
	memberWaiting memberState = iota
	// memberStarted: its process runs, and has not called Init. Exit code 0 is clean unless others
	// wait in Init.
	memberStarted
	// memberJoined: it gave its card. Exit code 0 is a failure.
	memberJoined
	// memberIdle: all its sessions are finalized, and it may open others. Exit code
	// 0 is clean.
	memberIdle
	// memberFinalizing: it is done with the others. Exit code 0 is clean.
	memberFinalizing
	// memberOver: it has exited, or was never started.
	memberOver
)

func (s memberState) String() string {
	switch s {
	case memberWaiting:
		return "waiting"
	case memberStarted:
		return "started"
	case memberJoined:
		return "joined"
	case memberIdle:
		return "idle"
	case memberFinalizing:
		return "finalizing"
	case memberOver:
		return "over"
	default:
		return fmt.Sprintf("memberState(%d)", uint8(s))
	}
}

// member is the supervisor's view of one rank. Ranks of one process start, are signalled and end
// together.
type member struct {
	state   memberState // changed by supervisor.setMember only
	pid     int         // of its process; 0 until started
	aborted bool        // it asked for an abort
	held    bool        // it was said that a debugger holds it
	busy    bool        // it was said that it is silent, but runs
	dead    bool        // the job goes on without it; it may run still, but is not heard
	failed  string      // in a job that tolerates failures: why it gives up, as it said itself
	early   bool        // it exited with code 0 without having called Init
	code    int         // exit code of its own failure; 0 if it has not failed
	why     string      // what it failed of, or that others' failure ended it; completes a sentence that begins with the rank
}

func (m *member) isRunning() bool {
	return m.state >= memberStarted && m.state < memberOver
}

// setMember holds every side effect of a change of a rank's state.
func (s *supervisor) setMember(r int, state memberState) {
	m := &s.members[r]
	if state <= m.state && !(m.state == memberIdle && state == memberJoined) {
		panic(fmt.Sprintf("launch: bug: rank %d goes from %v to %v", r, m.state, state))
	}
	m.state = state
	if state == memberOver {
		s.running--
	}
	s.do.changed(r)
}

// started is called when process p runs.
func (s *supervisor) started(now time.Time, p, pid int) {
	proc := &s.job.Processes[p]
	for _, r := range proc.Ranks {
		s.members[r].pid = pid
		s.setMember(r, memberStarted)
	}
	if s.verbose {
		s.do.say(fmt.Sprintf("%s started with %s", s.names(proc.Ranks), plain.Count(proc.Cores, "core")))
	}
	switch s.state {
	case jobRunning:
	case jobEnding:
		s.signalOne(p, syscall.SIGTERM)
	case jobKilling:
		s.signalOne(p, syscall.SIGKILL)
	default:
		panic("launch: bug: process started in a job that is " + s.state.String())
	}
}

// notStarted is called when process p will not run: err says why, or nil if stopStarting asked for
// it.
func (s *supervisor) notStarted(now time.Time, p int, err error) {
	ranks := s.job.Processes[p].Ranks
	for _, r := range ranks {
		s.setMember(r, memberOver)
	}
	if err != nil {
		why := fmt.Sprintf("could not be started: %v", err)
		s.unstartable = true
		s.setCode(ranks, ExitUsage, why)
		s.fail(now, ranks, why, nil)
	}
	s.maybeOver(now)
}

// setCode says that ranks failed on their own, and of what.
func (s *supervisor) setCode(ranks []int, code int, why string) {
	for _, r := range ranks {
		s.members[r].code, s.members[r].why = code, why
		s.do.changed(r)
	}
}

// noticed is called for every message of rank r.
func (s *supervisor) noticed(now time.Time, r int, n boot.Notice) {
	m := &s.members[r]
	switch n.Kind {
	case boot.Joined:
		if s.verbose && n.PID != m.pid {
			s.do.say(fmt.Sprintf("%s joined as process %d", s.name(r), n.PID))
		}
	case boot.CardGiven:
		s.cardGiven(now, r, n.Card)
	case boot.Finalizing:
		if m.state < memberFinalizing {
			s.setMember(r, memberFinalizing)
		}
	case boot.AbortAsked:
		s.abortAsked(now, r, n)
	case boot.Suspected:
		s.suspected(now, r, n)
	case boot.Reported:
		s.reported(r, n)
	case boot.SpawnAsked:
		s.do.spawn(r, n.Number, n.Data)
	case boot.Answered:
		s.do.answered(r, n.Number, n.Data)
	default:
		panic("launch: bug: notice " + n.Kind.String())
	}
}

func (s *supervisor) cardGiven(now time.Time, r int, card []byte) {
	if err := s.cards.Put(r, card); err != nil {
		s.linkBroken(now, r, err)
		return
	}
	if s.members[r].state == memberStarted {
		s.setMember(r, memberJoined)
	}
	for e := range s.members {
		if s.members[e].early {
			s.failEarly(now, e)
			return
		}
	}
	if s.cards.IsComplete() {
		for q := range s.members {
			if s.members[q].isRunning() {
				s.do.deal(q, s.cards)
			}
		}
	}
}

func (s *supervisor) reported(r int, n boot.Notice) {
	if n.Key == boot.FailedKey {
		s.saidFailed(r, n.Text)
		return
	}
	if n.Key == boot.IdleKey {
		s.idled(r, boot.IsIdle(n.Text))
		return
	}
	s.do.reported(r, n.Key, n.Text)
	switch {
	case n.Key == boot.MetricsKey && (s.verbose || strings.HasSuffix(s.job.Ranks[r].MetricsAddr, ":0")):
		s.do.say(fmt.Sprintf("rank %d serves metrics at http://%s/metrics", r, n.Text))
	case n.Key == boot.MetricsKey || !s.verbose:
	case n.Key == boot.TransportKey:
		s.do.say(fmt.Sprintf("rank %d transports: %s", r, n.Text))
	default:
		s.do.say(fmt.Sprintf("rank %d reports %s: %s", r, n.Key, n.Text))
	}
}

// idled is called when rank r says that it is idle (idles), or that it takes part again.
func (s *supervisor) idled(r int, idles bool) {
	switch m := &s.members[r]; {
	case idles && m.state == memberJoined:
		s.setMember(r, memberIdle)
	case !idles && m.state == memberIdle:
		s.setMember(r, memberJoined)
	}
}

// linkBroken is called when rank r breaks the boot protocol.
func (s *supervisor) linkBroken(now time.Time, r int, err error) {
	if s.state != jobRunning {
		return
	}
	why := fmt.Sprintf("broke the boot protocol: %v; was it built with the FitMPI of this fitrun?", err)
	if s.hasFT() {
		s.kill(s.job.Ranks[r].proc, ExitError, why)
		return
	}
	s.setCode([]int{r}, ExitError, why)
	s.fail(now, []int{r}, why, nil)
}

// exited is called when process p has exited and everything its ranks had to say was heard.
func (s *supervisor) exited(now time.Time, p int, e crew.Exit) {
	ranks := s.job.Processes[p].Ranks
	before := make(map[memberState][]int) // the ranks by the state they were in
	isExplained := e.Ended                // by a signal of ours
	for _, r := range ranks {
		m := &s.members[r]
		before[m.state] = append(before[m.state], r)
		isExplained = isExplained || m.aborted || m.code != 0
		if (e.Ended || m.aborted) && m.code == 0 {
			m.why = "was ended with the job"
		}
		s.setMember(r, memberOver)
	}
	if s.verbose {
		s.do.say(fmt.Sprintf("%s %v", s.names(ranks), e))
	}
	if !isExplained {
		s.classifyExit(now, p, before, e)
	}
	s.settleAbort(now)
	s.maybeOver(now)
}

// classifyExit decides whether an exit that we did not cause is a failure of the process's ranks,
// or of some of them.
func (s *supervisor) classifyExit(now time.Time, p int, before map[memberState][]int, e crew.Exit) {
	switch joined, early := before[memberJoined], before[memberStarted]; {
	case e.Status() != 0:
		ranks := s.job.Processes[p].Ranks
		what := e.String()
		if e.Cause != "" {
			what += " (" + e.Cause + ")"
		}
		if said := s.ranksOf(p, func(m *member) bool { return m.failed != "" }); len(said) > 0 {
			what, e.Last = fmt.Sprintf("%s: %s", what, s.members[said[0]].failed), nil
		}
		if s.state != jobRunning { // what others' failure, or a signal to them, led to
			what += " while the job was being ended"
		}
		s.setCode(ranks, e.Status(), what)
		s.noteSurvivor(p, before, e)
		s.fail(now, ranks, what, e.Last)
	case len(joined) > 0:
		const why = "exited with code 0 without mpi.Finalize, or with a session open, so others could wait for it forever"
		s.setCode(joined, ExitError, why)
		s.fail(now, joined, why, e.Last)
	case len(early) > 0:
		for _, r := range early {
			s.members[r].early = true
		}
		if s.cards.Given() > 0 {
			s.failEarly(now, early[0])
		}
	}
}

// failEarly is for a rank that exited cleanly, but will be missed in Init.
func (s *supervisor) failEarly(now time.Time, r int) {
	if s.state != jobRunning {
		return
	}
	const why = "exited with code 0 without mpi.Init, in which other ranks wait for it"
	s.setCode([]int{r}, ExitError, why)
	s.fail(now, []int{r}, why, nil)
}

// hostLost is called when nothing more will be heard of procs, all of one host; why names that.
func (s *supervisor) hostLost(now time.Time, procs []int, why string) {
	var ranks []int
	for _, p := range procs {
		for _, r := range s.job.Processes[p].Ranks {
			m := &s.members[r]
			if m.state != memberOver {
				s.setMember(r, memberOver)
				if !m.dead {
					ranks = append(ranks, r)
				}
			}
		}
	}
	slices.Sort(ranks)
	if s.state == jobRunning && len(ranks) > 0 {
		s.setCode(ranks, ExitError, "is out of reach: "+why)
		s.failAs(now, ranks, fmt.Sprintf("%s; with it %s", why, rankList(ranks)), nil)
	}
	s.maybeOver(now)
}

// fail ends the job because of ranks, all of one process, or goes on without them. Only the first
// failure that ends the job is reported; their code must be set already.
func (s *supervisor) fail(now time.Time, ranks []int, what string, last []string) {
	if s.state != jobRunning {
		return
	}
	s.failAs(now, ranks, s.names(ranks)+" "+what, last)
}

// failAs is fail with all of the text.
func (s *supervisor) failAs(now time.Time, ranks []int, text string, last []string) {
	if s.state != jobRunning {
		return
	}
	s.failedOf(text)
	if s.hasFT() {
		s.markFailed(ranks, text, last)
		return
	}
	s.do.sayOf(s.job.Ranks[ranks[0]].proc, text+"; the job was ended", last)
	var why []boot.Event
	for _, r := range ranks {
		why = append(why, boot.Event{Kind: boot.PeerFailed, Rank: r, Message: text, Code: s.members[r].code})
	}
	s.end(now, failGrace, why...)
}
