//go:build linux

package launch

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A signal that ends the wait for output is one to fitrun: no attempt follows.
func TestSignalWhileOutputIsAwaited(t *testing.T) {
	signals := make(chan os.Signal, 1)
	signals <- syscall.SIGINT
	x := newRunner(selfJob(t, 1, "end"), Config{Signals: signals})
	x.sup.members[0].code = 3
	x.awaitOutput(nil) // which never ends
	if x.sup.outcome().again {
		t.Error("the job is started again")
	}
}

// --timeout ends the pause between attempts as well.
func TestTimeoutInPause(t *testing.T) {
	var said strings.Builder
	a := &attempts{r: Request{Attempt: 1, Restarts: 2}, pause: lastPause, until: time.Now().Add(10 * time.Millisecond), cfg: Config{Stderr: &said}, input: -1}
	began := time.Now()
	code, stopped := a.wait(t.Context(), 0, "rank 1 died")
	if code != ExitTimeout || !stopped || time.Since(began) >= lastPause {
		t.Errorf("code %d, stopped %t after %v", code, stopped, time.Since(began))
	}
	const want = "fitrun: the job is started again, attempt 2 of 3, in 30s\n" +
		"fitrun: timeout: all attempts together took longer than --timeout allows; the last failed because rank 1 died\n"
	if said.String() != want {
		t.Errorf("%q, want %q", said.String(), want)
	}
}

// TestSignalInPause: a signal between two attempts is the end.
func TestSignalInPause(t *testing.T) {
	signals := make(chan os.Signal, 1)
	signals <- syscall.SIGINT
	var said strings.Builder
	a := &attempts{r: Request{Attempt: 1, Restarts: 2}, pause: lastPause, cfg: Config{Stderr: &said, Signals: signals}, input: -1}
	code, stopped := a.wait(t.Context(), 0, "rank 1 died")
	const want = "fitrun: the job is started again, attempt 2 of 3, in 30s\nfitrun: interrupt: the job is not started again\n"
	if code != 128+int(syscall.SIGINT) || !stopped || said.String() != want {
		t.Errorf("code %d, stopped %t: %q, want %q", code, stopped, said.String(), want)
	}
}
