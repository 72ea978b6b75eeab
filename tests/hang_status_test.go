//go:build linux

package tests

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/mpi"
)

// What fitrun status and SIGQUIT say of jobs that run.

func init() {
	hangs["status"], hangs[waitingCase] = statusJob, mpi.Barrier
}

// statusJob: rank 0 computes until the test makes a file, the others wait for it.
func statusJob(c *mpi.Comm) error {
	if c.Rank() != 0 {
		_, err := mpi.Recv(c, few8(), 0, 7)
		return err
	}
	fmt.Println("computing in process", os.Getpid())
	awaitGo()
	for r := 1; r < c.Size(); r++ {
		if err := mpi.Send(c, few8(), r, 7); err != nil {
			return err
		}
	}
	return nil
}

// status is what fitrun status says, and its exit code.
func status(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.Command(fitrunPath(t), append([]string{"status"}, args...)...)
	var out, err strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &err
	if e := cmd.Run(); e != nil && cmd.ProcessState == nil {
		t.Fatal(e)
	}
	return out.String(), err.String(), cmd.ProcessState.ExitCode()
}

// startComputing starts a job of statusJob that computes; rank0 is the process of rank 0, done lets
// it end.
func startComputing(t *testing.T, args ...string) (r *acrossRun, rank0 int, done func()) {
	t.Helper()
	j := hangJob{fitrun: fitrunPath(t), name: "status", ranks: 3, dir: t.TempDir(), args: args}
	r, _ = j.start(t)
	r.stdout.await(t, "computing in process")
	if _, err := fmt.Sscanf(r.stdout.String(), "computing in process %d", &rank0); err != nil {
		t.Fatal(err)
	}
	return r, rank0, func() { makeGo(t, j.dir) }
}

// makeGo makes the file that awaitGo waits for.
func makeGo(t *testing.T, dir string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

const statusWant = `3 ranks: 1 busy outside of MPI, 2 in MPI calls that wait; no deadlock is seen\n` +
	`  ranks:\n    rank 0: .*at \S+\.go:\d+ in .*\n    ranks 1-2: Recv from rank 0, tag 7, room for 8 B, world, at L, for `

// TestStatus: a job that is asked says what each rank does, and goes on; by fitrun status and by
// SIGQUIT.
func TestStatus(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"--on-deadlock", "off", "--transport", "tcp"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			r, rank0, done := startComputing(t, args...)
			awaitStatus(t, r.cmd.Process.Pid)
			pid := fmt.Sprint(r.cmd.Process.Pid)
			untilStatus(t, r, ` rank, running for \d+s\n`+statusWant)
			_, stderr, code := status(t, pid)
			if code != 0 || stderr != "" {
				t.Errorf("code %d, %s", code, stderr)
			}
			if out, _, _ := status(t); !regexp.MustCompile(`(?m)^` + pid + ` +3 +\d+s +\S+ rank$`).MatchString(out) {
				t.Errorf("it is not in the list:\n%s", out)
			}
			if _, stderr, code = status(t, fmt.Sprint(rank0)); code != 1 || !strings.Contains(stderr, "was started by one: ask fitrun status "+pid) {
				t.Errorf("of a rank is said, with code %d: %s", code, stderr)
			}
			out, _, _ := status(t, "--json", pid)
			var a struct {
				PID, Ranks int
				Data       struct {
					Ranks []struct{ Phase, Host string }
				}
			}
			if err := json.Unmarshal([]byte(out), &a); err != nil || len(a.Data.Ranks) != 3 || a.Data.Ranks[2].Phase != "takes part" {
				t.Errorf("%v: %+v\n%s", err, a, out)
			}
			r.cmd.Process.Signal(syscall.SIGQUIT)
			r.stderr.await(t, "ranks 1-2: Recv")
			wantMatch(t, r.stderr.String(), "fitrun: status: "+statusWant)
			done()
			if run := r.end(t, jobTimeout); run.code != 0 || strings.Contains(run.stderr, "goroutine ") {
				t.Errorf("code %d\n%s", run.code, run.stderr)
			}
			if _, stderr, code = status(t, pid); code != 1 || !strings.Contains(stderr, "there is no process "+pid) {
				t.Errorf("of a job that is over is said, with code %d: %s", code, stderr)
			}
		})
	}
}

// awaitStatus waits until a fitrun can be asked: its ranks may run before.
func awaitStatus(t *testing.T, pid int) {
	t.Helper()
	for late := time.Now().Add(2 * failsafe); ; time.Sleep(time.Millisecond) {
		out, stderr, _ := status(t)
		if strings.Contains(out, fmt.Sprint(pid)) {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("fitrun cannot be asked: %s%s", out, stderr)
		}
	}
}

// untilStatus asks a job until the answer matches, as wantMatch has it: the ranks are on their way
// there. It has to while the job runs.
func untilStatus(t *testing.T, r *acrossRun, want string) {
	t.Helper()
	re := regexp.MustCompile(withLines(want))
	var said string
	for late := time.Now().Add(2 * failsafe); !re.MatchString(said); said, _, _ = status(t, fmt.Sprint(r.cmd.Process.Pid)) {
		select {
		case <-r.endc:
			t.Fatalf("it has ended before it said what matches %s, but:\n%s", want, said)
		default:
		}
		if time.Now().After(late) {
			t.Fatalf("want what matches %s:\n%s", want, said)
		}
	}
}

// TestStatusOfDeadlock: what is a deadlock is called one when asked, too.
func TestStatusOfDeadlock(t *testing.T) {
	t.Parallel()
	j := hangJob{fitrun: fitrunPath(t), name: "recv recv", ranks: 2, args: []string{"--on-deadlock", "report"}}
	r, _ := j.start(t)
	r.stderr.await(t, "deadlock: ")
	awaitStatus(t, r.cmd.Process.Pid)
	out, _, _ := status(t, fmt.Sprint(r.cmd.Process.Pid))
	wantMatch(t, out, `\ndeadlock: no rank can go on: .*\n  circle of 2 ranks: 0 -> 1 -> 0\n`)
}

// TestStopped: a rank that is stopped, as by a debugger, is no deadlock; a user that asks is told
// that it does not answer.
func TestStopped(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it waits for seconds")
	r, rank0, done := startComputing(t, "--on-deadlock", "abort")
	awaitStatus(t, r.cmd.Process.Pid)
	if err := syscall.Kill(rank0, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(rank0, syscall.SIGCONT)
	// Each time it waits for four seconds, two hundred pauses of the watch.
	untilStatus(t, r, `3 ranks: 1 silent, 2 in MPI calls that wait; no deadlock is seen\n  ranks:\n    rank 0: does not answer: it may be stopped`)
	syscall.Kill(rank0, syscall.SIGCONT)
	done()
	if run := r.end(t, jobTimeout); run.code != 0 || run.stderr != "" {
		t.Errorf("code %d\n%s", run.code, run.stderr)
	}
}

// TestStatusInInit: a rank that has not called Init is named, and so are those that wait for it
// there.
func TestStatusInInit(t *testing.T) {
	t.Parallel()
	j := hangJob{fitrun: fitrunPath(t), name: waitingCase, ranks: 3, dir: t.TempDir(), args: []string{"--on-deadlock", "abort"}}
	r, _ := j.start(t)
	awaitStatus(t, r.cmd.Process.Pid)
	untilStatus(t, r, `3 ranks: (2 silent, 1 outside of mpi.Init|1 outside of mpi.Init, 2 silent); no deadlock is seen\n`+
		`(?s:.*): is in mpi.Init, which waits for rank \d\n`)
	makeGo(t, j.dir)
	if run := r.end(t, jobTimeout); run.code != 0 || run.stderr != "" {
		t.Errorf("code %d\n%s", run.code, run.stderr)
	}
}

// TestStatusRefuses: what cannot be asked is said, on one line.
func TestStatusRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"x"}, 2, `"x" is no process id`},
		{[]string{"-1"}, 2, "unknown option"},
		{[]string{"1", "2"}, 2, "one process id at most"},
		{[]string{"--yaml"}, 2, "unknown option --yaml"},
		{[]string{fmt.Sprint(os.Getpid())}, 1, "is not a fitrun"},
	} {
		out, stderr, code := status(t, tc.args...)
		if code != tc.code || out != "" || !strings.Contains(stderr, tc.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: code %d\n%s%s", tc.args, code, out, stderr)
		}
	}
	if out, _, code := status(t, "--help"); code != 0 || !strings.Contains(out, "Usage:") {
		t.Errorf("help: code %d\n%s", code, out)
	}
}
