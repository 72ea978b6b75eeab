//go:build linux

package launch

import (
	"syscall"
	"testing"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
	"github.com/fitmpi/fitmpi/internal/boot"
)

// suspect lets rank by say of rank q that it is silent, or with "" that it is not.
func (st *stage) suspect(by, q int, text string) {
	st.notice(by, boot.Notice{Kind: boot.Suspected, Suspect: q, Text: text})
}

func (st *stage) examined(p int, c crew.Condition) { st.s.examined(st.now, p, c) }

// TestSilentRankIsEnded: a rank that is silent and runs is ended for good, and then all ranks are
// told.
func TestSilentRankIsEnded(t *testing.T) {
	for _, tc := range []struct {
		c    crew.Condition
		what string
	}{
		{crew.Condition{}, "taken for dead"},
		{crew.Condition{Stopped: true, Signal: syscall.SIGSTOP}, "stopped by SIGSTOP and taken for dead"},
		{crew.Condition{Stopped: true}, "stopped by a signal and taken for dead"},
	} {
		st := running(t, 3)
		st.suspect(0, 1, "nothing was heard of it for 1m0s")
		st.want("looked at first", "examine 1")
		st.suspect(2, 1, "nothing was heard of it for 1m0s")
		st.wantIdle("once")
		st.examined(1, tc.c)
		st.want("ended for good", "signal 1 killed")
		st.want("said", "say rank 1 (pid 101 on node) "+tc.what+": nothing was heard of it for 1m0s, says rank 0; the job was ended")
		st.want("told", "tell 0 peer-failed of 1")
		st.want("told", "tell 2 peer-failed of 1")
	}
}

// What says by itself why it is silent is left alone: it dies already, a debugger holds it, or it
// was heard again meanwhile.
func TestSilentRankIsLeftAlone(t *testing.T) {
	st := running(t, 3)
	st.suspect(0, 1, "nothing was heard of it for 1m0s")
	st.want("looked at", "examine 1")
	st.examined(1, crew.Condition{Gone: true})
	st.wantIdle("its exit is on its way")

	st.suspect(0, 1, "nothing was heard of it for 1m0s")
	st.want("looked at again", "examine 1")
	st.examined(1, crew.Condition{Tracer: 77, Stopped: true})
	st.want("why the job does not go on", "say rank 1 (pid 101 on node): nothing was heard of it for 1m0s, says rank 0; process 77 traces it, so it is not taken for dead")
	st.suspect(0, 1, "nothing was heard of it for 2m0s")
	st.want("and again", "examine 1")
	st.examined(1, crew.Condition{Tracer: 77})
	st.wantIdle("said once")

	st.suspect(0, 1, "nothing was heard of it for 1m0s")
	st.want("looked at", "examine 1")
	st.suspect(2, 1, "")
	st.suspect(0, 1, "")
	st.examined(1, crew.Condition{})
	st.wantIdle("it was heard")
}

// A rank that another has lost for good is ended though a debugger holds it: what was lost cannot
// be withdrawn, and it would be dead to one and alive to others.
func TestTracedRankThatWasLost(t *testing.T) {
	st := running(t, 4)
	st.s.job.FT = true
	st.suspect(0, 1, "nothing was heard of it for 1m0s")
	st.want("looked at", "examine 1")
	st.suspect(2, 1, boot.Lost+"connection reset")
	st.examined(1, crew.Condition{Tracer: 77, Stopped: true, Signal: syscall.SIGSTOP})
	st.want("ended for good", "signal 1 killed")
	st.want("said", "say rank 1 (pid 101 on node) stopped by SIGSTOP and taken for dead: it was lost: connection reset, says rank 2; ranks 0, 2-3 go on")
}

// Of two ranks that suspect each other the one stays of which the word came first: what the dead
// have said counts no more.
func TestSilentToEachOther(t *testing.T) {
	st := running(t, 3)
	st.s.job.FT = true
	st.suspect(0, 1, "the connection was lost")
	st.want("looked at", "examine 1")
	st.suspect(1, 0, "the connection was lost")
	st.want("looked at", "examine 0")
	st.examined(1, crew.Condition{})
	st.want("ended", "signal 1 killed")
	st.log = nil
	st.examined(0, crew.Condition{})
	st.wantIdle("the other stays")
}

// TestSecondSuspicion: a second report counts when the rank of the first is dead before the crew
// has looked. A rank that has ended well meanwhile was right all the same.
func TestSecondSuspicion(t *testing.T) {
	st := running(t, 4)
	st.s.job.FT = true
	st.suspect(0, 1, "it was lost")
	st.want("looked at", "examine 1")
	st.suspect(2, 1, "it was lost, too")
	st.suspect(3, 1, "it was lost here")
	st.suspect(3, 1, "")
	st.wantIdle("once")
	st.exit(0, crew.Exit{Signal: syscall.SIGKILL})
	st.log = nil
	st.notice(2, boot.Notice{Kind: boot.Finalizing})
	st.exit(2, crew.Exit{})
	st.examined(1, crew.Condition{})
	st.want("ended", "signal 1 killed")
	st.want("said", "say rank 1 (pid 101 on node) taken for dead: it was lost, too, says rank 2; rank 3 goes on")
}

// Two that are done with the others do not need each other any more.
func TestSuspicionsAtTheEnd(t *testing.T) {
	st := running(t, 2)
	st.suspect(0, 1, "it was lost")
	st.want("looked at", "examine 1")
	for r := range 2 {
		st.notice(r, boot.Notice{Kind: boot.Finalizing})
	}
	st.examined(1, crew.Condition{})
	st.wantIdle("it may do what it has to do after Finalize")
}

// TestInterruptedWhileEnding: a user that wants the end wants that of all attempts, whatever the
// job is ending of.
func TestInterruptedWhileEnding(t *testing.T) {
	for _, interrupted := range []bool{false, true} {
		st := running(t, 2)
		st.exit(1, crew.Exit{Code: 3})
		if interrupted {
			st.s.interrupted(st.now, syscall.SIGINT)
		}
		st.exit(0, crew.Exit{Signal: syscall.SIGTERM})
		if out := st.s.outcome(); out.code != 3 || out.again == interrupted {
			t.Errorf("interrupted %t: code %d, again %t", interrupted, out.code, out.again)
		}
	}
}

// Of a process with several ranks all fail, and a rank cannot decide on those of its own process.
func TestSilentProcess(t *testing.T) {
	st := runningOf(t, 2, 2)
	st.suspect(0, 1, "nothing")
	st.wantIdle("its own process")
	st.suspect(0, 3, "nothing")
	st.want("looked at", "examine 1")
	st.examined(1, crew.Condition{})
	st.want("ended", "signal 1 killed")
	st.want("said", "say ranks 2-3 (pid 101 on node) taken for dead: nothing, says rank 0; the job was ended")
	for _, want := range []string{"tell 0 peer-failed of 2", "tell 0 peer-failed of 3", "tell 1 peer-failed of 2", "tell 1 peer-failed of 3"} {
		st.want("told", want)
	}
}

// A rank that names no rank breaks the protocol; one that suspects the dead, or does so when the
// job ends, is late.
func TestIdleSuspicions(t *testing.T) {
	st := running(t, 3)
	st.exit(1, crew.Exit{Signal: syscall.SIGKILL})
	st.log = nil
	st.suspect(0, 1, "nothing")
	st.suspect(0, 2, "nothing")
	st.wantIdle("the job ends")

	st = running(t, 2)
	st.suspect(0, 7, "nothing")
	st.want("a bug there", "say rank 0 (pid 100 on node) broke the boot protocol: it suspects rank 7 of 2; was it built with the FitMPI of this fitrun?; the job was ended")
}

// A rank that another of its own process has lost is ended too, with the other one: agreements wait
// for a word on it, and would do so for ever.
func TestLostInOneProcess(t *testing.T) {
	st := tolerant(t, 2, 1)
	st.suspect(0, 1, "nothing was heard of it for 1m0s")
	st.wantIdle("the process is busy, and both are alive or dead together")
	st.suspect(0, 1, boot.Lost+"connection reset")
	st.want("looked at", "examine 0")
	st.examined(0, crew.Condition{})
	st.want("ended for good", "signal 0 killed")
	st.want("said", "say ranks 0-1 (pid 100 on node) taken for dead: it was lost: connection reset, says rank 0; rank 2 goes on")
	st.want("told", "tell 2 peer-failed of 0")
	st.want("told", "tell 2 peer-failed of 1")
}
