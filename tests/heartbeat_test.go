//go:build linux

package tests

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/mpi"
)

// Which ranks are dead, and which are not: jobs of processes one of which is stopped, held in a
// debugger, busy, or short of everything. A rank that shows nothing for the timeout is found, named
// and ended, over connections and in shared memory; no other rank is.

const envOrdeal = "FITMPI_TESTS_ORDEAL" // what the ranks go through

func init() { programs["ordeal"] = ordealRank }

// ordeal is what a rank does while the others wait for rank 0; pids are the processes of all.
type ordeal func(c *mpi.Comm, pids []int) error

var ordeals = map[string]ordeal{
	"stopped":         byFirst(stopVictim),
	"stopped shortly": byFirst(stopShortly),
	"all stopped":     byFirst(stopAll),
	"debugger":        byFirst(holdInDebugger),
	"crowd":           byFirst(crowdTheMachine),
	"garbage":         collectGarbage,
	"computes":        computeForLong,
	"forever":         waitForEver,
	"survived":        outlive,
}

// byFirst is an ordeal that rank 0 makes the others go through.
func byFirst(f func(timeout time.Duration, pids []int) error) ordeal {
	return func(c *mpi.Comm, pids []int) error {
		if c.Rank() != 0 {
			return nil
		}
		return f(timeoutInForce(), pids)
	}
}

func timeoutInForce() time.Duration {
	d, err := time.ParseDuration(os.Getenv("FITMPI_HEARTBEAT_TIMEOUT"))
	if err != nil {
		panic(err)
	}
	return d
}

// ordealRank lets all ranks go through an ordeal, and then exchange messages, every rank with every
// rank.
func ordealRank() {
	mpi.Main(func(_ context.Context, c *mpi.Comm) error {
		pids := make([]int, c.Size())
		if err := mpi.Allgather(c, []int{os.Getpid()}, pids); err != nil {
			return err
		}
		if err := exchangeAround(c); err != nil { // every pair has met
			return err
		}
		if err := ordeals[os.Getenv(envOrdeal)](c, pids); err != nil {
			return fmt.Errorf("rank %d: %w", c.Rank(), err)
		}
		return exchangeAround(c)
	})
}

// exchangeAround sends every rank something, and checks what comes.
func exchangeAround(c *mpi.Comm) error {
	out, in := make([]int, c.Size()), make([]int, c.Size())
	for r := range out {
		out[r] = 100*c.Rank() + r
	}
	if err := mpi.Alltoall(c, out, in); err != nil {
		return err
	}
	for r := range in {
		if in[r] != 100*r+c.Rank() {
			return fmt.Errorf("%d from rank %d", in[r], r)
		}
	}
	return nil
}

func stopVictim(_ time.Duration, pids []int) error {
	if err := syscall.Kill(pids[victim], syscall.SIGSTOP); err != nil {
		return err
	}
	for !sys.StateOf(pids[victim]).Stopped { // its other threads run until the one that takes the signal has run: the job might be over by then
		time.Sleep(time.Millisecond)
	}
	return nil
}

// stopShortly stops the victim for a part of the timeout.
func stopShortly(timeout time.Duration, pids []int) error {
	if err := stopVictim(timeout, pids); err != nil {
		return err
	}
	time.Sleep(timeout / 3)
	return syscall.Kill(pids[victim], syscall.SIGCONT)
}

// stopAll stops all ranks, this one included, for longer than the timeout.
func stopAll(timeout time.Duration, pids []int) error {
	var all []string
	for _, pid := range pids {
		all = append(all, strconv.Itoa(pid))
	}
	ps := strings.Join(all, " ")
	return exec.Command("sh", "-c", fmt.Sprintf("kill -STOP %s; sleep %g; kill -CONT %s", ps, 2*timeout.Seconds(), ps)).Run()
}

// holdInDebugger attaches to all threads of the victim, as a debugger does, and lets go of it after
// several timeouts, when it is said to live: peers that look late, as the machine is busy, forgive.
// A rank of which one thread is held shows with its next beat that it may be silent, and then
// nothing is said; so it is stopped first, and does nothing between the first thread and the last.
func holdInDebugger(timeout time.Duration, pids []int) error {
	runtime.LockOSThread() // a tracer is a thread
	defer runtime.UnlockOSThread()
	if err := stopVictim(timeout, pids); err != nil {
		return err
	}
	held := make(map[int]bool)
	for found := true; found; {
		found = false
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pids[victim]))
		if err != nil {
			return err
		}
		for _, t := range threads {
			tid, err := strconv.Atoi(filepath.Base(t))
			if err != nil || held[tid] {
				continue
			}
			if err := attachThread(tid); err != nil {
				return fmt.Errorf("attaching to thread %d: %w", tid, err)
			}
			held[tid], found = true, true
		}
	}
	if err := syscall.Kill(pids[victim], syscall.SIGCONT); err != nil {
		return err
	}
	time.Sleep(3 * timeout)
	for until := time.Now().Add(deadline); !isSaidToLive() && time.Now().Before(until); {
		time.Sleep(10 * time.Millisecond)
	}
	for tid := range held {
		if err := syscall.PtraceDetach(tid); err != nil {
			return fmt.Errorf("detaching from thread %d: %w", tid, err)
		}
	}
	return nil
}

// attachThread stops a thread. One that has ended is none.
func attachThread(tid int) error {
	if err := syscall.PtraceAttach(tid); errors.Is(err, syscall.ESRCH) {
		return nil
	} else if err != nil {
		return err
	}
	var status syscall.WaitStatus
	_, err := syscall.Wait4(tid, &status, syscall.WALL, nil)
	return err
}

// crowdTheMachine lets many processes compute beside the ranks.
func crowdTheMachine(timeout time.Duration, _ []int) error {
	var crowd []*exec.Cmd
	for range 4 * runtime.NumCPU() {
		cmd := exec.Command("sh", "-c", "while :; do :; done")
		if err := cmd.Start(); err != nil {
			return err
		}
		crowd = append(crowd, cmd)
	}
	time.Sleep(2 * timeout)
	for _, cmd := range crowd {
		cmd.Process.Kill()
		cmd.Wait()
	}
	return nil
}

type branches struct{ left, right *branches }

func grow(depth int) *branches {
	if depth == 0 {
		return nil
	}
	return &branches{grow(depth - 1), grow(depth - 1)}
}

// collectGarbage has a heap of some ten megabytes of pointers collected all the time.
func collectGarbage(*mpi.Comm, []int) error {
	debug.SetGCPercent(1)
	all := grow(20)
	for until := time.Now().Add(2 * timeoutInForce()); time.Now().Before(until); {
		all.left = grow(16)
	}
	runtime.KeepAlive(all)
	return nil
}

// computeForLong: the victim is in no call for several timeouts.
func computeForLong(c *mpi.Comm, _ []int) error {
	if c.Rank() != victim {
		return nil
	}
	n := 0
	for until := time.Now().Add(3 * timeoutInForce()); time.Now().Before(until); n++ {
	}
	return nil
}

// waitForEver is to be in a call to which nothing comes.
func waitForEver(c *mpi.Comm, _ []int) error {
	if c.Rank() == 0 {
		fmt.Println("going")
	}
	return second(mpi.Recv(c, make([]int, 1), mpi.AnySource, 1))
}

// outlive: the victim is stopped, the others learn that it has failed and go on without it; and it
// never does.
func outlive(c *mpi.Comm, pids []int) error {
	c.SetErrhandler(mpi.ErrorsReturn)
	if c.Rank() == 0 {
		if err := stopVictim(0, pids); err != nil {
			return err
		}
	}
	if _, err := mpi.Recv(c, make([]int, 1), victim, 1); !errors.Is(err, mpi.ErrProcFailed) {
		return fmt.Errorf("a receive from the one who is stopped: %w", err)
	}
	if err := meetSurvivors(c); err != nil {
		return err
	}
	for until := time.Now().Add(deadline); !sys.StateOf(pids[victim]).Gone; time.Sleep(time.Millisecond) { // it was killed before we heard of it
		if time.Now().After(until) {
			return fmt.Errorf("it goes on: %+v", sys.StateOf(pids[victim]))
		}
	}
	os.Exit(0)
	return nil
}

// TestStoppedRankIsOutlived: in a job that goes on without the dead, one that is held to be dead
// is.
func TestStoppedRankIsOutlived(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it waits for a second")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := binaryRequest(self, "ordeal", 4, "assist", t.TempDir(), envOrdeal+"=survived", "FITMPI_HEARTBEAT_TIMEOUT=1s")
	run := r.with("--with-ft", "-l").run(t, nil)
	if says := "stopped by SIGSTOP and taken for dead"; !strings.Contains(run.stderr, says) || strings.Contains(run.stderr, "goes on:") {
		t.Errorf("want %q:\n%s%s", says, run.stdout, run.stderr)
	}
}

// goThrough runs an ordeal with three ranks.
func goThrough(t *testing.T, ordeal, policy, transport string, timeout time.Duration) jobRun {
	t.Helper()
	dir := t.TempDir()
	return binaryRequest(selfPath(t), "ordeal", 3, policy, dir, envOrdeal+"="+ordeal, "FITMPI_TRANSPORT="+transport,
		"FITMPI_HEARTBEAT=100ms", "FITMPI_HEARTBEAT_TIMEOUT="+timeout.String()).with("-l").run(t, noteLives(dir))
}

// TestStoppedRank: a stopped process is found, named and ended.
func TestStoppedRank(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it waits for seconds")
	for _, policy := range []string{"assist", "worker"} {
		for _, transport := range []string{"tcp", "auto"} {
			t.Run(policy+" "+transport, func(t *testing.T) {
				const timeout = time.Second
				run := goThrough(t, "stopped", policy, transport, timeout)
				run.wantError(t, `rank 1 \(pid \d+ on .*\) stopped by SIGSTOP and taken for dead: (nothing was heard of it for [\d.]+s, says rank [02]|it has not gone on for [\d.]+s); the job was ended`) // the latter where all are late
				if run.took < timeout {
					t.Errorf("it was found after %v", run.took)
				}
			})
		}
	}
}

// TestSilenceIsNotDeath: what takes long, or is let go on in time, is no death.
func TestSilenceIsNotDeath(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it waits for seconds")
	for _, tc := range []struct {
		ordeal, policy, transport string
		timeout                   time.Duration
		says                      string
	}{
		{"stopped shortly", "assist", "tcp", 4 * time.Second, ""},
		{"stopped shortly", "assist", "auto", 4 * time.Second, ""},
		{"all stopped", "assist", "tcp", 1500 * time.Millisecond, ""},
		{"all stopped", "worker", "auto", 1500 * time.Millisecond, ""},
		{"debugger", "assist", "tcp", time.Second, "traces it, so it is not taken for dead"},
		{"debugger", "assist", "auto", time.Second, "traces it, so it is not taken for dead"},
		{"computes", "caller", "tcp", time.Second, ""},
		{"computes", "worker", "tcp", 1500 * time.Millisecond, ""},
		{"computes", "assist", "auto", 1500 * time.Millisecond, ""},
		{"garbage", "worker", "tcp", 1500 * time.Millisecond, ""},
		{"crowd", "assist", "tcp", 2 * time.Second, ""},
	} {
		t.Run(fmt.Sprintf("%s %s %s", tc.ordeal, tc.policy, tc.transport), func(t *testing.T) {
			if !(tc.ordeal == "debugger" || tc.ordeal == "computes" && tc.policy == "caller") {
				effort.Need(t, effort.Full, "it waits for longer than ranks may be silent")
			}
			if !slices.Contains([]string{"computes", "garbage", "crowd"}, tc.ordeal) {
				t.Parallel() // they mostly sleep
			}
			run := goThrough(t, tc.ordeal, tc.policy, tc.transport, tc.timeout)
			run.wantClean(t)
			if strings.TrimSpace(run.stderr) != "" && tc.says == "" || !strings.Contains(run.stderr, tc.says) {
				t.Errorf("want %q on stderr:\n%s", tc.says, run.stderr)
			}
		})
	}
}
