//go:build linux

package launch

import (
	"syscall"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
	"github.com/fitmpi/fitmpi/internal/boot"
)

// The time for which a job is stopped counts for no timeout.
func TestPausedIsNotLate(t *testing.T) {
	st := newStage(t, 2, time.Minute)
	for r := range 2 {
		st.s.started(st.now, r, 100+r)
	}
	st.now = st.now.Add(time.Hour)
	st.s.paused(time.Hour)
	st.pass(time.Minute - 1)
	st.wantIdle("time left")
	st.s.interrupted(st.now, syscall.SIGINT)
	st.want("one message", "say interrupt: stopping ranks 0-1; once more to kill at once")
	st.want("told", "tell 0 job-aborted of -1")
	st.want("told", "tell 1 job-aborted of -1")
	st.wantEnding(syscall.SIGTERM, 0, 1)
	st.now = st.now.Add(time.Hour)
	st.s.paused(time.Hour)
	st.pass(interruptGrace - 1)
	st.wantIdle("they may end by themselves")
}

// What was seen of a process while its crew is paused says nothing: it is stopped by us.
func TestPausedIsNotDead(t *testing.T) {
	st := running(t, 3)
	st.s.job.Silence = time.Minute
	st.notice(2, boot.Notice{Kind: boot.Suspected, Suspect: 1, Text: "nothing was heard of it for 1m0s"})
	st.want("looked at", "examine 1")
	st.examined(1, crew.Condition{Paused: true})
	st.wantIdle("all are stopped")
}
