//go:build linux

package launch

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
	"github.com/fitmpi/fitmpi/internal/boot"
)

// stage is a job with fake hands and a fake clock; its methods read as a script.
type stage struct {
	t    *testing.T
	s    *supervisor
	now  time.Time
	dead map[int]bool // ranks and processes that have exited, though the supervisor has not heard yet
	hung map[int]bool // ranks that hung up, or of which their host has not said whether they exit
	hit  map[int]bool // processes that were signalled when they ran
	log  []string     // what the hands did
	last map[int][]string
}

func newStage(t *testing.T, ranks int, timeout time.Duration) *stage {
	return newStageOf(t, slices.Repeat([]int{1}, ranks), timeout)
}

// newStageOf is for processes that hold so many ranks each.
func newStageOf(t *testing.T, processes []int, timeout time.Duration) *stage {
	st := &stage{t: t, now: time.Unix(1000, 0), dead: make(map[int]bool), hung: make(map[int]bool), hit: make(map[int]bool), last: make(map[int][]string)}
	job := &Job{Timeout: timeout}
	for p, n := range processes {
		job.Processes = append(job.Processes, Process{Host: "node"})
		for range n {
			job.Processes[p].Ranks = append(job.Processes[p].Ranks, len(job.Ranks))
			job.Ranks = append(job.Ranks, Rank{proc: p, Info: boot.Info{Rank: len(job.Ranks), Host: "node"}})
		}
	}
	st.s = newSupervisor(job, st, false, st.now)
	return st
}

// running is a stage whose ranks have all joined.
func running(t *testing.T, ranks int) *stage { return runningOf(t, slices.Repeat([]int{1}, ranks)...) }

// runningOf is running for processes that hold so many ranks each. Process p has the id 100+p.
func runningOf(t *testing.T, processes ...int) *stage {
	st := newStageOf(t, processes, 0)
	for p := range processes {
		st.s.started(st.now, p, 100+p)
	}
	for r := range st.s.members {
		st.notice(r, boot.Notice{Kind: boot.CardGiven})
	}
	for r := range st.s.members {
		st.want("all have joined", fmt.Sprintf("deal %d", r))
	}
	st.wantIdle("the job runs")
	return st
}

func (st *stage) exit(p int, e crew.Exit) {
	e.Ended, e.Last = st.hit[p], st.last[p]
	st.s.exited(st.now, p, e)
}

func (st *stage) notice(r int, n boot.Notice) { st.s.noticed(st.now, r, n) }

func (st *stage) pass(d time.Duration)         { st.now = st.now.Add(d); st.s.tick(st.now) }
func (st *stage) did(format string, a ...any)  { st.log = append(st.log, fmt.Sprintf(format, a...)) }
func (st *stage) tell(rank int, ev boot.Event) { st.did("tell %d %v of %d", rank, ev.Kind, ev.Rank) }
func (st *stage) deal(rank int, _ *boot.Cards) { st.did("deal %d", rank) }
func (st *stage) leaving(rank int) crew.Leaving {
	switch {
	case st.dead[rank]:
		return crew.Exits
	case st.hung[rank]:
		return crew.HangsUp
	default:
		return crew.Stays
	}
}
func (st *stage) stopStarting()   { st.did("stop starting") }
func (st *stage) say(text string) { st.did("say %s", text) }
func (st *stage) sayOf(_ int, text string, last []string) {
	st.did("say %s", utterance{text: text, last: last}.whole())
}

func (st *stage) examine(proc int)             { st.did("examine %d", proc) }
func (st *stage) census()                      {}
func (st *stage) changed(int)                  {}
func (st *stage) answered(int, int, []byte)    {}
func (st *stage) reported(int, string, string) {}
func (st *stage) lost([]boot.Event)            {}
func (st *stage) spawn(rank, number int, order []byte) {
	st.did("spawn for %d, order %d: %s", rank, number, order)
}

func (st *stage) signal(proc int, sig syscall.Signal) {
	st.did("signal %d %v", proc, sig)
	st.hit[proc] = st.hit[proc] || !st.dead[proc]
}

// want takes the next action of the hands.
func (st *stage) want(why, action string) {
	st.t.Helper()
	if len(st.log) == 0 {
		st.t.Fatalf("%s: nothing done, want %q", why, action)
	}
	if st.log[0] != action {
		st.t.Fatalf("%s: %q, want %q", why, st.log[0], action)
	}
	st.log = st.log[1:]
}

func (st *stage) wantIdle(why string) {
	st.t.Helper()
	if len(st.log) > 0 {
		st.t.Fatalf("%s: %q, want nothing", why, st.log)
	}
}

func (st *stage) wantOver(code int) {
	st.t.Helper()
	if !st.s.isOver() || st.s.exitCode() != code {
		st.t.Fatalf("job is %v with code %d, want it over with %d", st.s.state, st.s.exitCode(), code)
	}
}

// wantEnding takes the actions that end the job for the given processes.
func (st *stage) wantEnding(sig syscall.Signal, processes ...int) {
	st.t.Helper()
	st.want("no more ranks", "stop starting")
	for _, p := range processes {
		st.want("the job ends", fmt.Sprintf("signal %d %v", p, sig))
	}
	st.wantIdle("that is all")
}

func TestCleanJob(t *testing.T) {
	st := running(t, 2)
	for r := range 2 {
		st.notice(r, boot.Notice{Kind: boot.Finalizing})
		st.exit(r, crew.Exit{})
	}
	st.wantIdle("a clean job is silent")
	st.wantOver(0)
}

func TestFailureEndsTheJob(t *testing.T) {
	st := running(t, 3)
	st.last[1] = []string{"oh", "no"}
	st.exit(1, crew.Exit{Code: 4})
	st.want("one message", "say rank 1 (pid 101 on node) exited with code 4; the job was ended. Its last lines on stderr:\n  oh\n  no")
	st.want("others hear of it", "tell 0 peer-failed of 1")
	st.want("others hear of it", "tell 2 peer-failed of 1")
	st.wantEnding(syscall.SIGTERM, 0, 2)
	st.exit(0, crew.Exit{Signal: syscall.SIGTERM})
	st.pass(failGrace - 1)
	st.wantIdle("grace")
	st.pass(1)
	st.wantEnding(syscall.SIGKILL, 2)
	st.exit(2, crew.Exit{Code: 1})
	st.wantIdle("what we ended did not fail")
	st.wantOver(4)
}

// "The code is that of the lowest rank that failed on its own."
func TestLowestRankThatFailedOnItsOwn(t *testing.T) {
	st := running(t, 4)
	st.dead[1] = true // exited before we signalled it; its exit is still on the way
	st.exit(2, crew.Exit{Signal: syscall.SIGSEGV})
	st.exit(0, crew.Exit{Code: 9}) // after our signal: a consequence
	st.exit(1, crew.Exit{Code: 5})
	st.exit(3, crew.Exit{Signal: syscall.SIGTERM})
	st.wantOver(5)
	if n := len(slices.DeleteFunc(st.log, func(a string) bool { return !strings.HasPrefix(a, "say") })); n != 1 {
		t.Errorf("%d messages, want 1", n)
	}
}

// TestWhyRanksEnded: the observer of the job is told what ended each rank.
func TestWhyRanksEnded(t *testing.T) {
	st := running(t, 6)
	st.dead[1] = true // exits after the job's end began, before our signal
	st.notice(4, boot.Notice{Kind: boot.Finalizing})
	st.exit(4, crew.Exit{})
	st.exit(2, crew.Exit{Signal: syscall.SIGSEGV})
	st.exit(0, crew.Exit{Code: 9}) // after our signal
	st.exit(1, crew.Exit{Code: 5})
	st.notice(3, boot.Notice{Kind: boot.AbortAsked, Code: 1, Text: "lost rank 2"})
	st.exit(3, crew.Exit{Code: 1})
	st.exit(5, crew.Exit{Signal: syscall.SIGTERM})
	for r, want := range []string{
		"was ended with the job", "exited with code 5 while the job was being ended", "was killed by signal 11 (segmentation fault)",
		"was ended with the job", "", "was ended with the job",
	} {
		if got := st.s.members[r].why; got != want {
			t.Errorf("rank %d %q, want %q", r, got, want)
		}
	}
	abort := running(t, 2)
	abort.notice(1, boot.Notice{Kind: boot.AbortAsked, Code: 3, Text: "singular\n"})
	if got := abort.s.members[1].why; got != "aborted the job with code 3: singular" {
		t.Errorf("rank 1 %q", got)
	}
}

func TestExitBeforeFinalize(t *testing.T) {
	st := running(t, 2)
	st.exit(0, crew.Exit{})
	st.want("it failed", "say rank 0 (pid 100 on node) exited with code 0 without mpi.Finalize, or with a session open, so others could wait for it forever; the job was ended")
	st.exit(1, crew.Exit{Signal: syscall.SIGTERM})
	st.wantOver(ExitError)
}

// A rank without sessions may exit, unless it has opened another one meanwhile.
func TestExitWhileIdle(t *testing.T) {
	rest := func(text string) boot.Notice { return boot.Notice{Kind: boot.Reported, Key: boot.IdleKey, Text: text} }
	st := running(t, 2)
	st.notice(0, rest("yes"))
	if m := st.s.members[0]; m.state != memberIdle || !m.isRunning() {
		t.Errorf("rank 0 is %v", m.state)
	}
	st.notice(0, rest("yes"))
	st.exit(0, crew.Exit{})
	st.wantIdle("its sessions were finalized")
	st.notice(1, rest("yes"))
	st.notice(1, rest("no"))
	st.notice(1, rest("no"))
	st.exit(1, crew.Exit{})
	st.want("it takes part again", "say rank 1 (pid 101 on node) exited with code 0 without mpi.Finalize, or with a session open, so others could wait for it forever; the job was ended")
	st.wantOver(ExitError)
}

func TestExitWithoutInit(t *testing.T) {
	const said = "say rank 1 (pid 101 on node) exited with code 0 without mpi.Init, in which other ranks wait for it; the job was ended"
	start := func() *stage {
		st := newStage(t, 2, 0)
		st.s.started(st.now, 0, 100)
		st.s.started(st.now, 1, 101)
		return st
	}
	t.Run("after others joined", func(t *testing.T) {
		st := start()
		st.notice(0, boot.Notice{Kind: boot.CardGiven})
		st.exit(1, crew.Exit{})
		st.want("it is missed", said)
	})
	t.Run("before others joined", func(t *testing.T) {
		st := start()
		st.exit(1, crew.Exit{})
		st.wantIdle("nobody knows yet")
		st.notice(0, boot.Notice{Kind: boot.CardGiven})
		st.want("it is missed", said)
	})
	t.Run("nobody joins", func(t *testing.T) {
		st := start()
		st.exit(1, crew.Exit{})
		st.exit(0, crew.Exit{})
		st.wantIdle("not an MPI program")
		st.wantOver(0)
	})
}

func TestAbort(t *testing.T) {
	st := running(t, 2)
	st.notice(1, boot.Notice{Kind: boot.AbortAsked, Code: 300, Text: "singular\n"})
	st.want("shown once", "say rank 1 (pid 101 on node) aborted the job with code 300: singular")
	st.want("others hear of it", "tell 0 job-aborted of 1")
	st.wantEnding(syscall.SIGTERM, 0, 1)
	st.notice(0, boot.Notice{Kind: boot.AbortAsked, Code: 1, Text: "me too"})
	st.exit(1, crew.Exit{Code: 300 & 0xff})
	st.exit(0, crew.Exit{Code: 1})
	st.wantIdle("the rest is a consequence")
	st.wantOver(300 & 0xff)
}

// An abort by a rank that saw another die must not hide the death.
func TestAbortAsConsequence(t *testing.T) {
	abort := boot.Notice{Kind: boot.AbortAsked, Code: 1, Text: "lost rank 1"}
	t.Run("the death is heard next", func(t *testing.T) {
		st := running(t, 2)
		st.dead[1] = true
		st.notice(0, abort)
		st.wantIdle("waiting for the exit of rank 1")
		st.exit(0, crew.Exit{Code: 1})
		st.exit(1, crew.Exit{Signal: syscall.SIGKILL})
		st.want("the death counts", "say rank 1 (pid 101 on node) was killed by signal 9 (killed); the job was ended")
		st.wantOver(137)
	})
	t.Run("the death was clean", func(t *testing.T) {
		st := running(t, 2)
		st.notice(1, boot.Notice{Kind: boot.Finalizing})
		st.dead[1] = true
		st.notice(0, abort)
		st.exit(1, crew.Exit{})
		st.want("the abort counts", "say rank 0 (pid 100 on node) aborted the job with code 1: lost rank 1")
	})
	for _, x := range []struct {
		name  string
		wait  time.Duration
		leave func(st *stage)
	}{
		{"it hung up, and nothing more is heard", suspectWait, func(st *stage) { st.hung[1] = true }},
		{"it exits, and nothing more is heard", exitWait, func(st *stage) { st.dead[1] = true }},
	} {
		t.Run(x.name, func(t *testing.T) {
			st := running(t, 2)
			x.leave(st)
			st.notice(0, abort)
			if want := st.now.Add(x.wait); !st.s.due().Equal(want) {
				t.Errorf("due at %v, want %v", st.s.due(), want)
			}
			st.pass(x.wait - 1)
			st.wantIdle("waiting for the exit of rank 1")
			st.pass(1)
			st.want("the abort counts", "say rank 0 (pid 100 on node) aborted the job with code 1: lost rank 1")
		})
	}
	t.Run("the process exits for long", func(t *testing.T) {
		st := running(t, 2)
		st.hung[1] = true
		st.notice(0, abort)
		st.dead[1] = true // as the kernel says next
		st.pass(suspectWait)
		st.wantIdle("its exit will come")
		st.exit(1, crew.Exit{Code: 5})
		st.want("the death counts", "say rank 1 (pid 101 on node) exited with code 5; the job was ended")
		st.exit(0, crew.Exit{Code: 1})
		st.wantOver(5)
	})
}

func TestTimeout(t *testing.T) {
	st := newStage(t, 3, time.Minute)
	for r := range 3 {
		st.s.started(st.now, r, 100+r)
	}
	st.exit(1, crew.Exit{})
	st.pass(time.Minute - 1)
	st.wantIdle("time left")
	st.pass(1)
	st.want("one message", "say timeout: the job ran longer than 1m0s and was ended; still running: ranks 0, 2")
	st.want("told", "tell 0 job-aborted of -1")
	st.want("told", "tell 2 job-aborted of -1")
	st.wantEnding(syscall.SIGTERM, 0, 2)
	st.exit(0, crew.Exit{})
	st.exit(2, crew.Exit{Code: 3})
	st.wantOver(ExitTimeout)
}

func TestInterrupts(t *testing.T) {
	st := running(t, 1)
	st.s.interrupted(st.now, syscall.SIGINT)
	st.want("one message", "say interrupt: stopping rank 0; once more to kill at once")
	st.want("told", "tell 0 job-aborted of -1")
	st.wantEnding(syscall.SIGTERM, 0)
	st.pass(interruptGrace - 1)
	st.wantIdle("grace")
	st.s.interrupted(st.now, syscall.SIGINT)
	st.wantEnding(syscall.SIGKILL, 0)
	st.s.interrupted(st.now, syscall.SIGINT)
	st.wantIdle("no more to do")
	st.exit(0, crew.Exit{Signal: syscall.SIGKILL})
	st.wantOver(130)
}

func TestProcessThatDoesNotDie(t *testing.T) {
	st := running(t, 1)
	st.s.interrupted(st.now, syscall.SIGTERM)
	st.pass(interruptGrace)
	st.pass(killGrace)
	if got := st.log[len(st.log)-1]; got != "say rank 0 did not die within 5s of SIGKILL; leaving it to the kernel" {
		t.Errorf("%q, want it to give up on rank 0", got)
	}
	st.wantOver(143)
}

func TestStartFails(t *testing.T) {
	st := newStage(t, 3, 0)
	st.s.started(st.now, 0, 100)
	st.s.notStarted(st.now, 1, errors.New("no room"))
	st.want("one message", "say rank 1 (on node) could not be started: no room; the job was ended")
	st.want("told", "tell 0 peer-failed of 1")
	st.wantEnding(syscall.SIGTERM, 0)
	st.s.notStarted(st.now, 2, nil)
	st.exit(0, crew.Exit{Signal: syscall.SIGTERM})
	st.wantOver(ExitUsage)
}

// A rank whose start overlaps the end of the job is ended as well.
func TestStartedTooLate(t *testing.T) {
	st := newStage(t, 2, 0)
	st.s.started(st.now, 0, 100)
	st.exit(0, crew.Exit{Code: 6})
	st.log = nil
	st.s.started(st.now, 1, 101)
	st.want("ended at once", "signal 1 terminated")
	st.exit(1, crew.Exit{Signal: syscall.SIGTERM})
	st.wantOver(6)
}

func TestLinkBroken(t *testing.T) {
	st := running(t, 2)
	st.s.linkBroken(st.now, 1, errors.New("malformed"))
	st.want("one message", "say rank 1 (pid 101 on node) broke the boot protocol: malformed; was it built with the FitMPI of this fitrun?; the job was ended")
	st.exit(1, crew.Exit{Signal: syscall.SIGTERM})
	st.exit(0, crew.Exit{Signal: syscall.SIGTERM})
	st.wantOver(ExitError)
}

func TestOutputFails(t *testing.T) {
	st := running(t, 1)
	st.s.outputFailed(st.now, syscall.ENOSPC)
	st.want("one message", "say writing the ranks' output: no space left on device; the job was ended")
	st.exit(0, crew.Exit{Signal: syscall.SIGTERM})
	st.wantOver(ExitError)
}

func TestRankList(t *testing.T) {
	for want, ranks := range map[string][]int{
		"no rank": nil, "rank 3": {3}, "ranks 0-2": {0, 1, 2}, "ranks 0-1, 4, 6-7": {0, 1, 4, 6, 7},
	} {
		if got := rankList(ranks); got != want {
			t.Errorf("%v: %q, want %q", ranks, got, want)
		}
	}
}

// All ranks of a host that is lost have failed, and the others hear of each.
func TestHostLost(t *testing.T) {
	st := running(t, 4)
	st.s.hostLost(st.now, []int{3, 1}, "host b: the connection ended")
	st.want("one message", "say host b: the connection ended; with it ranks 1, 3; the job was ended")
	for _, other := range []int{0, 2} {
		st.want("others hear of it", fmt.Sprintf("tell %d peer-failed of 1", other))
		st.want("others hear of it", fmt.Sprintf("tell %d peer-failed of 3", other))
	}
	st.wantEnding(syscall.SIGTERM, 0, 2)
	st.exit(0, crew.Exit{Signal: syscall.SIGTERM})
	st.s.hostLost(st.now, []int{2}, "host c: the connection ended")
	st.wantIdle("the job is ending anyway")
	st.wantOver(ExitError)
}

// A host whose ranks have all ended well is not missed.
func TestHostLostLate(t *testing.T) {
	st := running(t, 2)
	for r := range 2 {
		st.notice(r, boot.Notice{Kind: boot.Finalizing})
	}
	st.exit(1, crew.Exit{})
	st.s.hostLost(st.now, []int{1}, "host b: the connection ended")
	st.wantIdle("nothing of it was left")
	st.exit(0, crew.Exit{})
	st.wantOver(0)
}

// An abort waits for what other hosts know of ranks that may have died before it.
func TestAbortWaitsForCensus(t *testing.T) {
	st := running(t, 3)
	st.hung[2] = true // not known yet, so it may be
	st.notice(0, boot.Notice{Kind: boot.AbortAsked, Code: 1, Text: "lost rank 1"})
	st.wantIdle("waiting for the answer")
	delete(st.hung, 2)
	st.s.tick(st.now)
	st.want("the abort counts", "say rank 0 (pid 100 on node) aborted the job with code 1: lost rank 1")
}
