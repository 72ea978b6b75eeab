//go:build linux

package launch

import (
	"fmt"
	"syscall"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// Exit codes of fitrun that do not come from a rank.
const (
	ExitError   = 1   // fitrun itself met an error
	ExitUsage   = 2   // wrong use, or a program that cannot be started
	ExitTimeout = 110 // --timeout passed
)

const (
	failGrace      = 500 * time.Millisecond // between SIGTERM and SIGKILL when the job failed
	interruptGrace = 5 * time.Second        // the same when the user asked for the end
	killGrace      = 5 * time.Second        // after SIGKILL, before fitrun gives up on a process that does not die
	exitWait       = 5 * time.Second        // for the end of a process that exits, and may be the reason for another's abort
	suspectWait    = 400 * time.Millisecond // for the exit of a rank that hung up, and may be the reason for another's abort
)

// jobState says how a job is doing.
//
//	Running --failure, abort, timeout, interrupt--> Ending --grace passed, second interrupt--> Killing
//	   |                                              |                                           |
//	   +------------------------ every rank has exited, or was never started --------------------+--> Over
type jobState uint8

const (
	// jobRunning: ranks are being started or run, and none has failed.
	jobRunning jobState = iota
	// jobEnding: every rank was told and sent SIGTERM; none is started any more.
	jobEnding
	// jobKilling: every rank was sent SIGKILL.
	jobKilling
	// jobOver: no rank runs. The end.
	jobOver
)

func (s jobState) String() string {
	switch s {
	case jobRunning:
		return "running"
	case jobEnding:
		return "ending"
	case jobKilling:
		return "killing"
	case jobOver:
		return "over"
	default:
		return fmt.Sprintf("jobState(%d)", uint8(s))
	}
}

// hands are what the supervisor acts with. None of them blocks, and none calls back. A proc is an
// index in Job.Processes.
type hands interface {
	tell(rank int, ev boot.Event)               // send a running rank an event
	deal(rank int, c *boot.Cards)               // send a running rank all cards
	signal(proc int, sig syscall.Signal)        // to its process group, if it runs; crew.Exit.Ended says what came of it
	census()                                    // leaving will be asked; tick is to be called when more is known of other hosts
	examine(proc int)                           // at a process of which nothing is heard; examined says what was found
	leaving(rank int) crew.Leaving              // what is known of a rank of whose exit we have not heard
	stopStarting()                              // processes not started yet are to be reported by notStarted
	say(text string)                            // show one message of fitrun
	sayOf(proc int, text string, last []string) // likewise, of a process with its last lines on stderr
	changed(rank int)                           // its state is another
	answered(rank, number int, data []byte)
	spawn(rank, number int, order []byte) // start what a rank orders
	lost(evs []boot.Event)                // tell the jobs beside this one which of its ranks have failed
	reported(rank int, key, text string)
}

// supervisor is the state machine of a job. It holds no goroutine, lock or clock: its loop calls a
// method for everything that happens, with the time, and tick when the time returned by due has
// come.
type supervisor struct {
	// immutable after newSupervisor
	job     *Job
	do      hands
	verbose bool

	// owned by the loop
	state   jobState // changed by setState only
	members []member // by rank
	running int      // members that are not over
	cards   *boot.Cards
	asked   *abortRequest // nil if none waits

	suspicions map[int][]suspicion // by rank: of those whose process is being looked at, in the order in which they came

	halted map[int]crew.Condition // by process: of those that are stopped or in a debugger, as they were found last

	code int // exit code given by timeout or interrupt, 0 if a rank's counts

	stopped bool // the user wants the end, of whatever would follow too

	failure     string // what it failed of first, "" if of nothing
	unstartable bool   // a process could not be started

	verdict    int // in a job that tolerates failures: exit code of the first survivor that failed, or of an abort; 0 if none
	firstDeath int // in such a job: exit code of the rank that died first; 0 if none did

	hurried bool      // the user wants the end, or some process does not die: do not wait long for output
	timeout time.Time // when the job has run too long; zero if never
	grace   time.Time // when patience ends in jobEnding and jobKilling
}

func newSupervisor(job *Job, do hands, verbose bool, now time.Time) *supervisor {
	s := &supervisor{
		job: job, do: do, verbose: verbose,
		members: make([]member, len(job.Ranks)), running: len(job.Ranks), cards: boot.NewCards(len(job.Ranks)),
		suspicions: make(map[int][]suspicion), halted: make(map[int]crew.Condition),
	}
	if job.Timeout > 0 {
		s.timeout = now.Add(job.Timeout)
	}
	return s
}

// setState holds every side effect of a change of state.
func (s *supervisor) setState(state jobState, now time.Time, grace time.Duration) {
	if state <= s.state {
		panic(fmt.Sprintf("launch: bug: job goes from %v to %v", s.state, state))
	}
	s.state = state
	s.asked = nil
	s.grace = now.Add(grace)
	switch state {
	case jobEnding:
		s.do.stopStarting()
		s.signalAll(syscall.SIGTERM)
	case jobKilling:
		s.do.stopStarting()
		s.signalAll(syscall.SIGKILL)
	case jobOver:
	default:
		panic(fmt.Sprintf("launch: bug: job enters %v", state))
	}
}

func (s *supervisor) isOver() bool    { return s.state == jobOver }
func (s *supervisor) isHurried() bool { return s.hurried }

// due is when tick must be called; zero if never.
func (s *supervisor) due() time.Time {
	switch s.state {
	case jobRunning:
		if s.asked != nil && (s.timeout.IsZero() || s.asked.until.Before(s.timeout)) {
			return s.asked.until
		}
		return s.timeout
	case jobEnding, jobKilling:
		return s.grace
	case jobOver:
		return time.Time{}
	default:
		panic("launch: bug: " + s.state.String())
	}
}

// tick tells the time.
func (s *supervisor) tick(now time.Time) {
	switch s.state {
	case jobRunning:
		s.settleAbort(now)
		if s.state == jobRunning && !s.timeout.IsZero() && !now.Before(s.timeout) {
			s.timedOut(now)
		}
	case jobEnding:
		if !now.Before(s.grace) {
			s.setState(jobKilling, now, killGrace)
		}
	case jobKilling:
		if !now.Before(s.grace) {
			s.giveUp(now)
		}
	case jobOver:
	default:
		panic("launch: bug: " + s.state.String())
	}
}

func (s *supervisor) timedOut(now time.Time) {
	text := fmt.Sprintf("timeout: the job ran longer than %v and was ended; still running: %s",
		s.job.Timeout, rankList(s.ranksRunning()))
	s.do.say(text)
	s.code = ExitTimeout
	s.end(now, failGrace, boot.Event{Kind: boot.JobAborted, Rank: -1, Message: text, Code: s.code})
}

// interrupted is called for a signal to fitrun. The second one kills.
func (s *supervisor) interrupted(now time.Time, sig syscall.Signal) {
	s.stopped = true
	switch s.state {
	case jobRunning:
		s.code, s.hurried = 128+int(sig), true
		text := fmt.Sprintf("%v: stopping %s; once more to kill at once", sig, rankList(s.ranksRunning()))
		s.do.say(text)
		s.end(now, interruptGrace, boot.Event{Kind: boot.JobAborted, Rank: -1, Message: text, Code: s.code})
	case jobEnding:
		s.hurried = true
		s.setState(jobKilling, now, killGrace)
	case jobKilling, jobOver:
	default:
		panic("launch: bug: " + s.state.String())
	}
}

// passed is called for a signal to fitrun that is for the ranks. Those that have not begun yet, or
// that are being ended, do not get it.
func (s *supervisor) passed(sig syscall.Signal) {
	if s.state == jobRunning {
		s.signalAll(sig)
	}
}

// outputFailed is called when the ranks' output cannot be shown any more.
func (s *supervisor) outputFailed(now time.Time, err error) {
	if s.state != jobRunning {
		return
	}
	s.do.say(fmt.Sprintf("writing the ranks' output: %v; the job was ended", sys.ExplainLimit(err)))
	s.code = ExitError
	s.end(now, failGrace, boot.Event{Kind: boot.JobAborted, Rank: -1, Message: "fitrun cannot write output", Code: s.code})
}

// end tells all ranks why and begins to end them. A rank is not told about itself.
func (s *supervisor) end(now time.Time, grace time.Duration, why ...boot.Event) {
	s.tellAll(why)
	s.setState(jobEnding, now, grace)
	s.maybeOver(now)
}

func (s *supervisor) signalAll(sig syscall.Signal) {
	for p := range s.job.Processes {
		s.signalOne(p, sig)
	}
}

func (s *supervisor) signalOne(p int, sig syscall.Signal) {
	if s.members[s.job.Processes[p].Ranks[0]].isRunning() {
		s.do.signal(p, sig)
	}
}

func (s *supervisor) giveUp(now time.Time) {
	s.do.say(fmt.Sprintf("%s did not die within %v of SIGKILL; leaving it to the kernel", rankList(s.ranksRunning()), killGrace))
	s.code, s.hurried = max(s.code, ExitError), true
	s.setState(jobOver, now, 0)
}

func (s *supervisor) maybeOver(now time.Time) {
	if s.running == 0 && s.state != jobOver {
		s.finalReports()
		s.setState(jobOver, now, 0)
	}
}

// exitCode is the job's, when it is over: that of the interrupt or timeout that ended it, else that
// of the lowest rank that failed on its own, else 0. A job that tolerates failures has a rule of
// its own.
func (s *supervisor) exitCode() int {
	if s.code != 0 {
		return s.code
	}
	if s.hasFT() {
		return s.codeOfSurvivors()
	}
	for r := range s.members {
		if s.members[r].code != 0 {
			return s.members[r].code
		}
	}
	return 0
}
