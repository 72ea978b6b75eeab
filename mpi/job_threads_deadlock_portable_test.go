//go:build !linux || fitmpi_portable

package mpi_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

// TestDeadlockIsTold: where nothing tells of timers a deadlock of thread ranks is explained on
// standard error, and the job is left as it is. So it runs in a process of its own, which is ended
// when it has said so.
func TestDeadlockIsTold(t *testing.T) {
	const mark = "DEADLOCK_IS_TOLD"
	if os.Getenv(mark) != "" {
		defer mpi.SetThreadsPause(20 * time.Millisecond)()
		t.Error(mpi.RunThreads(2, func(_ context.Context, c *mpi.Comm) error {
			_, err := mpi.Recv(c, make([]int, 1), 1-c.Rank(), 7)
			return err
		}))
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDeadlockIsTold$", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), mark+"=1")
	said, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for lines := bufio.NewScanner(said); lines.Scan(); {
		text.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "The job is left as it is") {
			break
		}
	}
	cmd.Process.Kill()
	cmd.Wait() // it was killed
	for _, want := range []string{"no rank can go on", "rank 0 waits for rank 1", "The job is left as it is: a timer, of which this system does not tell, may let it go on."} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("it has not said %q:\n%s", want, &text)
		}
	}
}
