//go:build linux

package tests

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/mpi"
)

// A rank that lives is not taken for dead, whatever its program does between two calls; and a job
// that is stopped for good ends.

const envIdle = "FITMPI_TESTS_IDLE" // what rank 0 does between two broadcasts

func init() { programs["idle"] = idleRank }

// idleRank broadcasts a short message, which is all that has passed between the ranks by then, and
// another after a while.
func idleRank() {
	if os.Getenv(envIdle) == "rests" {
		exitOn(restBetweenSessions(context.Background()))
		return
	}
	mpi.Main(func(_ context.Context, world *mpi.Comm) error {
		idle := os.Getenv(envIdle)
		if idle == "stops" {
			return stopTheJob(world)
		}
		x := []int{world.Rank()}
		if err := mpi.Bcast(world, x, 0); err != nil {
			return err
		}
		if world.Rank() == 0 {
			if err := idles[idle](3 * timeoutInForce()); err != nil {
				return err
			}
		}
		return mpi.Bcast(world, x, 0)
	})
}

// restBetweenSessions has rank 0 open a session, sleep, and open another; its peers wait for it in
// their second one.
func restBetweenSessions(ctx context.Context) error {
	rank := 0
	for k := range 2 {
		err := inSession(ctx, mpi.PsetWorld, fmt.Sprint("tests/", k), func(_ *mpi.Session, c *mpi.Comm) error {
			rank = c.Rank()
			return mpi.Bcast(c, []int{rank}, 0)
		})
		if err != nil {
			return err
		}
		if rank == 0 && k == 0 {
			time.Sleep(3 * timeoutInForce())
		}
	}
	return nil
}

var idles = map[string]func(d time.Duration) error{
	"sleeps": func(d time.Duration) error {
		time.Sleep(d)
		return nil
	},
	"waits": waitForChild,
	"loops": loopWithoutCalls,
}

// waitForChild is in a system call.
func waitForChild(d time.Duration) error {
	return exec.Command("sleep", fmt.Sprint(d.Seconds())).Run()
}

// livesText is what fitrun says of a process that is silent, and runs or is held.
const livesText = "so it is not taken for dead"

// saidFile is in the directory of a job of which fitrun has said livesText.
const saidFile = "said"

// loopWithoutCalls keeps its thread from the runtime, which wants to stop all of them, for as long
// as the steps take, until it is said that its process lives. A peer that looks late, as the
// machine is busy, forgives, and looks again.
func loopWithoutCalls(time.Duration) error {
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case <-done:
				return
			default:
				runtime.GC()
			}
		}
	}()
	n := 0
	for !isSaidToLive() {
		for i := range 1 << 31 {
			n ^= i
		}
	}
	if n == 42 {
		fmt.Println(n) // else the loop need not run
	}
	return nil
}

// stopTheJob stops all ranks for good.
func stopTheJob(world *mpi.Comm) error {
	pids := make([]int, world.Size())
	if err := mpi.Allgather(world, []int{os.Getpid()}, pids); err != nil {
		return err
	}
	if world.Rank() == 0 {
		var all []string
		for _, pid := range pids {
			all = append(all, strconv.Itoa(pid))
		}
		if err := exec.Command("kill", append([]string{"-STOP"}, all...)...).Run(); err != nil {
			return err
		}
	}
	return mpi.Barrier(world)
}

// runIdle runs the program with so many ranks in a process.
func runIdle(t *testing.T, idle, policy, transport string, ranks, perProcess int, timeout time.Duration, set ...string) jobRun {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r := binaryRequest(self, "idle", ranks, policy, dir, append(set, envIdle+"="+idle, "FITMPI_TRANSPORT="+transport, "FITMPI_HEARTBEAT_TIMEOUT="+timeout.String())...)
	return r.with("--ranks-per-process", strconv.Itoa(perProcess), "-l").run(t, noteLives(dir))
}

// noteLives is to get what fitrun writes to stderr. It makes saidFile in dir at livesText.
func noteLives(dir string) io.Writer {
	var stderr buffer
	return writerFunc(func(b []byte) (int, error) {
		n, err := stderr.Write(b)
		if strings.Contains(stderr.String(), livesText) {
			err = errors.Join(err, os.WriteFile(filepath.Join(dir, saidFile), nil, 0o600))
		}
		return n, err
	})
}

// isSaidToLive reports to a rank whether its job's noteLives has made the file.
func isSaidToLive() bool {
	_, err := os.Stat(filepath.Join(os.Getenv(envDir), saidFile))
	return err == nil
}

// writerFunc is an io.Writer.
type writerFunc func([]byte) (int, error)

// Write implements io.Writer.
func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// TestIdleRankLives: a rank that has sent a short message, or has finalized a session, and then
// waits for something outside of the job for longer than others may be silent.
func TestIdleRankLives(t *testing.T) {
	effort.Need(t, effort.Usual, "it starts many jobs")
	t.Parallel()
	for _, policy := range []string{"assist", "worker", "caller"} {
		for _, transport := range []string{"auto", "tcp"} {
			for _, idle := range []string{"sleeps", "waits", "rests"} {
				t.Run(fmt.Sprint(policy, " ", transport, " ", idle), func(t *testing.T) {
					t.Parallel()
					run := runIdle(t, idle, policy, transport, 2, 1, 400*time.Millisecond)
					run.wantClean(t)
				})
			}
		}
	}
}

// TestUninterruptibleRankLives: where the runtime may not interrupt loops a rank in one shows
// nothing. The kernel runs it, so the job goes on, and it is said.
func TestUninterruptibleRankLives(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "it waits for longer than ranks may be silent")
	for _, transport := range []string{"auto", "tcp"} {
		for perProcess := range 2 {
			t.Run(fmt.Sprint(transport, " ", perProcess+1), func(t *testing.T) {
				run := runIdle(t, "loops", "assist", transport, 2*(perProcess+1), perProcess+1, 200*time.Millisecond, "GODEBUG=asyncpreemptoff=1")
				run.wantClean(t)
				if !strings.Contains(run.stderr, livesText) {
					t.Errorf("want %q:\n%s", livesText, run.stderr)
				}
			})
		}
	}
}

// TestStoppedJobEnds: all processes of a job are stopped, and nothing lets them go on.
func TestStoppedJobEnds(t *testing.T) {
	effort.Need(t, effort.Usual, "it starts jobs that are stopped")
	t.Parallel()
	for perProcess := 1; perProcess <= 2; perProcess++ {
		t.Run(fmt.Sprint(perProcess), func(t *testing.T) {
			t.Parallel()
			run := runIdle(t, "stops", "assist", "auto", 2*perProcess, perProcess, 400*time.Millisecond)
			run.wantError(t, `stopped by SIGSTOP and taken for dead: it has not gone on for [\d.]+s, as has the rest of the job; the job was ended`)
		})
	}
}
