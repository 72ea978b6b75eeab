//go:build linux

package tests

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// The same where no launcher looks after the ranks: their peers ask the kernel.

// aloneRanks are the processes of a job that no launcher looks after.
type aloneRanks struct {
	cmds   []*exec.Cmd
	stderr buffer // of all
}

// startAlone runs a program of this binary as n ranks over a transport. Each of them hears of the
// others by the environment. said is called with all that they have written to standard error, each
// time that there is more.
func startAlone(t *testing.T, n int, program, dir, transport string, said func(string) error, set ...string) *aloneRanks {
	t.Helper()
	a := &aloneRanks{}
	stderr := writerFunc(func(b []byte) (int, error) {
		n, err := a.stderr.Write(b)
		return n, errors.Join(err, said(a.stderr.String()))
	})
	env := append(append(os.Environ(), rendezvous(t)...), envProgram+"="+program, envDir+"="+dir, "FITMPI_TRANSPORT="+transport, fmt.Sprintf("FITMPI_SIZE=%d", n))
	for r := range n {
		cmd := exec.Command(selfPath(t))
		cmd.Env = append(append(env[:len(env):len(env)], set...), fmt.Sprintf("FITMPI_RANK=%d", r))
		cmd.Stdout, cmd.Stderr = stderr, stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		a.cmds = append(a.cmds, cmd)
		end := time.AfterFunc(jobTimeout, func() { cmd.Process.Kill() })
		t.Cleanup(func() {
			end.Stop()
			cmd.Process.Kill()
			cmd.Wait()
		})
	}
	return a
}

// TestUninterruptibleRankLivesAlone: the peer of a rank that its runtime lets show nothing asks the
// kernel at each timeout, and goes on waiting.
func TestUninterruptibleRankLivesAlone(t *testing.T) {
	effort.Need(t, effort.Full, "it waits for longer than ranks may be silent")
	const silences = 3
	for _, transport := range []string{"tcp", "auto"} {
		t.Run(transport, func(t *testing.T) {
			dir := t.TempDir()
			said := func(all string) error {
				if strings.Contains(all, livesText) && strings.Count(all, `msg="a peer is silent"`) >= silences {
					return os.WriteFile(filepath.Join(dir, saidFile), nil, 0o600)
				}
				return nil
			}
			a := startAlone(t, 2, "idle", dir, transport, said, envIdle+"=loops", "FITMPI_HEARTBEAT_TIMEOUT=200ms", "FITMPI_LOG=info", "GODEBUG=asyncpreemptoff=1")
			for r, cmd := range a.cmds {
				if err := cmd.Wait(); err != nil {
					t.Errorf("rank %d: %v", r, err)
				}
			}
			if n := strings.Count(a.stderr.String(), livesText); n != 1 || t.Failed() {
				t.Errorf("%q is said %d times:\n%s", livesText, n, a.stderr.String())
			}
		})
	}
}

// TestStoppedRankAlone: a process that is stopped is found all the same, and it is said that it is.
func TestStoppedRankAlone(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it waits for a second")
	for _, transport := range []string{"tcp", "auto"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			a := startAlone(t, 3, "ordeal", t.TempDir(), transport, func(string) error { return nil }, envOrdeal+"=stopped", "FITMPI_HEARTBEAT_TIMEOUT=1s")
			for r, cmd := range a.cmds {
				if r == victim {
					continue // nothing ends it but the test
				}
				if err := cmd.Wait(); err == nil {
					t.Errorf("rank %d ends well", r)
				}
			}
			want := fmt.Sprintf(`: nothing was heard of it for [\d.]+m?s, and its process \(pid %d\) is stopped by a signal`, a.cmds[victim].Process.Pid)
			if !regexp.MustCompile(want).MatchString(a.stderr.String()) {
				t.Errorf("want %s:\n%s", want, a.stderr.String())
			}
		})
	}
}
