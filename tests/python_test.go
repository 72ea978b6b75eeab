//go:build linux

package tests

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/mpi"
)

// Ranks in another language in one job, as PMPI has them ("programs in different languages and on
// different systems in one job"): the client of docs/PROTOCOL.md in clients/python, beside ranks in
// Go, under fitrun.

func init() {
	programs["beside python"] = func() { mpi.Main(besidePython) }
	for name, call := range pythonRefuses {
		programs["python refuses "+name] = func() {
			mpi.Main(func(_ context.Context, world *mpi.Comm) error { return call(world) })
		}
	}
	programs["python ends"] = func() {
		mpi.Main(func(_ context.Context, world *mpi.Comm) error {
			if err := mpi.Barrier(world); err != nil {
				return err
			}
			_, err := mpi.Recv(world, make([]byte, 1), mpi.AnySource, 5)
			return err
		})
	}
}

// Tags of what ranks in Go ask the others for; clients/python/tests/rank.py has the same.
const (
	pythonEcho = 1 + iota
	pythonDouble
	pythonBurst
	pythonStop
)

// pythonRanks is how many ranks in Go the job has, which come first, and all ranks.
const pythonGoRanks, pythonAllRanks = 2, 4

// besidePython asks every rank in Python for all that it can do.
func besidePython(_ context.Context, world *mpi.Comm) error {
	for p := pythonGoRanks; p < world.Size(); p++ {
		if way := world.Transport(p); way != "tcp" {
			return fmt.Errorf("rank %d is reached by %s", p, way)
		}
		if err := errors.Join(echoed(world, p), doubled(world, p), inTurn(world, p)); err != nil {
			return fmt.Errorf("rank %d in Python: %w", p, err)
		}
		if err := mpi.Ssend(world, []byte{0}, p, pythonStop); err != nil {
			return err
		}
	}
	for range 10 {
		if err := mpi.Barrier(world); err != nil {
			return err
		}
	}
	return nil
}

// echoed has messages come back, eager ones and by rendezvous, named and by wildcards.
func echoed(world *mpi.Comm, p int) error {
	for _, n := range []int{0, 1, 8, 4096, 256 << 10, 256<<10 + 1, 4 << 20} {
		out, in := bytes.Repeat([]byte{byte(n), 2, 3}, n/3+1)[:n], make([]byte, n)
		q := mpi.Isend(world, out, p, pythonEcho)
		st, err := mpi.Recv(world, in, mpi.AnySource, mpi.AnyTag)
		if _, serr := q.Wait(); err != nil || serr != nil {
			return errors.Join(err, serr)
		}
		if st.Source != p || st.Tag != pythonEcho || st.Count != n || !bytes.Equal(in, out) {
			return fmt.Errorf("%d bytes came back as %+v, equal: %t", n, st, bytes.Equal(in, out))
		}
	}
	return nil
}

// doubled has it compute: the class of the elements goes both ways.
func doubled(world *mpi.Comm, p int) error {
	in := make([]float64, 3)
	if err := mpi.Send(world, []float64{1, 2.5, -4}, p, pythonDouble); err != nil {
		return err
	}
	if _, err := mpi.Recv(world, in, p, pythonDouble); err != nil || !slices.Equal(in, []float64{2, 5, -8}) {
		return fmt.Errorf("doubled to %v, %w", in, err)
	}
	if err := mpi.Send(world, []float64{1}, p, pythonDouble); err != nil {
		return err
	}
	if _, err := mpi.Recv(world, make([]int64, 1), p, pythonDouble); !errors.Is(err, mpi.ErrType) {
		return fmt.Errorf("float64 received as int64: %v", err)
	}
	return nil
}

// inTurn receives many messages of three tags: each tag in its order (MPI 4.1, section 3.5).
func inTurn(world *mpi.Comm, p int) error {
	const n = 300
	if err := mpi.Send(world, []int64{n}, p, pythonBurst); err != nil {
		return err
	}
	for tag := range 3 {
		for i := tag; i < n; i += 3 {
			var got [1]int64
			if _, err := mpi.Recv(world, got[:], p, 100+tag); err != nil || got[0] != int64(i) {
				return fmt.Errorf("tag %d: got %d, want %d, %w", 100+tag, got[0], i, err)
			}
		}
	}
	return nil
}

// python is the path of the interpreter; without one the test is skipped.
func python(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not there: the client in clients/python is not tested")
	}
	return path
}

// pythonJob runs a program of this binary as the first ranks of a job, and what rank.py has as the
// others.
func pythonJob(t *testing.T, program, act string, options ...string) jobRun {
	t.Helper()
	client, err := filepath.Abs("../clients/python")
	if err != nil {
		t.Fatal(err)
	}
	args := slices.Concat([]string{"--timeout", "1m", "--bind-to", "none", "-genv", envProgram, program,
		"-genv", "PYTHONPATH", client, "-genv", "PYTHONDONTWRITEBYTECODE", "1"}, options,
		[]string{"-n", strconv.Itoa(pythonGoRanks), selfPath(t), ":", "-n", strconv.Itoa(pythonAllRanks - pythonGoRanks),
			python(t), filepath.Join(client, "tests/rank.py"), act, strconv.Itoa(pythonGoRanks)})
	cmd := exec.CommandContext(t.Context(), fitrunPath(t), args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = jobTimeout
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var stdout, stderr buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	if err := cmd.Run(); err != nil {
		if _, ok := errors.AsType[*exec.ExitError](err); !ok {
			t.Fatal(err)
		}
	}
	return jobRun{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String(), time.Since(began)}
}

// A rank in Python says what it waits for, as one in Go does. So a deadlock is found, and fitrun
// says where each rank waits (--on-deadlock).
func TestPythonDeadlock(t *testing.T) {
	effort.Need(t, effort.Usual, "it starts ranks in Python")
	t.Parallel()
	run := pythonJob(t, "python ends", "wait", "--on-deadlock", "abort")
	if run.code != exitDeadlock {
		t.Errorf("code %d after %v", run.code, run.took)
	}
	wantMatch(t, run.stderr, `^fitrun: deadlock: no rank can go on`, `circle of \d+ ranks: 0 -> [23]`,
		`rank [23] waits for rank 0: recv from rank 0, tag 99, world, at \S*rank\.py:\d+, for `,
		`world, collective 0: ranks 0-1 in Barrier at \S+\n +missing: ranks? [23](-3)? \(recv from rank 0, tag 99`)
}

// The client's own tests: its bytes are those of the vectors of docs/PROTOCOL.md, and worlds of
// ranks in Python alone.
func TestPythonClient(t *testing.T) {
	effort.Need(t, effort.Usual, "it starts ranks in Python")
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), python(t), "-B", "-m", "unittest", "discover", "-t", ".", "-s", "tests")
	cmd.Dir = "../clients/python"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// PMPI: ranks in two languages are one job. Messages of all protocols between two ranks, wildcards,
// Barrier, and a clean end, under each policy of the ranks in Go.
func TestPythonJob(t *testing.T) {
	t.Parallel()
	python(t)
	policies := []string{"assist", "worker", "caller"}
	if testing.Short() {
		policies = policies[:1]
	}
	for _, policy := range policies {
		run := pythonJob(t, "beside python", "serve", "--progress", policy)
		if run.code != 0 || run.stderr != "" {
			t.Errorf("%s: code %d\n%s", policy, run.code, run.stderr)
		}
		for r := pythonGoRanks; r < pythonAllRanks; r++ {
			if want := fmt.Sprintf("rank %d in Python is done\n", r); strings.Count(run.stdout, want) != 1 {
				t.Errorf("%s: want %q once in:\n%s", policy, want, run.stdout)
			}
		}
	}
}

// pythonRefuses are calls of ranks in Go that need what the client does not have.
var pythonRefuses = map[string]func(world *mpi.Comm) error{
	"Allreduce": func(world *mpi.Comm) error { // so long that rank 0 sends before it has heard the others
		return mpi.Allreduce(world, make([]int, 1000), make([]int, 1000), mpi.Sum)
	},
	"a call that makes or frees a communicator, a window or a file": func(world *mpi.Comm) error {
		_, err := world.Dup(nil)
		return err
	},
	"a serialised value of Go": func(world *mpi.Comm) error {
		if err := mpi.Send(world, []string{"text"}, 2, 99); err != nil {
			return err
		}
		_, err := mpi.Recv(world, make([]byte, 1), 2, 0)
		return err
	},
}

// What the client cannot do ends the job with one clear word, and no rank waits for an answer.
func TestPythonRefuses(t *testing.T) {
	effort.Need(t, effort.Usual, "it starts ranks in Python")
	t.Parallel()
	python(t)
	for name := range pythonRefuses {
		run := pythonJob(t, "python refuses "+name, "wait")
		if want := regexp.MustCompile(`rank \d (is a client in Python, which cannot do this: |.*has sent )?.*` + regexp.QuoteMeta(name)); run.code == 0 || !want.MatchString(run.stderr) {
			t.Errorf("%s: code %d\n%s", name, run.code, run.stderr)
		}
		if strings.Contains(run.stderr, "Traceback") && !strings.Contains(name, "serialised") || strings.Contains(run.stderr, "panic") || run.took > 30*time.Second {
			t.Errorf("%s: it took %v\n%s", name, run.took, run.stderr)
		}
	}
	for _, tc := range []struct{ option, what string }{
		{"--tls", "encrypted connections"}, {"--check", "the checks of types and calls"}, {"--with-ft", "to go on without dead ranks"},
	} {
		run := pythonJob(t, "beside python", "serve", tc.option)
		if want := "is a client in Python, which cannot do this: " + tc.what; run.code == 0 || !strings.Contains(run.stderr, want) || run.took > 30*time.Second {
			t.Errorf("%s: code %d after %v, want %q in\n%s", tc.option, run.code, run.took, want, run.stderr)
		}
	}
}

// Whatever ends a rank in Python ends the job, as with any rank (docs/LAUNCH.md, When a rank dies).
func TestPythonEnds(t *testing.T) {
	effort.Need(t, effort.Usual, "it starts ranks in Python")
	t.Parallel()
	python(t)
	for act, want := range map[string]string{
		"die":   `was killed by signal 9`,
		"leave": `(?i)finalize`,
		"fail":  `ValueError: of the program's own`,
	} {
		run := pythonJob(t, "python ends", act)
		if run.code == 0 || !regexp.MustCompile(want).MatchString(run.stderr) || run.took > 30*time.Second {
			t.Errorf("%s: code %d after %v, want %q in\n%s", act, run.code, run.took, want, run.stderr)
		}
	}
}
