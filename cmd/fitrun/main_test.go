//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/internal/testutil/executable"
	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
)

// failsafe ends a test that hangs; no test waits for it to pass.
const failsafe = 2 * time.Minute

// leakChecked runs the tests and then looks for goroutines left behind.
type leakChecked struct{ m *testing.M }

func (l leakChecked) Run() int {
	executable.HearSignals()
	effort.Beside(4) // scripts wait for fitrun, and that for ranks
	code := l.m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func TestMain(m *testing.M) {
	if os.Getenv("GORACE") == "" {
		os.Setenv("GORACE", "atexit_sleep_ms=0") // else every rank takes a second to exit under -race
	}
	testscript.Main(leakChecked{m}, map[string]func(){
		"fitrun":       main,
		"fitmpi-guard": main,
		"rankprog":     rankprog,
	})
}

// The scripts run the real fitrun, and ranks that are this test binary under the name rankprog.
// Beside testscript's own commands there are:
//
//	code N prog args...   run prog to its end and check its exit code
//	start prog args...    start prog with a standard input that never ends
//	signal NAME           send INT, TERM or KILL to what start started
//	finish N              wait for its end and check its exit code (-N: killed by signal N)
//	await file...         wait until the files exist
//	gone file...          wait until the processes whose ids the files hold are gone
//	dead file...          check that they are gone already
//	held file...          check that some process has the open file (device:inode) that the file names; with !, wait
//	                      until none has
//
// A short run has a few scripts only.
//
// The condition [cores>1] holds where fitrun may use several cores, [race] with the race detector.
func TestScript(t *testing.T) {
	params := testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": cmdCode, "start": cmdStart, "signal": cmdSignal, "finish": cmdFinish,
			"await": cmdAwait, "gone": cmdGone, "dead": cmdDead, "held": cmdHeld,
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "cores>1":
				return sys.AllowedCores() > 1, nil
			case "race":
				return withRace, nil
			default:
				return false, fmt.Errorf("unknown condition %s", cond)
			}
		},
		Setup: func(env *testscript.Env) error {
			for name, value := range goEnv() {
				env.Setenv(name, value)
			}
			env.Setenv("GORACE", os.Getenv("GORACE"))
			host, err := os.Hostname()
			env.Setenv("HOST", host)
			env.Setenv("GOMAXPROCS", "") // whatever runs the tests may have set it
			return err
		},
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
	}
	if testing.Short() {
		params.Dir = ""
		for _, name := range []string{"exchange", "failure", "output", "plain", "refusals"} {
			params.Files = append(params.Files, filepath.Join("testdata", "script", name+".txtar"))
		}
	}
	testscript.Run(t, params)
}

// goEnv is what the go command needs to know in a script that builds.
var goEnv = sync.OnceValue(func() (values map[string]string) {
	out, err := exec.Command("go", "env", "-json", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPATH", "GOROOT").Output()
	if err == nil {
		err = json.Unmarshal(out, &values)
	}
	if err != nil {
		return nil // the scripts that build will say so
	}
	return values
})

// exitCode is how cmd ended: its code, or the negative number of the signal that killed it.
func exitCode(err error) (int, bool) {
	if err == nil {
		return 0, true
	}
	e, ok := err.(*exec.ExitError)
	if !ok {
		return 0, false
	}
	if status := e.Sys().(syscall.WaitStatus); status.Signaled() {
		return -int(status.Signal()), true
	}
	return e.ExitCode(), true
}

func wantCode(ts *testscript.TestScript, err error, want string) {
	n, convErr := strconv.Atoi(want)
	ts.Check(convErr)
	if got, ok := exitCode(err); !ok || got != n {
		ts.Fatalf("it ended with %v, want code %d", err, n)
	}
}

func cmdCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N prog args...")
	}
	wantCode(ts, ts.Exec(args[1], args[2:]...), args[0])
}

// started is what start started in a script; one at a time.
type started struct {
	cmd      *exec.Cmd
	out, err strings.Builder
}

var startedBy sync.Map // script name -> *started; scripts run in parallel

func theStarted(ts *testscript.TestScript) *started {
	s, ok := startedBy.Load(ts.Name())
	if !ok {
		ts.Fatalf("nothing was started")
	}
	return s.(*started)
}

func cmdStart(ts *testscript.TestScript, neg bool, args []string) {
	path, err := exec.LookPath(args[0])
	ts.Check(err)
	s := &started{cmd: exec.Command(path, args[1:]...)}
	s.cmd.Args[0] = args[0]
	s.cmd.Dir = ts.MkAbs(".")
	s.cmd.Env = append(os.Environ(), "GOMAXPROCS=", "WORK="+ts.Getenv("WORK"), "TMPDIR="+ts.Getenv("TMPDIR"),
		"FITMPI_SSH="+ts.Getenv("FITMPI_SSH"), "HOMES="+ts.Getenv("HOMES"))
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.err
	stdin, stdinW, err := os.Pipe()
	ts.Check(err)
	s.cmd.Stdin = stdin
	ts.Check(s.cmd.Start())
	stdin.Close()
	startedBy.Store(ts.Name(), s)
	ts.Defer(func() {
		stdinW.Close()
		s.cmd.Process.Kill()
		s.cmd.Wait()
	})
}

func cmdSignal(ts *testscript.TestScript, neg bool, args []string) {
	sig, ok := map[string]syscall.Signal{
		"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL, "HUP": syscall.SIGHUP,
	}[args[0]]
	if !ok {
		ts.Fatalf("unknown signal %s", args[0])
	}
	ts.Check(theStarted(ts).cmd.Process.Signal(sig))
}

func cmdFinish(ts *testscript.TestScript, neg bool, args []string) {
	s := theStarted(ts)
	timer := time.AfterFunc(failsafe, func() { s.cmd.Process.Kill() })
	err := s.cmd.Wait()
	timer.Stop()
	fmt.Fprint(ts.Stdout(), s.out.String())
	fmt.Fprint(ts.Stderr(), s.err.String())
	wantCode(ts, err, args[0])
}

// until polls for a condition that another process brings about.
func until(ts *testscript.TestScript, what string, met func() bool) {
	for end := time.Now().Add(failsafe); !met(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			ts.Fatalf("waited %v for %s", failsafe, what)
		}
	}
}

func cmdAwait(ts *testscript.TestScript, neg bool, args []string) {
	for _, file := range args {
		until(ts, file, func() bool {
			_, err := os.Stat(ts.MkAbs(file))
			return err == nil
		})
	}
}

// pidIn is the process id that file holds.
func pidIn(ts *testscript.TestScript, file string) int {
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(file)))
	ts.Check(err)
	return pid
}

func cmdDead(ts *testscript.TestScript, neg bool, args []string) {
	for _, file := range args {
		if pid := pidIn(ts, file); !isGone(pid) {
			ts.Fatalf("process %d of %s is still there", pid, file)
		}
	}
}

func cmdGone(ts *testscript.TestScript, neg bool, args []string) {
	for _, file := range args {
		pid := pidIn(ts, file)
		until(ts, fmt.Sprintf("process %d of %s to be gone", pid, file), func() bool { return isGone(pid) })
	}
}

func cmdHeld(ts *testscript.TestScript, neg bool, args []string) {
	for _, file := range args {
		id := ts.ReadFile(file)
		if neg {
			until(ts, fmt.Sprintf("nobody to have the file %s of %s", id, file), func() bool { return !isHeld(id) })
		} else if !isHeld(id) {
			ts.Fatalf("no process has the file %s of %s", id, file)
		}
	}
}

// isHeld reports whether some process has the file with this device and inode open.
func isHeld(id string) bool {
	fds, err := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, fd := range fds {
		var st syscall.Stat_t
		if syscall.Stat(fd, &st) == nil && fmt.Sprintf("%d:%d", st.Dev, st.Ino) == id {
			return true
		}
	}
	return err != nil
}

// isGone also holds for a zombie that its parent does not reap: an orphan's new parent is not ours
// to mend.
func isGone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(rest, "Z") || strings.HasPrefix(rest, "X")
}
