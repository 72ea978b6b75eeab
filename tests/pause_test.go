//go:build linux

package tests

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/internal/testutil/executable"
	"github.com/fitmpi/fitmpi/mpi"
)

func init() { programs["pausing"] = pausingRank }

// envPauseSpawns is how many ranks the program "pausing" spawns.
const envPauseSpawns = "FITMPI_TESTS_PAUSE_SPAWNS"

// withSpawned is the communicator of a job and of what it spawns, if it spawns any.
func withSpawned(c *mpi.Comm) (*mpi.Comm, error) {
	inter, n := c.Parent(), os.Getenv(envPauseSpawns)
	if n == "" {
		return c, nil
	}
	if inter == nil {
		ranks, err := strconv.Atoi(n)
		if err == nil {
			inter, err = spawnSelf(c, ranks)
		}
		if err != nil {
			return nil, err
		}
	}
	return inter.Merge(c.Parent() != nil)
}

// pausingRank says which process it is, and exchanges messages until a file is there. It says which
// signals of the user's it gets.
func pausingRank() {
	mpi.Main(func(_ context.Context, own *mpi.Comm) error {
		world, err := withSpawned(own)
		if err != nil {
			return err
		}
		if world.Rank() != deafRank {
			heard := make(chan os.Signal, 4)
			signal.Notify(heard, syscall.SIGUSR1, syscall.SIGUSR2)
			defer func() { signal.Stop(heard); close(heard) }()
			go func() { // ends with the function
				for s := range heard {
					fmt.Printf("rank %d heard %v\n", world.Rank(), s)
				}
			}()
		}
		fmt.Println("pid", os.Getpid())
		for over := []bool{false}; !over[0]; {
			if world.Rank() == 0 {
				time.Sleep(time.Millisecond)
				_, err := os.Stat(overFile())
				over[0] = err == nil
			}
			if err := mpi.Bcast(world, over, 0); err != nil {
				return err
			}
		}
		return nil
	})
}

func overFile() string { return filepath.Join(os.Getenv(envDir), "over") }

// aloneSSH does what ssh does, on this machine: each host has a home of its own.
const aloneSSH = `#!/bin/sh
while [ "$1" != -- ]; do shift; done
export HOME="$FITMPI_TESTS_DIR/$2"
mkdir -p "$HOME"
unset XDG_CACHE_HOME
shift 2
exec sh -c "$*"
`

// TestTerminalStop: the key that stops a job at a terminal (^Z) stops all ranks, wherever they are,
// and fitrun. They go on with fitrun, and are not taken for dead for having been silent meanwhile,
// neither by each other nor by the processes that look after them.
func TestTerminalStop(t *testing.T) {
	effort.Need(t, effort.Usual, "it starts jobs that are stopped")
	t.Parallel()
	for name, tc := range map[string]struct {
		ranks     int
		permitted time.Duration
		args      []string
	}{
		"here":    {2, silence, []string{"-n", "2"}},
		"threads": {4, silence, []string{"-n", "4", "--ranks-per-process", "2"}},
		"hosts":   {3, silence, []string{"-H", "localhost:1,a:1,b:1"}},
		// A launcher excuses no rank to another job, and a busy machine is silent for a while.
		"spawned": {3, 10 * silence, []string{"-n", "2", "-x", envPauseSpawns + "=1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			terminalStop(t, tc.ranks, tc.permitted, tc.args)
		})
	}
}

// deafRank does not listen to signals of the user's, which does not end it.
const deafRank = 1

// TestUserSignals: SIGUSR1 and SIGUSR2 mean nothing to fitrun, and what they mean to ranks, which
// get them wherever they are. They end no job.
func TestUserSignals(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"here":    {"-n", "3"},
		"hosts":   {"-H", "localhost:1,a:1,b:1"},
		"spawned": {"-n", "2", "-x", envPauseSpawns + "=1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, dir := startPausing(t, 10*silence, args...)
			r.awaitPIDs(t, 3)
			for _, sig := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGUSR2} {
				syscall.Kill(r.cmd.Process.Pid, sig)
				for _, rank := range []int{0, 2} {
					r.awaitSaid(t, fmt.Sprintf("rank %d heard %v\n", rank, sig))
				}
			}
			if err := os.WriteFile(filepath.Join(dir, "over"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			r.end(t, jobTimeout).wantClean(t)
		})
	}
}

// TestStoppedElsewhere: a job whose processes are all stopped, but not by fitrun, is found by the
// processes that look after them, also on other hosts.
func TestStoppedElsewhere(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it starts jobs across hosts by ssh")
	r, _ := startPausing(t, silence, "-H", "a:1,b:1")
	for _, pid := range r.awaitPIDs(t, 2) {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	r.end(t, jobTimeout).wantError(t, `stopped by SIGSTOP and taken for dead: `)
}

// silence is what ranks permit at least.
const silence = 200 * time.Millisecond

// terminalStop stops a job whose ranks permit a silence for several times that.
func terminalStop(t *testing.T, ranks int, permitted time.Duration, args []string) {
	r, dir := startPausing(t, permitted, args...)
	pids := r.awaitPIDs(t, ranks)
	fitrun := r.cmd.Process.Pid
	for round := range 2 {
		syscall.Kill(fitrun, syscall.SIGTSTP)
		for _, pid := range append(pids, fitrun) {
			awaitState(t, r, pid, true)
		}
		time.Sleep(3 * permitted) // nothing is waited for: this is how long they are silent
		for _, pid := range pids {
			if !sys.IsHalted(pid) {
				t.Fatalf("process %d of a stopped job goes on, or has ended (round %d)\n%s", pid, round, r.stderr.String())
			}
		}
		syscall.Kill(fitrun, syscall.SIGCONT)
		for _, pid := range append(pids, fitrun) {
			awaitState(t, r, pid, false)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "over"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	run := r.end(t, jobTimeout)
	run.wantClean(t) // no rank was ended
}

// startPausing starts the program under a fitrun of its own, with ranks that permit a silence. dir
// is where it looks for the file.
func startPausing(t *testing.T, permitted time.Duration, args ...string) (r *acrossRun, dir string) {
	t.Helper()
	dir = t.TempDir()
	ssh := filepath.Join(dir, "ssh")
	executable.Write(t, ssh, aloneSSH)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args = append(args, "--heartbeat-timeout", permitted.String(), self, "rank")
	r = &acrossRun{cmd: exec.Command(fitrunPath(t), args...), endc: make(chan error), began: time.Now()}
	r.stdout.changed, r.stderr.changed = make(chan struct{}, 1), make(chan struct{}, 1)
	r.cmd.Env = append(os.Environ(), envProgram+"=pausing", envDir+"="+dir, "FITMPI_SSH="+ssh, "GORACE=atexit_sleep_ms=0")
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { // ends with the process, which cleanup kills
		r.cmd.Wait()
		close(r.endc)
	}()
	t.Cleanup(func() {
		r.cmd.Process.Kill()
		<-r.endc
	})
	return r, dir
}

var pidLine = regexp.MustCompile(`pid (\d+)\n`)

// awaitPIDs returns the processes of all ranks, once each has said which it is.
func (r *acrossRun) awaitPIDs(t *testing.T, ranks int) (pids []int) {
	t.Helper()
	for until := time.Now().Add(jobTimeout); ; {
		said := pidLine.FindAllStringSubmatch(r.stdout.String(), -1)
		if len(said) == ranks {
			for _, m := range said {
				pid, err := strconv.Atoi(m[1])
				if err != nil {
					t.Fatal(err)
				}
				pids = append(pids, pid)
			}
			return pids
		}
		select {
		case <-r.stdout.changed:
		case <-r.endc:
			t.Fatalf("it has ended: %s", r.stderr.String())
		case <-time.After(time.Until(until)):
			t.Fatalf("ranks that have begun: %q\n%s", said, r.stderr.String())
		}
	}
}

// awaitSaid waits until ranks have written text.
func (r *acrossRun) awaitSaid(t *testing.T, text string) {
	t.Helper()
	for late := time.After(jobTimeout); !strings.Contains(r.stdout.String(), text); {
		select {
		case <-r.stdout.changed:
		case <-r.endc:
			t.Fatalf("it has ended without %q: %s", text, r.stderr.String())
		case <-late:
			t.Fatalf("no %q in:\n%s\n%s", text, r.stdout.String(), r.stderr.String())
		}
	}
}

// awaitState waits until a process is stopped, or is not.
func awaitState(t *testing.T, r *acrossRun, pid int, halted bool) {
	t.Helper()
	for until := time.Now().Add(jobTimeout); sys.IsHalted(pid) != halted; time.Sleep(time.Millisecond) {
		select {
		case <-r.endc:
			t.Fatalf("the job has ended: %s", r.stderr.String())
		default:
		}
		if sys.StateOf(pid).Gone || time.Now().After(until) {
			t.Fatalf("process %d: stopped is %v, want %v\n%s", pid, !halted, halted, r.stderr.String())
		}
	}
}
