//go:build linux

package tests

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/internal/testutil/executable"
	"github.com/fitmpi/fitmpi/internal/testutil/faultproxy"
	"github.com/fitmpi/fitmpi/mpi"
)

// The same binary under the launchers of others: each starts this test's ranks as it starts any
// program.

func init() {
	programs["parent"] = parentRank
	programs["child"] = initFinalizeRank
}

// parentRank runs this binary again, as a program that knows nothing of it.
func parentRank() {
	mpi.Main(func(_ context.Context, c *mpi.Comm) error {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), envProgram+"=child")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			return err
		}
		return mpi.Barrier(c)
	})
}

// launcher is a way to start n ranks.
type launcher struct {
	name    string
	program string // without which it is not installed
	command func(t *testing.T, n int) (args, env []string)
}

var launchers = []launcher{
	{"mpiexec of MPICH", "mpiexec.hydra", func(_ *testing.T, n int) ([]string, []string) {
		return []string{"mpiexec.hydra", "-n", fmt.Sprint(n)}, nil
	}},
	{"mpiexec of MPICH by PMI_PORT", "mpiexec.hydra", func(_ *testing.T, n int) ([]string, []string) {
		return []string{"mpiexec.hydra", "-pmi-port", "-n", fmt.Sprint(n)}, nil
	}},
	{"mpirun of Open MPI", "mpirun.openmpi", func(_ *testing.T, n int) ([]string, []string) {
		return []string{"mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", fmt.Sprint(n)}, nil
	}},
	{"srun --mpi=pmi2", "srun", func(t *testing.T, n int) ([]string, []string) {
		return []string{"srun", "--mpi=pmi2", "-n", fmt.Sprint(n)}, slurm(t)
	}},
	{"srun", "srun", func(t *testing.T, n int) ([]string, []string) {
		return []string{"srun", "--mpi=none", "-n", fmt.Sprint(n)}, slurm(t)
	}},
	{"srun --mpi=pmix", "srun", func(t *testing.T, n int) ([]string, []string) {
		env := slurm(t)
		try := exec.Command("srun", "--mpi=pmix", "-n", "1", "true") // which may be in the list though its library is not there
		try.Env = append(os.Environ(), env...)
		if out, err := try.CombinedOutput(); err != nil && strings.Contains(string(out), "Invalid MPI type 'pmix'") {
			t.Skipf("this Slurm finds no PMIx (Debian: libpmix-dev) (%v):\n%s", err, out)
		}
		return []string{"srun", "--mpi=pmix", "-n", fmt.Sprint(n)}, env
	}},
	{"mpiexec in an allocation of Slurm", "mpiexec.hydra", func(t *testing.T, n int) ([]string, []string) {
		return []string{"salloc", "-n", fmt.Sprint(n), "mpiexec.hydra", "-n", fmt.Sprint(n)}, slurm(t)
	}},
	{"mpirun in an allocation of Slurm", "mpirun.openmpi", func(t *testing.T, n int) ([]string, []string) {
		return []string{"salloc", "-n", fmt.Sprint(n), "mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", fmt.Sprint(n)}, slurm(t)
	}},
	{"srun of a script", "srun", func(t *testing.T, n int) ([]string, []string) {
		return []string{"srun", "--mpi=none", "-n", fmt.Sprint(n), "sh", "-c", `"$0"; exit $?`}, slurm(t)
	}},
	{"srun with a rendezvous", "srun", func(t *testing.T, n int) ([]string, []string) {
		return []string{"srun", "--mpi=none", "-n", fmt.Sprint(n)}, append(slurm(t), rendezvous(t)...)
	}},
}

// rendezvous is the environment of ranks that meet by TCP.
func rendezvous(t *testing.T) []string {
	t.Helper()
	name := t.TempDir() + "/secret"
	if err := os.WriteFile(name, []byte(strings.Repeat("not so secret ", 3)), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"FITMPI_RENDEZVOUS=" + faultproxy.FreeAddress(t), "FITMPI_SECRET_FILE=" + name}
}

// eachLauncher calls f for every launcher that is installed.
func eachLauncher(t *testing.T, f func(t *testing.T, l launcher)) {
	for _, l := range launchers {
		t.Run(l.name, func(t *testing.T) {
			if _, err := exec.LookPath(l.program); err != nil {
				t.Skipf("not installed: %v", err)
			}
			skipHurried(t)
			f(t, l)
		})
	}
}

func skipHurried(t *testing.T) {
	t.Helper()
	if isHurried() {
		t.Skip("in a hurry: the ranks are the same whoever starts them")
	}
}

// start runs a program of this binary as n ranks. It ends the launcher, and with it the ranks,
// after a time that no job needs.
func (l launcher) start(t *testing.T, program string, n int, dir string, set ...string) jobRun {
	t.Helper()
	self := selfPath(t)
	args, env := l.command(t, n)
	ctx, cancel := context.WithTimeout(t.Context(), jobTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], append(args[1:], self)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Env = append(cmd.Env, envProgram+"="+program, envDir+"="+dir, envPolicy+"=assist", envCase+"="+*caseFlag, envOther+"=1")
	cmd.Env = append(cmd.Env, set...)
	if l.program == "mpirun.openmpi" {
		cmd.Env = append(cmd.Env, "OMPI_MCA_orte_tmpdir_base="+dirOfOpenMPI(t))
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = deadline
	var stdout, stderr buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	err := cmd.Run()
	run := jobRun{stdout: stdout.String(), stderr: stderr.String(), took: time.Since(began)}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		if run.code = exit.ExitCode(); run.code < 0 { // by a signal
			run.code = 128 + int(exit.Sys().(syscall.WaitStatus).Signal())
		}
	case err != nil:
		t.Fatal(err)
	}
	return run
}

// dirOfOpenMPI is a directory in which no other mpirun makes or removes what this one needs, as
// those of one user do in the directory that they share. Its name is short: it becomes part of a
// socket's.
func dirOfOpenMPI(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "mpirun")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// TestLaunchers: every rank is the rank that it should be, and reaches the others: by memory, as
// they are on one host.
func TestLaunchers(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it starts jobs by every launcher there is")
	isFull := effort.Now() >= effort.Full
	eachLauncher(t, func(t *testing.T, l launcher) {
		for n := range 6 {
			if n == 0 || !isFull && n != 3 {
				continue
			}
			run := l.start(t, "mixed", n, t.TempDir())
			if run.code != 0 {
				t.Errorf("%d ranks: code %d\n%s%s", n, run.code, run.stdout, run.stderr)
			}
			for r := range n {
				ways := strings.Fields(strings.Repeat("shared ", n))
				ways[r] = "self"
				if want := fmt.Sprintf("rank %d: %s\n", r, strings.Join(ways, " ")); strings.Count(run.stdout, want) != 1 {
					t.Errorf("%d ranks: want %q once in:\n%s%s", n, want, run.stdout, run.stderr)
				}
			}
		}
	})
}

// The conformance suite under each of them.
func TestSuiteLaunchers(t *testing.T) {
	effort.Need(t, effort.Full, "it runs the suite under each launcher")
	sizes := map[string][]int{"mpiexec of MPICH": {1, 4}, "mpirun of Open MPI": {3}, "srun --mpi=pmi2": {3}, "srun": {2}}
	if raceEnabled {
		sizes = map[string][]int{"mpiexec of MPICH": {2}}
	}
	turn := 0
	eachLauncher(t, func(t *testing.T, l launcher) {
		for _, n := range sizes[l.name] {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				aPart(t, effort.Now(), turn, 4)
				turn++
				t.Setenv(envWorld, "1")
				dir := t.TempDir()
				run := l.start(t, "suite", n, dir)
				run.stdout, run.stderr = run.stdout+run.stderr, ""
				if run.code == 0 {
					run.stdout = "" // launchers say what they please
				}
				tellSuite(t, run, n, dir)
			})
		}
	})
}

// TestDeathUnderLaunchers: a rank that fails ends the job, and the output says why.
func TestDeathUnderLaunchers(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "launchers take their time to end a job")
	gone := "is gone: it exited without Finalize, or was killed"
	for _, test := range []struct {
		how, wait string
		codes     []int // one of which is the job's: launchers differ in which process counts, and Slurm kills the others at an abort
		says      []string
	}{
		{"error", "Recv", []int{1, 137}, []string{"rank 1: the matrix is singular"}},
		{"abort", "compute", []int{7, 137}, []string{"aborted the job with code 7: the matrix is singular"}},
		{"killed", "another", []int{1, 9, 137}, []string{gone, "KILLED", "Killed", "signal 9"}},
	} {
		t.Run(test.how, func(t *testing.T) {
			eachLauncher(t, func(t *testing.T, l launcher) {
				run := l.start(t, "victim", 3, t.TempDir(), envDeath+"="+test.how, envWait+"="+test.wait)
				isCode, isSaid := false, false
				for _, code := range test.codes {
					isCode = isCode || run.code == code
				}
				for _, s := range test.says {
					isSaid = isSaid || strings.Contains(run.stderr+run.stdout, s)
				}
				if !isCode || !isSaid {
					t.Errorf("code %d, want one of %v and one of %q:\n%s%s", run.code, test.codes, test.says, run.stdout, run.stderr)
				}
				if run.took > 2*deadline {
					t.Errorf("the job took %v to end", run.took)
				}
			})
		})
	}
}

// tolerantLaunchers leave the survivors alone.
var tolerantLaunchers = []launcher{
	// Hydra kills all processes of a host when one of them is ended by a signal, and sends the
	// others SIGUSR1 in any case.
	{"mpiexec of MPICH", "mpiexec.hydra", func(_ *testing.T, n int) ([]string, []string) {
		return []string{"mpiexec.hydra", "-disable-auto-cleanup", "-n", fmt.Sprint(n), "sh", "-c", `trap "" USR1; "$0"; exit $?`}, nil
	}},
	{"mpirun of Open MPI", "mpirun.openmpi", func(_ *testing.T, n int) ([]string, []string) {
		return []string{"mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-enable-recovery", "-n", fmt.Sprint(n)}, nil
	}},
	{"srun", "srun", func(t *testing.T, n int) ([]string, []string) {
		return []string{"srun", "--mpi=none", "--kill-on-bad-exit=0", "-n", fmt.Sprint(n)}, slurm(t)
	}},
}

// With FITMPI_FT the others go on when a rank dies, the one with which all have met too.
func TestGoOnUnderLaunchers(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it starts jobs by other launchers")
	skipHurried(t)
	for _, l := range tolerantLaunchers {
		t.Run(l.name, func(t *testing.T) {
			if _, err := exec.LookPath(l.program); err != nil {
				t.Skipf("not installed: %v", err)
			}
			for _, transport := range []string{"auto", "tcp"} {
				for _, who := range []string{"0", "1"} {
					run := l.start(t, "go on", 4, t.TempDir(), "FITMPI_FT=1", "FITMPI_TRANSPORT="+transport, envDeath+"=killed", envVictim+"="+who)
					if want := "3 ranks end well\n"; !strings.Contains(run.stdout, want) {
						t.Errorf("%s, rank %s dies: code %d, want %q:\n%s%s", transport, who, run.code, want, run.stdout, run.stderr)
					}
					if run.took > 2*deadline {
						t.Errorf("%s, rank %s dies: the job took %v to end", transport, who, run.took)
					}
				}
			}
		})
	}
}

// Children of a rank are no ranks: a program that a rank starts is a job of one.
func TestChildOfRankUnderLaunchers(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it starts jobs by other launchers")
	eachLauncher(t, func(t *testing.T, l launcher) {
		run := l.start(t, "parent", 2, t.TempDir())
		if run.code != 0 || strings.Count(run.stdout, "rank 0 of 1\n") != 2 {
			t.Errorf("code %d, want two jobs of one:\n%s%s", run.code, run.stdout, run.stderr)
		}
	})
}

// In an allocation of two nodes fitrun takes its hosts from Slurm and reaches them by srun.
func TestFitrunInAnAllocation(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it starts jobs by Slurm")
	skipHurried(t)
	if _, err := exec.LookPath("srun"); err != nil {
		t.Skipf("not installed: %v", err)
	}
	fitrun := fitrunPath(t)
	l := launcher{command: func(t *testing.T, n int) (args, env []string) {
		return []string{"salloc", "-Q", "-p", "two", "-N", "2", "-n", fmt.Sprint(n), fitrun, "--verbose", "--bind-to", "none"}, slurm(t)
	}}
	run := l.start(t, "exchange", 4, t.TempDir())
	for _, want := range []string{"host fitnode1: ", "host fitnode2: ", "4 ranks in 4 processes on 2 hosts", "0-1 by shared", "0-2 by tcp", "2-3 by shared"} {
		if !strings.Contains(run.stdout+run.stderr, want) || run.code != 0 {
			t.Errorf("code %d, want %q:\n%s%s", run.code, want, run.stdout, run.stderr)
		}
	}
	run = l.start(t, "victim", 4, t.TempDir(), envDeath+"=killed", envWait+"=another")
	if want := regexp.MustCompile(`rank 1 \(pid \d+ on fitnode1\) was killed by signal 9 \(killed\); the job was ended`); run.code != 137 || !want.MatchString(run.stderr) {
		t.Errorf("code %d, want %v:\n%s%s", run.code, want, run.stdout, run.stderr)
	}
}

// A batch script and a shell in an allocation are no ranks, though Slurm tells them of tasks.
func TestNoRankUnderSlurm(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it starts jobs by Slurm")
	skipHurried(t)
	if _, err := exec.LookPath("srun"); err != nil {
		t.Skipf("not installed: %v", err)
	}
	for name, args := range map[string][]string{
		"batch":      {"sbatch", "--wait", "-n", "4", "-o", "%s/out", "%s/script"},
		"allocation": {"salloc", "-n", "4", "%s/script"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			executable.Write(t, dir+"/script", "#!/bin/sh\n\"$1\"\n")
			l := launcher{command: func(t *testing.T, _ int) (full, env []string) {
				for _, arg := range args {
					full = append(full, strings.ReplaceAll(arg, "%s", dir))
				}
				return full, slurm(t)
			}}
			run := l.start(t, "child", 1, dir)
			out := run.stdout
			if b, err := os.ReadFile(dir + "/out"); err == nil {
				out += string(b)
			}
			if run.code != 0 || strings.Count(out, "rank 0 of 1\n") != 1 {
				t.Errorf("code %d, want a job of one:\n%s%s", run.code, out, run.stderr)
			}
		})
	}
}

func selfPath(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return self
}
