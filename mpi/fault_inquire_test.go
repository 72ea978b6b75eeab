//go:build linux && !fitmpi_portable

package mpi

import (
	"context"
	"errors"
	"log/slog"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// startShell is a process that runs a script of the shell, until the test ends.
func startShell(t *testing.T, script string) (*exec.Cmd, procID) {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd, procID{cmd.Process.Pid, sys.StartOf(cmd.Process.Pid)}
}

// TestAskKernel: a process that computes lives. One that is stopped, one that waits for what does
// not come, and one that has ended do not.
func TestAskKernel(t *testing.T) {
	t.Parallel()
	const timeout = 100 * time.Millisecond
	wantDead := func(why string, p procID, want string) {
		t.Helper()
		for until := time.Now().Add(time.Minute); ; {
			lives, what := askKernel(t.Context(), p, timeout)
			if !lives && strings.HasPrefix(what, want) {
				return
			}
			if time.Now().After(until) {
				t.Fatalf("%s: lives %t, %q; want %q", why, lives, what, want)
			}
		}
	}
	_, idle := startShell(t, "read x")
	wantDead("it waits, once it has begun", idle, "has not run for ")
	cmd, busy := startShell(t, "while :; do :; done")
	for range 3 {
		if lives, what := askKernel(t.Context(), busy, timeout); !lives || what != "its process runs" {
			t.Errorf("it computes: lives %t, %q", lives, what)
		}
	}
	wantDead("another process has its number", procID{busy.pid, "0"}, "is gone")
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	wantDead("it is stopped, once it has taken the signal", busy, "is stopped by a signal")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := sys.WaitExit(busy.pid); err != nil {
		t.Fatal(err)
	}
	wantDead("nothing has reaped it yet", busy, "is gone")
	cmd.Wait()
	wantDead("it is not there", busy, "is gone")
}

// TestAskKernelNoMore: an inquiry ends with its context.
func TestAskKernelNoMore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, idle := startShell(t, "read x")
	if lives, what := askKernel(ctx, idle, 24*time.Hour); lives || what != "" {
		t.Fatalf("lives %t, %q", lives, what)
	}
}

// TestProcsOf: the kernel is asked of ranks of this machine that number processes as this rank
// does.
func TestProcsOf(t *testing.T) {
	cards := []card{
		{Place: "m", PIDs: "p", PID: 10, Began: "5"},
		{Place: "m", PIDs: "p", PID: 11, Began: "6"},
		{Place: "m", PIDs: "q", PID: 12, Began: "7"},
		{Place: "n", PIDs: "p", PID: 13, Began: "8"},
		{Place: "m", PID: 14, Began: "9"},
		{Place: "m", PIDs: "p", PID: 15},
	}
	none, ten, eleven := procID{}, procID{10, "5"}, procID{11, "6"}
	for me, want := range [][]procID{
		{ten, eleven, none, none, none, none}, {ten, eleven, none, none, none, none},
		{none, none, {12, "7"}, none, none, none}, {none, none, none, {13, "8"}, none, none}, make([]procID, 6), {ten, eleven, none, none, none, none},
	} {
		if got := procsOf(cards, me); !slices.Equal(got, want) {
			t.Errorf("rank %d: %v, want %v", me, got, want)
		}
	}
}

// TestInquiries: a verdict counts unless the peer was heard meanwhile, or the rank goes, and the
// first for a peer's life is said.
func TestInquiries(t *testing.T) {
	const peer engine.PeerID = 1
	var q inquiries
	open := func() context.Context {
		ctx, cancel := context.WithCancel(t.Context())
		q.open, q.said = map[engine.PeerID]context.CancelFunc{peer: cancel}, map[engine.PeerID]bool{peer: q.said[peer]}
		return ctx
	}
	want := func(why string, ctx context.Context, lives, counts, isNews bool) {
		t.Helper()
		if c, n := q.conclude(ctx, peer, lives); c != counts || n != isNews {
			t.Errorf("%s: counts %t, is news %t", why, c, n)
		}
		if len(q.open) > 0 || ctx.Err() == nil {
			t.Errorf("%s: it is open still", why)
		}
	}
	ctx := open()
	q.withdraw(peer)
	want("heard again", ctx, true, false, false)
	want("it lives", open(), true, true, true)
	want("it lives still", open(), true, true, false)
	want("it is dead", open(), false, true, false)
	ctx = open()
	q.end()
	want("the rank goes", ctx, false, false, false)
}

// TestUnasked: what is said of a silent peer that is elsewhere.
func TestUnasked(t *testing.T) {
	const why, may = "nothing was heard of it for 1m0s", ": its process may be stopped, or its runtime may let nothing run"
	for answers, want := range map[bool]string{false: why + may, true: why + engine.Answers + may} {
		if got := unasked(why, answers); !strings.HasPrefix(got, want) {
			t.Errorf("answers %t: %s", answers, got)
		}
	}
}

// TestSilentElsewhere: a silent rank of which no launcher and no kernel can be asked is taken for
// dead if its host is silent too, or if the user has said after which time it is. Else it is not,
// and that is said once.
func TestSilentElsewhere(t *testing.T) {
	const why, peer = "nothing was heard of it for 1m0s", engine.PeerID(1)
	for _, test := range []struct {
		name    string
		given   time.Duration // FITMPI_HEARTBEAT_TIMEOUT
		answers bool
		dead    bool
	}{
		{"its host answers", 0, true, false},
		{"its host is silent", 0, false, true},
		{"a time is given", time.Minute, true, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			decided := make(chan struct{})
			err := Threads{Ranks: 2, FaultTolerant: true}.Run(t.Context(), func(_ context.Context, c *Comm) error {
				c.SetErrhandler(ErrorsReturn)
				if c.Rank() == int(peer) {
					if <-decided; test.dead {
						c.Die() // as it is for rank 0, which no launcher can say to it
					}
					return Barrier(c)
				}
				var log strings.Builder
				j := c.job
				j.logger = slog.New(slog.NewTextHandler(&log, nil))
				set := *j.set
				set.HeartbeatTimeout = test.given
				j.set = &set
				for range 2 {
					j.decideUnasked(peer, why, test.answers)
				}
				close(decided)
				if test.dead {
					if _, err := Recv(c, make([]int, 1), int(peer), 0); !errors.Is(err, ErrProcFailed) || !strings.Contains(err.Error(), "FITMPI_HEARTBEAT_TIMEOUT") {
						t.Errorf("a receive from it: %v", err)
					}
					return nil
				}
				if n := strings.Count(log.String(), "so it is not taken for dead"); n != 1 {
					t.Errorf("it was said %d times:\n%s", n, log.String())
				}
				return Barrier(c)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
