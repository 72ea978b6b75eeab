//go:build linux

package tests

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/internal/testutil/executable"
	"github.com/fitmpi/fitmpi/mpi"
)

// Jobs under fitrun --with-ft: a rank dies, in each way there is, and the others shrink their
// communicator, go on, and end well.

func init() {
	programs["go on"] = goOnRank
	programs["estranged"] = estrangedRank
}

const (
	goOnRounds = 6
	goOnDeath  = 2 // the round in which the victim dies
)

// goOnRank adds up ranks in rounds, as examples/survive does its primes.
func goOnRank() {
	victim := victim
	if v, err := strconv.Atoi(os.Getenv(envVictim)); err == nil {
		victim = v
	}
	mpi.Main(func(_ context.Context, c *mpi.Comm) error {
		c.SetErrhandler(mpi.ErrorsReturn)
		world := c.Rank()
		for round := 0; round < goOnRounds; {
			if world == victim && round == goOnDeath {
				switch how := os.Getenv(envDeath); how {
				case "error":
					return errors.New("the matrix is singular")
				case "agent":
					syscall.Kill(os.Getppid(), syscall.SIGKILL)
					select {}
				case "cut off late": // at the end
				case "cut off": // and nothing more is heard of it; heartbeats would take a minute
					cutOff()
					stopHere()
				case "stopped":
					stopHere()
				default:
					deaths[how].die(c)
				}
			}
			sum := make([]int, 2)
			err := mpi.Allreduce(c, []int{world, 1}, sum, mpi.Sum)
			flag := 1
			if err != nil {
				flag = 0
			}
			agreed, broken := c.Agree(flag)
			if agreed == 1 {
				if sum[1] != c.Size() {
					return fmt.Errorf("%d ranks have added up, of %d", sum[1], c.Size())
				}
				round++
			}
			if agreed == 1 && broken == nil {
				continue
			}
			if err := c.Revoke(); err != nil {
				return err
			}
			if c, err = c.Shrink(); err != nil {
				return err
			}
		}
		if os.Getenv(envDeath) == "cut off late" {
			if world == victim { // when the others are in Finalize, or soon will be
				cutOff()
				stopHere()
			}
			fmt.Print(map[bool]string{true: fmt.Sprintf("%d ranks end well\n", c.Size()-1)}[world == 0])
			return nil
		}
		if c.Rank() == 0 {
			fmt.Printf("%d ranks end well\n", c.Size())
		}
		return nil
	})
}

// stopHere stops this process, and this goroutine at once: its thread may run on until another has
// taken the signal.
func stopHere() {
	syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	select {}
}

// cutOff shuts down all connections of this process that are TCP.
func cutOff() {
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		panic(err)
	}
	for _, e := range fds {
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if peer, err := syscall.Getpeername(fd); err == nil {
			if _, tcp := peer.(*syscall.SockaddrInet4); tcp {
				syscall.Shutdown(fd, syscall.SHUT_RDWR)
			}
		}
	}
}

// goOn runs the job and checks its exit code, what it printed, and what fitrun said.
func goOn(t *testing.T, death string, code int, alive int, says string, args ...string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), fitrunPath(t), append(append([]string{"--with-ft", "--timeout", jobTimeout.String()}, args...), self)...)
	cmd.Env = append(os.Environ(), envProgram+"=go on", envDeath+"="+death, "GOTRACEBACK=single")
	var stdout, stderr buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	cmd.Run()
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("%s: code %d, want %d", death, got, code)
	}
	if want := fmt.Sprintf("%d ranks end well\n", alive); stdout.String() != want {
		t.Errorf("%s: it printed %q, want %q", death, stdout.String(), want)
	}
	if !strings.Contains(stderr.String(), says) {
		t.Errorf("%s: fitrun does not say %q", death, says)
	}
	if t.Failed() {
		t.Logf("after %v:\n%s", time.Since(began), stderr.String())
	}
}

func TestGoOnWithoutTheDead(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it starts many jobs")
	for _, tc := range []struct {
		death string
		code  int
		says  string
	}{
		{"killed", 0, "was killed by signal 9 (killed); ranks 0, 2-3 go on"},
		{"exit 0", 0, "exited with code 0 without mpi.Finalize"},
		{"exit 3", 0, "exited with code 3; ranks 0, 2-3 go on"},
		{"panic", 0, "exited with code 2"},
		{"crashed", 0, "exited with code 2 (panic: in a goroutine); ranks 0, 2-3 go on"},
		{"error", 1, "exited with code 1: rank 1: the matrix is singular; ranks 0, 2-3 go on"},
	} {
		if isHurried() && tc.death != "killed" && tc.death != "error" {
			continue // to the others it is one thing how a process ends
		}
		goOn(t, tc.death, tc.code, 3, tc.says, "-n", "4")
	}
	goOn(t, "killed", 0, 3, "ranks 0, 2-3 go on", "-n", "4", "--transport", "tcp")
	goOn(t, "panic", 0, 2, "ranks 2-3 go on", "-n", "4", "--ranks-per-process", "2")
	goOn(t, "cut off", 0, 3, "taken for dead: it was lost: ", "-n", "4", "--transport", "tcp")
	goOn(t, "cut off late", 0, 3, "taken for dead: it was lost: ", "-n", "4", "--transport", "tcp")
	goOn(t, "stopped", 0, 3, "ranks 0, 2-3 go on", "-n", "4", "--heartbeat", "100ms", "--heartbeat-timeout", "1s")
}

// estrangedRank: ranks 1 and 3 lose each other, and no other two ranks lose each other. Which of
// the two stays is the launcher's to say.
func estrangedRank() {
	mpi.Main(func(_ context.Context, c *mpi.Comm) error {
		c.SetErrhandler(mpi.ErrorsReturn)
		if other := 4 - c.Rank(); other%2 == 1 {
			if _, err := mpi.Sendrecv(c, []int{1}, other, 0, make([]int, 1), other, 0); err != nil {
				return err
			}
			if c.Rank() == 3 { // rank 1's message may have waited in its library send buffer until now
				if err := mpi.Send(c, []int{1}, other, 1); err != nil {
					return err
				}
			} else {
				if _, err := mpi.Recv(c, make([]int, 1), other, 1); err != nil {
					return err
				}
				cutOff() // it has no other connection
			}
			if _, err := mpi.Recv(c, make([]int, 1), other, 0); !errors.Is(err, mpi.ErrProcFailed) {
				return fmt.Errorf("a receive from the one that is lost: %w", err)
			}
		}
		for {
			agreed, broken := c.Agree(1)
			if agreed != 1 {
				return fmt.Errorf("agreed on %d: %w", agreed, broken)
			}
			next, err := c.Shrink()
			if err != nil {
				return err
			}
			if err := mpi.Barrier(next); err == nil && next.Size() == 3 {
				if next.Rank() == 0 {
					fmt.Println("3 ranks end well")
				}
				return nil
			}
			c = next
		}
	})
}

// Of two ranks that lose each other one dies, and the others go on with the other one.
func TestGoOnWithOneOfTwo(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it starts many jobs")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		cmd := exec.CommandContext(t.Context(), fitrunPath(t), "--with-ft", "--timeout", jobTimeout.String(), "-n", "4", "--transport", "tcp", self)
		cmd.Env = append(os.Environ(), envProgram+"=estranged", "FITMPI_RESUME=off")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "3 ranks end well\n") || !strings.Contains(string(out), "taken for dead: it was lost") {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

// All ranks of a host that is lost are dead; the others go on.
func TestGoOnWithoutAHost(t *testing.T) {
	effort.Need(t, effort.Usual, "it starts jobs across hosts by ssh")
	dir := t.TempDir()
	ssh := filepath.Join(dir, "ssh")
	// The host b is cut off when its rank kills its own agent.
	const script = "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nexport HOME=\"$XDG_CACHE_HOME\" FAKE_HOST=\"$2\"\nshift 2\nexec sh -c \"$*\"\n"
	executable.Write(t, ssh, script)
	fitrunPath(t) // by the cache of the go command, which will be elsewhere
	t.Setenv("FITMPI_SSH", ssh)
	t.Setenv("XDG_CACHE_HOME", dir)
	goOn(t, "agent", 0, 2, "ranks 0, 3 go on", "-n", "4", "-H", "localhost:1,b:2,c:1", "--iface", "127.0.0.1", "-x", envProgram, "-x", envDeath)
}
