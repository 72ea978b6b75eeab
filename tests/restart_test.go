//go:build linux

package tests

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/mpi"
)

// Jobs that fitrun --restart starts again, and that go on from their checkpoints: rank 1 is killed
// at a point, in each of the first attempts at another, and the result is that of a job that
// nothing happened to.

func init() { programs["restart"] = restartRank }

const envKills = "FITMPI_TESTS_KILLS" // by attempt, with commas between them: the place where rank 1 kills itself, as restartRank names them

// restartSteps and restartEvery are how long the job computes, and how often it saves.
const restartSteps, restartEvery = 12, 3

// restartRank: each step every rank adds what its left neighbour has, times three, so that every
// bit of the past counts.
func restartRank() {
	mpi.Main(func(_ context.Context, c *mpi.Comm) error {
		kills := strings.Split(os.Getenv(envKills), ",")
		dieAt := func(place string) {
			if at := c.Restarts(); c.Rank() == 1 && at < len(kills) && kills[at] == place {
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}
		dieAt("start")
		store := &mpi.FileCheckpoint{}
		state := []uint64{uint64(c.Rank() + 1)}
		first, _, err := store.Load(c, func(_ int64, r io.Reader) error {
			dieAt("loading")
			return binary.Read(r, binary.LittleEndian, state)
		})
		if err != nil {
			return err
		}
		for step := first; step < restartSteps; step++ {
			if step > first && step%restartEvery == 0 {
				err := store.Save(c, step, func(w io.Writer) error {
					binary.Write(w, binary.LittleEndian, state)
					dieAt("saving")
					return nil
				})
				if err != nil {
					return err
				}
				dieAt("saved")
			}
			other := make([]uint64, 1)
			n := c.Size()
			if _, err := mpi.Sendrecv(c, state, (c.Rank()+1)%n, 0, other, (c.Rank()+n-1)%n, 0); err != nil {
				return err
			}
			state[0] = state[0]*5 + other[0]*3 + uint64(step)
			if step == restartSteps-2 {
				dieAt("compute")
			}
		}
		all := make([]uint64, c.Size())
		if err := mpi.Gather(c, state, all, 0); err != nil {
			return err
		}
		if c.Rank() == 0 {
			if err := os.WriteFile(filepath.Join(os.Getenv(envDir), "result"), fmt.Append(nil, all), 0o600); err != nil {
				return err
			}
		}
		if err := store.Clear(c); err != nil {
			return err
		}
		dieAt("cleared")
		return nil
	})
}

// restartJob runs the job and returns its result.
func restartJob(t *testing.T, args []string, kills ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	ckpt := filepath.Join(dir, "checkpoints")
	cmd := exec.CommandContext(t.Context(), fitrunPath(t), append(args, "--timeout", jobTimeout.String(), "--restart-dir", ckpt, self)...)
	cmd.Env = append(os.Environ(), envProgram+"=restart", envDir+"="+dir, envKills+"="+strings.Join(kills, ","))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("killed at %q: %v\n%s", kills, err, out)
	}
	if n := strings.Count(string(out), "was killed by signal 9"); n != len(kills) {
		t.Errorf("killed at %q: %d deaths are told\n%s", kills, n, out)
	}
	if _, err := os.Stat(ckpt); !os.IsNotExist(err) {
		t.Errorf("killed at %q: the checkpoints are left: %v", kills, err)
	}
	result, err := os.ReadFile(filepath.Join(dir, "result"))
	if err != nil {
		t.Fatal(err)
	}
	return string(result)
}

func TestRestart(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it starts many jobs")
	whole := restartJob(t, []string{"-n", "3"})
	all := [][]string{{"saved", "loading"}, {"start", "saving", "compute"}, {"compute", "cleared"}}
	if isHurried() {
		all = all[:1]
	}
	for _, kills := range all {
		if got := restartJob(t, []string{"-n", "3", "--restart", fmt.Sprint(len(kills))}, kills...); got != whole {
			t.Errorf("killed at %q: the result is %s, without that %s", kills, got, whole)
		}
	}
	if got := restartJob(t, []string{"-n", "3", "--ranks-per-process", "2", "--restart", "1"}, "compute"); got != whole {
		t.Errorf("with ranks that share a process: the result is %s, without that %s", got, whole)
	}
}
