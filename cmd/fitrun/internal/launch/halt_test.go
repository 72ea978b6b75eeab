//go:build linux

package launch

import (
	"syscall"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
	"github.com/fitmpi/fitmpi/internal/boot"
)

func stoppedFor(d time.Duration) crew.Condition {
	return crew.Condition{Stopped: true, Signal: syscall.SIGSTOP, Idle: d}
}

// A rank that is silent though the kernel runs its process is not taken for dead, which is said
// once; if that ends it is.
func TestSilentRankThatRuns(t *testing.T) {
	st := running(t, 3)
	st.s.job.Silence = time.Minute
	for _, want := range []string{"say rank 1 (pid 101 on node): nothing was heard of it for 1m0s, says rank 0; its process runs, so it is not taken for dead: " +
		"perhaps it is in a loop that the runtime may not interrupt (GODEBUG=asyncpreemptoff=1), or in a long step of a reduction", ""} {
		st.suspect(0, 1, "nothing was heard of it for 1m0s")
		st.want("looked at", "examine 1")
		st.examined(1, crew.Condition{Idle: 29 * time.Second})
		if want != "" {
			st.want("why the job waits", want)
		}
		st.wantIdle("said once")
	}
	st.suspect(0, 1, "nothing was heard of it for 1m0s")
	st.want("looked at", "examine 1")
	st.examined(1, crew.Condition{Idle: 59 * time.Second})
	st.want("ended for good", "signal 1 killed")
	st.want("said", "say rank 1 (pid 101 on node) taken for dead: nothing was heard of it for 1m0s, says rank 0; its host has not seen it run for 59s; the job was ended")
}

// That a process runs is no help where the way to it is lost.
func TestRunningRankThatIsCutOff(t *testing.T) {
	for _, why := range []string{boot.Unreachable + "for 1m0s it has acknowledged nothing", boot.Lost + "connection reset"} {
		st := running(t, 3)
		st.s.job.Silence = time.Minute
		st.suspect(0, 1, "nothing was heard of it for 1m0s")
		st.want("looked at", "examine 1")
		st.suspect(2, 1, why)
		st.examined(1, crew.Condition{})
		st.want("ended for good", "signal 1 killed")
		st.want("said", "say rank 1 (pid 101 on node) taken for dead: "+why+", says rank 2; the job was ended")
	}
}

// A process that is stopped while others run is ended though no rank has missed it.
func TestStoppedProcessThatNobodyMisses(t *testing.T) {
	st := running(t, 3)
	st.s.job.Silence = time.Minute
	st.examined(1, stoppedFor(119*time.Second))
	st.examined(1, crew.Condition{})
	st.examined(1, stoppedFor(time.Second))
	st.wantIdle("it went on in between")
	st.examined(1, stoppedFor(2*time.Minute))
	st.want("ended for good", "signal 1 killed")
	st.want("said", "say rank 1 (pid 101 on node) stopped by SIGSTOP and taken for dead: it has not gone on for 2m0s; the job was ended")
}

// A job all of whose processes are stopped is ended too, later; with ranks that are threads, and
// with processes that have ended.
func TestStoppedJob(t *testing.T) {
	for _, processes := range [][]int{{1, 1}, {2, 2}, {1, 1, 1}} {
		st := runningOf(t, processes...)
		st.s.job.Silence = time.Minute
		if len(processes) == 3 {
			st.notice(2, boot.Notice{Kind: boot.Finalizing})
			st.exit(2, crew.Exit{})
		}
		st.examined(0, stoppedFor(110*time.Second))
		st.examined(1, stoppedFor(239*time.Second))
		st.examined(0, stoppedFor(239*time.Second))
		st.wantIdle("it may be meant to go on")
		st.examined(1, stoppedFor(240*time.Second))
		st.examined(0, stoppedFor(239*time.Second))
		st.wantIdle("since all are stopped")
		st.examined(0, stoppedFor(240*time.Second))
		st.want("ended for good", "signal 0 killed")
		st.want("said", "say "+st.s.names(st.s.job.Processes[0].Ranks)+" stopped by SIGSTOP and taken for dead: it has not gone on for 4m0s, as has the rest of the job; the job was ended")
	}
}

// TestStoppedProcessThatMayBe: no process is ended for being stopped where that may be. A debugger
// has one of all, the ranks are done, none has begun, or silence may last for ever.
func TestStoppedProcessThatMayBe(t *testing.T) {
	st := running(t, 2)
	st.s.job.Silence = time.Minute
	st.examined(0, crew.Condition{Stopped: true, Tracer: 7})
	st.examined(1, stoppedFor(time.Hour))
	st.wantIdle("a debugger has rank 0")

	st = running(t, 2)
	st.examined(1, stoppedFor(time.Hour))
	st.wantIdle("for ever")

	st = running(t, 2)
	st.s.job.Silence = time.Minute
	st.notice(1, boot.Notice{Kind: boot.Finalizing})
	st.examined(1, stoppedFor(time.Hour))
	st.wantIdle("it is done")

	st = newStageOf(t, []int{1, 1}, 0)
	st.s.job.Silence = time.Minute
	for p := range 2 {
		st.s.started(st.now, p, 100+p)
	}
	st.examined(1, stoppedFor(time.Hour))
	st.wantIdle("these may be no ranks")
}

func TestSilenceOf(t *testing.T) {
	const v = "FITMPI_HEARTBEAT_TIMEOUT="
	for _, tc := range []struct {
		r    Request
		want time.Duration
	}{
		{Request{Apps: one(1)}, time.Minute},
		{Request{Apps: one(1), HeartbeatTimeout: "5s", Env: []string{v + "7s"}}, 5 * time.Second},
		{Request{Apps: one(1), Env: []string{v + "7s"}}, 7 * time.Second},
		{Request{Apps: one(1, v+"8s"), Env: []string{v + "7s"}}, 8 * time.Second},
		{Request{Apps: []App{{Ranks: 1, Set: []string{v + "7s"}}, {Ranks: 1, Set: []string{v + "9s"}}}}, 9 * time.Second},
		{Request{Apps: []App{{Ranks: 1, Set: []string{v + "0s"}}, {Ranks: 1}}}, 0},
		{Request{Apps: one(1, v+"soon")}, 0},
	} {
		if got := silenceOf(tc.r); got != tc.want {
			t.Errorf("%+v: %v, want %v", tc.r, got, tc.want)
		}
	}
}
