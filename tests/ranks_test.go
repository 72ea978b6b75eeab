//go:build linux

package tests

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/mpi"
)

// Jobs whose processes have several ranks, and jobs that mix the transports.

func init() {
	programs["ranks"] = ranksRank
	programs["init"] = initRank
	programs["mixed"] = mixedRank
}

// begun counts the ranks of this process that have begun: a package variable belongs to them all.
var begun atomic.Int32

// ranksRank: fn runs once for each rank, with a world of its own; the process is shared.
func ranksRank() {
	mpi.Main(func(ctx context.Context, c *mpi.Comm) error {
		begun.Add(1)
		if !mpi.Initialized() || mpi.Finalized() {
			return errors.New("not initialized, or finalized already")
		}
		if _, err := mpi.Init(); !errors.Is(err, mpi.ErrOther) {
			return fmt.Errorf("Init after Main: %v", err)
		}
		if c.Rank() < 4 { // rank 4 is alone in its process, where Finalize does what it says
			if err := mpi.Finalize(); err == nil || !strings.Contains(err.Error(), "Main finalizes each") {
				return fmt.Errorf("Finalize of a process of several ranks: %v", err)
			}
		}
		if err := mpi.Barrier(c); err != nil { // which is passed when all ranks of the process have begun
			return err
		}
		near := 0 // ranks of this process
		var ways []string
		for r := range c.Size() {
			ways = append(ways, c.Transport(r))
			if ways[r] == "self" || ways[r] == "thread" {
				near++
			}
		}
		if n := int(begun.Load()); n != near {
			return fmt.Errorf("%d ranks have begun in this process, of %d", n, near)
		}
		if err := exchangeAll(c); err != nil {
			return err
		}
		fmt.Printf("rank %d of %d: %s\n", c.Rank(), c.Size(), strings.Join(ways, " "))
		return nil
	})
	if !mpi.Finalized() {
		fmt.Println("not finalized after Main")
	}
}

// exchangeAll sends every rank a short and a long message, and checks what comes.
func exchangeAll(c *mpi.Comm) error {
	out, in := make([]int64, 50_000), make([]int64, 50_000)
	for shift := range c.Size() {
		to, from := (c.Rank()+shift)%c.Size(), (c.Rank()+c.Size()-shift)%c.Size()
		for _, n := range []int{1, len(out)} {
			out[0], out[n-1] = int64(c.Rank()), int64(c.Rank())
			if _, err := mpi.Sendrecv(c, out[:n], to, n, in[:n], from, n); err != nil {
				return err
			}
			if in[0] != int64(from) || in[n-1] != int64(from) {
				return fmt.Errorf("%d elements from rank %d hold %d and %d", n, from, in[0], in[n-1])
			}
		}
	}
	return nil
}

func TestMainOfRanks(t *testing.T) {
	t.Parallel()
	for _, policy := range policies {
		t.Run(policy, func(t *testing.T) {
			run := mixedJob(t, "ranks", 5, 2, policy, t.TempDir())
			if run.code != 0 || run.stderr != "" || strings.Contains(run.stdout, "not finalized") {
				t.Errorf("code %d\n%s%s", run.code, run.stdout, run.stderr)
			}
			for r, want := range []string{
				"self thread shared shared shared", "thread self shared shared shared",
				"shared shared self thread shared", "shared shared thread self shared",
			} {
				if want := fmt.Sprintf("rank %d of 5: %s\n", r, want); strings.Count(run.stdout, want) != 1 {
					t.Errorf("want %q once in:\n%s", want, run.stdout)
				}
			}
		})
	}
}

// initRank calls Init in a process that has several ranks.
func initRank() {
	_, err := mpi.Init()
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func TestInitOfRanks(t *testing.T) {
	t.Parallel()
	run := mixedJob(t, "init", 2, 2, "assist", t.TempDir())
	if run.code != 1 || !strings.Contains(run.stderr, "mpi: Init:") || !strings.Contains(run.stderr, "mpi.Main") {
		t.Errorf("code %d, stderr %q, want an error of Init that says to use mpi.Main", run.code, run.stderr)
	}
}

// A rank that fails ends the job, and the message says which rank it was, however many its process
// has.
func TestDeathOfRanks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		how, wait string
		code      int
		says      string
	}{
		{"error", "Recv", 1, "rank 1: the matrix is singular"},
		{"abort", "compute", 7, "the matrix is singular"},
		{"fatal", "Recv", 1, "destination 4: need 0 to 3, or ProcNull"},
		{"panic", "Barrier", 2, "rank 1 panicked: boom"},
		{"killed", "another", 137, "ranks 0-1"},
		{"exit 0", "Recv", 1, "ranks 0-1"},
	} {
		t.Run(test.how, func(t *testing.T) {
			run := mixedJob(t, "victim", 4, 2, "assist", t.TempDir(), envDeath+"="+test.how, envWait+"="+test.wait)
			if run.code != test.code {
				t.Errorf("the job's code is %d, want %d", run.code, test.code)
			}
			if run.took > deadline {
				t.Errorf("the job took %v to end", run.took)
			}
			if n := strings.Count(run.stderr, "fitrun: "); n != 1 || !strings.Contains(run.stderr, test.says) {
				t.Errorf("%d messages, want one that says %q:\n%s", n, test.says, run.stderr)
			}
		})
	}
}

// mixedRank tells how it reaches the others, and tries it.
func mixedRank() {
	mpi.Main(func(_ context.Context, c *mpi.Comm) error {
		var ways []string
		for r := range c.Size() {
			ways = append(ways, c.Transport(r))
		}
		fmt.Printf("rank %d: %s\n", c.Rank(), strings.Join(ways, " "))
		return exchangeAll(c)
	})
}

// TestTransports: how two ranks reach each other depends on what both have. The transport may be
// chosen rank by rank.
func TestTransports(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		perProcess int
		set        []string
		want       []string
	}{
		{"auto", 1, nil, []string{"self shared shared", "shared self shared", "shared shared self"}},
		{"shm", 2, []string{"FITMPI_TRANSPORT=shm"}, []string{"self thread shared", "thread self shared", "shared shared self"}},
		{"tcp", 2, []string{"FITMPI_TRANSPORT=tcp"}, []string{"self tcp tcp", "tcp self tcp", "tcp tcp self"}},
		{"cliques", 1, []string{"FITMPI_CLIQUES=2"}, []string{"self shared tcp", "shared self tcp", "tcp tcp self"}},
		{"one process", 3, []string{"FITMPI_CLIQUES=2"}, []string{"self thread tcp", "thread self tcp", "tcp tcp self"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			run := mixedJob(t, "mixed", 3, test.perProcess, "assist", t.TempDir(), test.set...)
			if run.code != 0 || run.stderr != "" {
				t.Errorf("code %d\n%s", run.code, run.stderr)
			}
			for r, want := range test.want {
				if want := fmt.Sprintf("rank %d: %s\n", r, want); strings.Count(run.stdout, want) != 1 {
					t.Errorf("want %q once in:\n%s", want, run.stdout)
				}
			}
		})
	}
}

// With --transport shm it is an error, which names two ranks and their hosts, if ranks share no
// memory.
func TestTransportShmRefused(t *testing.T) {
	t.Parallel()
	run := mixedJob(t, "mixed", 2, 1, "assist", t.TempDir(), "FITMPI_TRANSPORT=shm", "FITMPI_CLIQUES=2")
	host := sys.Hostname()
	for _, part := range []string{"ranks 0 (pid ", " on " + host + ") and 1 (pid ", "share no memory"} {
		if run.code != 1 || !strings.Contains(run.stderr, part) {
			t.Errorf("code %d, want a message that says %q:\n%s", run.code, part, run.stderr)
		}
	}
}
