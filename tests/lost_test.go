//go:build linux

package tests

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// Ranks that lose each other, see it, and return all the same.

func init() {
	programs["lost pair"] = func() {
		mpi.Main(func(_ context.Context, c *mpi.Comm) error { return loseOdd(c) })
	}
	programs["lost pair in sessions"] = func() {
		err := inSession(context.Background(), mpi.PsetWorld, "lost", func(_ *mpi.Session, c *mpi.Comm) error { return loseOdd(c) })
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// loseOdd has ranks 1 and 3 of four lose each other, and returns nil if they see that.
func loseOdd(c *mpi.Comm) error {
	c.SetErrhandler(mpi.ErrorsReturn)
	other := 4 - c.Rank()
	if other%2 == 0 {
		return nil
	}
	if _, err := mpi.Sendrecv(c, []int{1}, other, 0, make([]int, 1), other, 0); err != nil {
		return err
	}
	if c.Rank() == 3 {
		if err := mpi.Send(c, []int{1}, other, 1); err != nil {
			return err
		}
	} else {
		if _, err := mpi.Recv(c, make([]int, 1), other, 1); err != nil { // so that it has rank 1's
			return err
		}
		cutOff()
	}
	if _, err := mpi.Recv(c, make([]int, 1), other, 0); !errors.Is(err, mpi.ErrProcFailed) {
		return fmt.Errorf("a receive from the one that is lost: %w", err)
	}
	return nil
}

// TestLostPair: whatever was lost, a job whose ranks have all returned ends, with the failure in
// its exit code and message.
func TestLostPair(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for program, where := range map[string]string{"lost pair": "Finalize", "lost pair in sessions": "Session.Finalize"} {
		t.Run(program, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), fitrunPath(t), "-n", "4", "--transport", "tcp", "--timeout", jobTimeout.String(), self)
			cmd.Env = append(os.Environ(), envProgram+"="+program)
			out, err := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); err == nil || code != 1 {
				t.Errorf("exit code %d, want 1", code)
			}
			for _, says := range []string{where, " failed: ", "connection to "} {
				if !strings.Contains(string(out), says) {
					t.Errorf("nothing says %q", says)
				}
			}
			if t.Failed() {
				t.Logf("%v\n%s", err, out)
			}
		})
	}
}
