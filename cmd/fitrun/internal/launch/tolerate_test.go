//go:build linux

package launch

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
	"github.com/fitmpi/fitmpi/internal/boot"
)

// tolerant is runningOf a job that goes on without the dead.
func tolerant(t *testing.T, processes ...int) *stage {
	st := newStageOf(t, processes, 0)
	st.s.job.FT = true
	for p := range processes {
		st.s.started(st.now, p, 100+p)
	}
	for r := range st.s.members {
		st.notice(r, boot.Notice{Kind: boot.CardGiven})
	}
	for r := range st.s.members {
		st.want("all have joined", fmt.Sprintf("deal %d", r))
	}
	return st
}

// endWell finalizes ranks and ends their processes.
func (st *stage) endWell(processes ...int) {
	for _, p := range processes {
		for _, r := range st.s.job.Processes[p].Ranks {
			st.notice(r, boot.Notice{Kind: boot.Finalizing})
		}
	}
	for _, p := range processes {
		st.exit(p, crew.Exit{})
	}
}

func TestTolerantDeath(t *testing.T) {
	for _, tc := range []struct {
		name string
		e    crew.Exit
		what string
	}{
		{"killed", crew.Exit{Signal: syscall.SIGKILL}, "was killed by signal 9 (killed)"},
		{"code", crew.Exit{Code: 3}, "exited with code 3"},
		{"panic", crew.Exit{Code: 2, Cause: "panic: boom"}, "exited with code 2 (panic: boom)"},
		{"unfinalized", crew.Exit{}, "exited with code 0 without mpi.Finalize, or with a session open, so others could wait for it forever"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			st := tolerant(t, 1, 1, 1)
			st.last[1] = []string{"last words"}
			st.exit(1, tc.e)
			st.want("one line", "say rank 1 (pid 101 on node) "+tc.what+"; ranks 0, 2 go on. Its last lines on stderr:\n  last words")
			st.want("all hear it", "tell 0 peer-failed of 1")
			st.want("all hear it", "tell 2 peer-failed of 1")
			st.wantIdle("the job goes on")
			if m := st.s.members[1]; !m.dead || m.code == 0 || m.why != tc.what {
				t.Errorf("the dead rank is shown as %+v", m)
			}
			st.endWell(0, 2)
			st.want("at the end", "say rank 1 has died, ranks 0, 2 ended well")
			st.wantOver(0)
		})
	}
}

// Until all have met there is nothing to go on with.
func TestTolerantDeathInInit(t *testing.T) {
	st := newStage(t, 3, 0)
	st.s.job.FT = true
	for p := range 3 {
		st.s.started(st.now, p, 100+p)
	}
	st.notice(0, boot.Notice{Kind: boot.CardGiven})
	st.exit(1, crew.Exit{Signal: syscall.SIGKILL})
	st.want("one line", "say rank 1 (pid 101 on node) was killed by signal 9 (killed); the job was ended")
	st.want("all hear it", "tell 0 peer-failed of 1")
	st.want("all hear it", "tell 2 peer-failed of 1")
	st.wantEnding(syscall.SIGTERM, 0, 2)
	st.exit(0, crew.Exit{Signal: syscall.SIGTERM})
	st.exit(2, crew.Exit{Signal: syscall.SIGTERM})
	st.wantOver(137)
}

// The ranks of a process die together.
func TestTolerantProcessOfRanks(t *testing.T) {
	st := tolerant(t, 2, 2)
	st.exit(1, crew.Exit{Code: 2, Cause: "panic: boom"})
	st.want("one line", "say ranks 2-3 (pid 101 on node) exited with code 2 (panic: boom); ranks 0-1 go on")
	for r := range 2 {
		st.want("all hear it", fmt.Sprintf("tell %d peer-failed of 2", r))
		st.want("all hear it", fmt.Sprintf("tell %d peer-failed of 3", r))
	}
	st.endWell(0)
	st.want("at the end", "say ranks 2-3 have died, ranks 0-1 ended well")
	st.wantOver(0)
}

func TestTolerantNobodyIsLeft(t *testing.T) {
	st := tolerant(t, 1, 1)
	st.exit(1, crew.Exit{Code: 3})
	st.want("one line", "say rank 1 (pid 101 on node) exited with code 3; rank 0 goes on")
	st.want("it hears it", "tell 0 peer-failed of 1")
	st.exit(0, crew.Exit{Signal: syscall.SIGSEGV})
	st.want("one line", "say rank 0 (pid 100 on node) was killed by signal 11 (segmentation fault); no rank is left")
	st.want("at the end", "say ranks 0-1 have died, no rank ended well")
	st.wantOver(3) // the first that died
}

// A survivor that says that it has failed, or that fails when it was done with the others, fails
// the job.
func TestTolerantSurvivorFails(t *testing.T) {
	t.Run("says so", func(t *testing.T) {
		st := tolerant(t, 1, 1, 1)
		st.exit(2, crew.Exit{Signal: syscall.SIGKILL})
		st.notice(1, boot.Notice{Kind: boot.Reported, Key: boot.FailedKey, Text: "rank 1: the result is wrong"})
		st.log = nil
		st.exit(1, crew.Exit{Code: 1})
		st.want("one line", "say rank 1 (pid 101 on node) exited with code 1: rank 1: the result is wrong; rank 0 goes on")
		st.want("it hears it", "tell 0 peer-failed of 1")
		st.endWell(0)
		st.want("at the end", "say ranks 1-2 have died, rank 0 ended well")
		st.wantOver(1)
	})
	t.Run("when done", func(t *testing.T) {
		st := tolerant(t, 1, 1)
		st.notice(0, boot.Notice{Kind: boot.Finalizing})
		st.notice(1, boot.Notice{Kind: boot.Finalizing})
		st.exit(1, crew.Exit{Code: 9})
		st.exit(0, crew.Exit{})
		st.wantOver(9)
	})
}

// TestTolerantAbort: Abort ends all, and its code counts, whichever rank died before.
func TestTolerantAbort(t *testing.T) {
	st := tolerant(t, 1, 1, 1)
	st.exit(2, crew.Exit{Signal: syscall.SIGKILL})
	st.log = nil
	st.notice(1, boot.Notice{Kind: boot.AbortAsked, Code: 7, Text: "enough"})
	st.want("one line", "say rank 1 (pid 101 on node) aborted the job with code 7: enough")
	st.want("all hear it", "tell 0 job-aborted of 1")
	st.wantEnding(syscall.SIGTERM, 0, 1)
	st.exit(0, crew.Exit{Signal: syscall.SIGTERM})
	st.exit(1, crew.Exit{Code: 7})
	st.wantIdle("nothing more is said")
	st.wantOver(7)
}

// An abort that waits for the news of a death is carried out when that has come.
func TestTolerantAbortAfterDeath(t *testing.T) {
	st := tolerant(t, 1, 1)
	st.dead[1] = true
	st.notice(0, boot.Notice{Kind: boot.AbortAsked, Code: 1, Text: "rank 1 failed"})
	st.wantIdle("rank 1 may be the reason")
	st.exit(1, crew.Exit{Signal: syscall.SIGKILL})
	st.want("the death", "say rank 1 (pid 101 on node) was killed by signal 9 (killed); rank 0 goes on")
	st.want("it hears it", "tell 0 peer-failed of 1")
	st.want("and ends all", "say rank 0 (pid 100 on node) aborted the job with code 1: rank 1 failed")
	st.wantEnding(syscall.SIGTERM, 0)
	st.exit(0, crew.Exit{Code: 1})
	st.wantOver(1)
}

// All ranks of a host that is lost are dead.
func TestTolerantHostLost(t *testing.T) {
	st := tolerant(t, 1, 1, 1, 1)
	st.s.hostLost(st.now, []int{1, 2}, "host b: gone")
	st.want("one line", "say host b: gone; with it ranks 1-2; ranks 0, 3 go on")
	for _, r := range []int{0, 3} {
		st.want("all hear it", fmt.Sprintf("tell %d peer-failed of 1", r))
		st.want("all hear it", fmt.Sprintf("tell %d peer-failed of 2", r))
	}
	st.endWell(0, 3)
	st.want("at the end", "say ranks 1-2 have died, ranks 0, 3 ended well")
	st.wantOver(0)
}

// A rank that talks nonsense is ended, and its process is dead for all at once.
func TestTolerantLinkBroken(t *testing.T) {
	st := tolerant(t, 2, 1)
	st.s.linkBroken(st.now, 0, errors.New("nonsense"))
	const why = "broke the boot protocol: nonsense; was it built with the FitMPI of this fitrun?"
	st.want("it is ended", "signal 0 killed")
	st.want("one line", "say ranks 0-1 (pid 100 on node) "+why+"; rank 2 goes on")
	st.want("it hears it", "tell 2 peer-failed of 0")
	st.want("it hears it", "tell 2 peer-failed of 1")
	st.s.linkBroken(st.now, 1, errors.New("more"))
	st.wantIdle("it is known")
	st.exit(0, crew.Exit{Signal: syscall.SIGKILL})
	st.endWell(1)
	st.want("at the end", "say ranks 0-1 have died, rank 2 ended well")
	st.wantOver(0)
}
