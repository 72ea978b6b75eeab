//go:build linux

package launch

import (
	"errors"
	"syscall"
	"testing"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
	"github.com/fitmpi/fitmpi/internal/boot"
)

// The tests in this file are about processes that hold several ranks.

// A process that dies takes all of its ranks with it, and the others hear of each.
func TestProcessOfRanksFails(t *testing.T) {
	st := runningOf(t, 1, 2)
	st.last[1] = []string{"oh"}
	st.exit(1, crew.Exit{Signal: syscall.SIGKILL})
	st.want("one message", "say ranks 1-2 (pid 101 on node) was killed by signal 9 (killed); the job was ended. Its last lines on stderr:\n  oh")
	st.want("the other hears of each", "tell 0 peer-failed of 1")
	st.want("the other hears of each", "tell 0 peer-failed of 2")
	st.wantEnding(syscall.SIGTERM, 0)
	st.exit(0, crew.Exit{Signal: syscall.SIGTERM})
	st.wantOver(137)
}

func TestProcessOfRanksEndsWell(t *testing.T) {
	st := runningOf(t, 2, 2)
	for p := range 2 {
		for r := 2 * p; r < 2*p+2; r++ {
			st.notice(r, boot.Notice{Kind: boot.Finalizing})
		}
		st.exit(p, crew.Exit{})
	}
	st.wantIdle("a clean job is silent")
	st.wantOver(0)
}

// Only the ranks that others could wait for are named.
func TestProcessOfRanksUnfinalized(t *testing.T) {
	st := runningOf(t, 3, 1)
	st.notice(1, boot.Notice{Kind: boot.Finalizing})
	st.exit(0, crew.Exit{})
	st.want("two are missed", "say ranks 0, 2 (pid 100 on node) exited with code 0 without mpi.Finalize, or with a session open, so others could wait for it forever; the job was ended")
	st.want("told", "tell 3 peer-failed of 0")
	st.want("told", "tell 3 peer-failed of 2")
	st.wantEnding(syscall.SIGTERM, 1)
	st.exit(1, crew.Exit{Signal: syscall.SIGTERM})
	st.wantOver(ExitError)
}

func TestProcessOfRanksWithoutInit(t *testing.T) {
	st := newStageOf(t, []int{2, 1}, 0)
	st.s.started(st.now, 0, 100)
	st.s.started(st.now, 1, 101)
	st.exit(0, crew.Exit{})
	st.wantIdle("nobody knows yet")
	st.notice(2, boot.Notice{Kind: boot.CardGiven})
	st.want("it is missed", "say rank 0 (pid 100 on node) exited with code 0 without mpi.Init, in which other ranks wait for it; the job was ended")
}

// The process is signalled once, not once per rank, and what it does then is no failure of any of
// its ranks.
func TestProcessOfRanksIsEndedOnce(t *testing.T) {
	st := runningOf(t, 1, 3)
	st.exit(0, crew.Exit{Code: 4})
	st.want("one message", "say rank 0 (pid 100 on node) exited with code 4; the job was ended")
	for _, told := range []string{"tell 1", "tell 2", "tell 3"} {
		st.want("each rank has a session", told+" peer-failed of 0")
	}
	st.wantEnding(syscall.SIGTERM, 1)
	st.exit(1, crew.Exit{Code: 9})
	st.wantIdle("a consequence")
	st.wantOver(4)
}

// The death of the rank's own process, which mpi ends when it aborts, does not hold up an abort;
// that of another does.
func TestAbortInProcessOfRanks(t *testing.T) {
	abort := boot.Notice{Kind: boot.AbortAsked, Code: 3, Text: "why"}
	t.Run("own process", func(t *testing.T) {
		st := runningOf(t, 2, 1)
		st.dead[0], st.dead[1] = true, true
		st.notice(1, abort)
		st.want("at once", "say rank 1 (pid 100 on node) aborted the job with code 3: why")
		st.want("told", "tell 0 job-aborted of 1")
		st.want("told", "tell 2 job-aborted of 1")
		st.wantEnding(syscall.SIGTERM, 0, 1)
		st.exit(0, crew.Exit{Code: 3})
		st.exit(1, crew.Exit{Signal: syscall.SIGTERM})
		st.wantIdle("the rest is a consequence")
		st.wantOver(3)
	})
	t.Run("another process", func(t *testing.T) {
		st := runningOf(t, 2, 1)
		st.dead[1] = true // as one of the ranks of process 0 it is gone
		st.notice(2, abort)
		st.wantIdle("waiting for the exit of rank 1")
		st.exit(0, crew.Exit{Code: 8})
		st.want("the death counts", "say ranks 0-1 (pid 100 on node) exited with code 8; the job was ended")
		st.want("told", "tell 2 peer-failed of 0")
		st.want("told", "tell 2 peer-failed of 1")
		st.wantEnding(syscall.SIGTERM, 1)
	})
}

func TestProcessOfRanksNotStarted(t *testing.T) {
	st := newStageOf(t, []int{1, 2, 2}, 0)
	st.s.started(st.now, 0, 100)
	st.s.notStarted(st.now, 1, errors.New("no room"))
	st.want("one message", "say ranks 1-2 (on node) could not be started: no room; the job was ended")
	st.want("told", "tell 0 peer-failed of 1")
	st.want("told", "tell 0 peer-failed of 2")
	st.wantEnding(syscall.SIGTERM, 0)
	st.s.notStarted(st.now, 2, nil)
	st.exit(0, crew.Exit{Signal: syscall.SIGTERM})
	st.wantOver(ExitUsage)
}

func TestReports(t *testing.T) {
	report := func(st *stage) {
		st.notice(0, boot.Notice{Kind: boot.Reported, Key: boot.TransportKey, Text: "shm 1"})
		st.notice(0, boot.Notice{Kind: boot.Reported, Key: "other", Text: "fact"})
	}
	st := running(t, 1)
	report(st)
	st.wantIdle("only --verbose shows them")
	st.s.verbose = true
	report(st)
	st.want("shown", "say rank 0 transports: shm 1")
	st.want("shown", "say rank 0 reports other: fact")
}
