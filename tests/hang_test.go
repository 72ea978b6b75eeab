//go:build linux

package tests

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// Jobs that hang, and jobs that only seem to, under a real fitrun with its watch for deadlocks.

const (
	// exitDeadlock is fitrun's exit code with --on-deadlock abort.
	exitDeadlock = 111
	// hangPause is between two rounds of fitrun's watch, instead of two seconds.
	hangPause = "20ms"
)

// hangJob is a fitrun with ranks of hangRank.
type hangJob struct {
	fitrun string
	name   string // of the program
	ranks  int
	args   []string // options
	dir    string   // for the ranks
	pause  string   // of the watch; "" is hangPause
}

// start starts it; what comes is in the result's buffers. stdin stays open until the test closes
// it, or ends.
func (j *hangJob) start(t *testing.T) (r *acrossRun, stdin io.Closer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if j.pause == "" {
		j.pause = hangPause
	}
	args := append([]string{"-n", fmt.Sprint(j.ranks), "--timeout", jobTimeout.String()}, j.args...)
	r = &acrossRun{cmd: exec.Command(j.fitrun, append(args, self, "rank")...), endc: make(chan error), began: time.Now()}
	r.stdout.changed, r.stderr.changed = make(chan struct{}, 1), make(chan struct{}, 1)
	r.cmd.Env = append(os.Environ(), envProgram+"=hang", envCase+"="+j.name, envDir+"="+j.dir, "FITRUN_DEADLOCK_PAUSE="+j.pause,
		"GORACE=atexit_sleep_ms=0")
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := r.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { // ends with the process, which cleanup kills
		r.cmd.Wait()
		close(r.endc)
	}()
	t.Cleanup(func() {
		in.Close()
		r.cmd.Process.Kill()
		<-r.endc
	})
	return r, in
}

// hangCases are the programs that hang, and what is said of them: regular expressions. A line of
// source is written L.
var hangCases = []struct {
	name  string
	ranks int
	want  []string
}{
	{"recv recv", 2, []string{
		`circle of 2 ranks: 0 -> 1 -> 0\n`,
		`rank 0 waits for rank 1: Recv from rank 1, tag 7, room for 8 B, world, at L, for `,
		`rank 1 waits for rank 0: Recv from rank 0, tag 7, room for 8 B, world, at L, for `,
	}},
	{"ssend ssend", 2, []string{
		`rank 0 waits for rank 1: Ssend to rank 1, tag 3, 8 B, world, at L, for `,
		`rank 1 waits for rank 0: Ssend to rank 0`,
		`sends for which no receive is posted:\n    rank 0: Ssend to rank 1, tag 3, 8 B, world, at L\n    rank 1: Ssend to rank 0`,
	}},
	{"long sends", 2, []string{`rank 0 waits for rank 1: Send to rank 1, tag 3, 64 MiB, world, at L, for `, `sends for which no receive is posted`}},
	{"many sends", 2, []string{`rank 0 waits for rank 1: Send to rank 1, tag 3, 16 KiB, world, at L, for `, `\d+ messages from rank 1, tag 3, 16 KiB, world`}},
	{"ring", 5, []string{`circle of 5 ranks: 0 -> 4 -> 3 -> 2 -> 1 -> 0\n`, `rank 3 waits for rank 2: Recv from rank 2, tag 1`}},
	{"wrong tag", 2, []string{
		`messages that nearly match:\n    rank 0: Recv from rank 1, tag 8, room for 8 B, world, at L; but there is a message from rank 1, tag 7, 8 B, world: the tags differ`,
		`circle of 2 ranks: 0 -> 1 -> 0\n`,
	}},
	{"wrong tag of a long message", 2, []string{
		`rank 0: Recv from rank 1, tag 8, room for 64 MiB, world, at L; but there is a message from rank 1, tag 7, 64 MiB, world \(Send at L\): the tags differ`,
	}},
	{"wrong source", 3, []string{
		`rank 0: Recv from rank 1, tag 5, room for 8 B, world, at L; but there is a message from rank 2, tag 5, 8 B, world: the sources differ`,
		`rank 1 waits for rank 0: Finalize`,
	}},
	{"wrong communicator", 2, []string{
		`rank 0: Recv from rank 1, tag 5, room for 8 B, copy, at L; but there is a message from rank 1, tag 5, 8 B, world: the communicators differ`,
	}},
	{"rank of another communicator", 4, []string{
		`rank 1: Recv from rank 1, tag 5, room for 8 B, world, at L; but there is a message from rank 3, tag 5, 8 B, odd: the communicators differ; rank 1 of odd is rank 3 of the world`,
	}},
	{"bcast reduce", 3, []string{
		`world, collective 0: rank 0 in Reduce at L, ranks 1-2 in Bcast at L\n +these are different collectives: all ranks of a communicator must call the same ones in the same order`,
	}},
	{"barrier without one that is done", 3, []string{
		`rank 0 waits for rank 1: Barrier, collective 0 of world, at L`,
		`world, collective 0: ranks 0, 2 in Barrier at L\n +missing: rank 1 \(Finalize( at L)?: it is done, and waits for the others\)`,
	}},
	{"barrier without one that receives", 4, []string{
		`world, collective 0: ranks 0-1, 3 in Barrier at L\n +missing: rank 2 \(Recv from rank 0, tag 7, room for 8 B, world, at L\)`,
	}},
	{"waitall", 2, []string{
		`rank 1 waits for rank 0: WaitAll at L for Irecv from rank 0, tag 3, room for 8 B, world \(L\), for `,
		`rank 0 waits for rank 1: Recv from rank 1, tag 9`,
	}},
	{"probe", 2, []string{`rank 0 waits for rank 1: Probe from rank 1, tag 5, world, at L, for `}},
	{"knot", 3, []string{
		`rank 0 waits for any rank, such as 1: Recv from any rank, tag 4`,
		`rank 1: WaitAny at L for 1 of 2: Irecv from ranks 0, 2, tag 1, room for 8 B, world \(L\)`,
	}},
	{"receive from one that is done", 3, []string{
		`rank 0 waits for rank 1: Recv from rank 1, tag 7`, `rank 1 waits for rank 0: Finalize( at L)?: it is done`, `behind, waiting for them: rank 2`,
	}},
	{"send to itself", 1, []string{
		`deadlock: rank 0 can never go on`, `rank 0 waits for itself: Ssend to rank 0, tag 7, 8 B, world, at L`,
	}},
	{"waitgroup", 2, []string{
		`circle of 2 ranks: 0 -> 1 -> 0`, `3 goroutines in Recv from rank 0, tag 7`, `waits for another goroutine at L in \S+ \(sync.WaitGroup.Wait\)`,
	}},
	{"mutex", 2, []string{
		`rank 0(: what it waits for can come from nowhere| is in no call)`, `waits for another goroutine at L in \S+ \(sync.Mutex.Lock\)`,
	}},
	{"buffer", 2, []string{
		`circle of 2 ranks: 0 -> 1 -> 0\n`,
		`rank 0 waits for rank 1: DetachJobBuffer of a buffer with messages to rank 1, at L`,
		`rank 1: Recv from rank 0, tag 7, room for 8 B, world, at L; but there is a message from rank 0, tag 3, 1 MiB, world: the tags differ`,
		`sent, and not received: to rank 1, tag 3, 1 MiB, world\n`,
	}},
	{"very many", 2, []string{
		`rank 0 waits for rank 1: WaitAll at L for all of 1000 operations, one of them Irecv from rank 1`,
	}},
	{"function of the garbage collector that waits", 2, []string{
		`circle of 2 ranks: 0 -> 1 -> 0\n`, `rank 0: .*Recv from rank 1, tag 7, `, `\n +Recv from rank \d, tag 9, room for 8 B, world, at L`,
	}},
	{"window lock", 2, []string{
		`rank 0: Lock from rank 0, tag \d+, room for \d+ B, world\+win, at L`, `rank 1: Recv from rank 0, tag 7`, `behind, waiting for them: rank 1\n`,
	}},
	{"fence without one", 3, []string{
		`world\+win, collective \d+: ranks 0, 2 in Fence at L\n +missing: rank 1 \(Recv from rank 0, tag 7, room for 8 B, world, at L\)`,
	}},
	{"file written without one", 2, []string{
		`file, collective \d+: rank 0 in FileWriteAll at L\n +missing: rank 1 \(Recv from rank 0, tag 7, room for 8 B, world, at L\)`,
	}},
	{"partitions", 2, []string{
		`rank 0 waits for itself: Wait at L for PsendInit to rank 1, tag 2, 32 B, world, 3 partitions not made ready`,
	}},
}

// linePattern is a line of the ranks' programs.
const linePattern = `\S*hang(_ranks|_status)_test\.go:\d+`

// TestHang: what can never go on is said to be so, within seconds, and explained; over all
// transports.
func TestHang(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it starts many jobs")
	fitrun := fitrunPath(t)
	for _, how := range []struct {
		name string
		args []string
		all  bool // cases
	}{
		{"shm", nil, true},
		{"tcp", []string{"--transport", "tcp"}, effort.Now() >= effort.Full && !raceEnabled},
		{"threads", []string{"--ranks-per-process", "2"}, effort.Now() >= effort.Full && !raceEnabled},
	} {
		t.Run(how.name, func(t *testing.T) {
			for i, tc := range hangCases {
				if i > 1 && !how.all {
					break
				}
				t.Run(tc.name, func(t *testing.T) {
					j := hangJob{fitrun: fitrun, name: tc.name, ranks: tc.ranks, dir: t.TempDir(), args: append(how.args, "--on-deadlock", "abort")}
					r, _ := j.start(t)
					r.end(t, jobTimeout).wantDeadlock(t, tc.want...)
				})
			}
		})
	}
}

// wantDeadlock checks that the job was ended for a deadlock, and what was said.
func (r jobRun) wantDeadlock(t *testing.T, want ...string) {
	t.Helper()
	if r.code != exitDeadlock {
		t.Errorf("code %d after %v", r.code, r.took)
	}
	wantMatch(t, r.stderr, append(want, `^fitrun: deadlock: `, `\nfitrun: deadlock; the job was ended\n$`)...)
	wantLines(t, r.stderr)
}

// wantMatch checks that a text matches regular expressions, in which L is a line of the ranks'
// programs.
func wantMatch(t *testing.T, text string, want ...string) {
	t.Helper()
	ok := true
	for _, w := range want {
		if !regexp.MustCompile(withLines(w)).MatchString(text) {
			t.Errorf("nothing matches %s", w)
			ok = false
		}
	}
	if !ok {
		t.Logf("said is\n%s", text)
	}
}

// withLines puts the pattern of a line of the ranks' programs in the place of each L.
func withLines(want string) string {
	return regexp.MustCompile(`\bL\b`).ReplaceAllLiteralString(want, linePattern)
}

// wantLines checks that where a call is said to be there is one.
func wantLines(t *testing.T, text string) {
	t.Helper()
	source, err := os.ReadFile("hang_ranks_test.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(source), "\n")
	for _, m := range regexp.MustCompile(`(?m): ([A-Z]\w+)(?: (?:from|to) [^;(\n]*| for [^;(\n]*)?,? at \S*hang_ranks_test\.go:(\d+)`).FindAllStringSubmatch(text, -1) {
		var n int
		fmt.Sscan(m[2], &n)
		call := "mpi." + m[1] + "("
		if m[1] == "Finalize" {
			call = "mpi.Main("
		}
		if n < 1 || n > len(lines) || !strings.Contains(lines[n-1], call) && !strings.Contains(lines[n-1], "."+m[1]+"(") {
			t.Errorf("there is no %s at line %d", m[1], n)
		}
	}
}

// TestHangGoesOn: by default a deadlock is said once, and the job is left as it is.
func TestHangGoesOn(t *testing.T) {
	t.Parallel()
	j := hangJob{fitrun: fitrunPath(t), name: "recv recv", ranks: 2}
	r, _ := j.start(t)
	r.stderr.await(t, "The job is left as it is; with --on-deadlock abort it would be ended.\n")
	select {
	case <-r.endc:
		t.Fatalf("it has ended:\n%s", r.stderr.String())
	case <-time.After(500 * time.Millisecond): // in which nothing more should happen
	}
	if text := r.stderr.String(); strings.Count(text, "deadlock:") != 1 {
		t.Errorf("it was said again:\n%s", text)
	}
	r.cmd.Process.Signal(syscall.SIGINT)
	if run := r.end(t, jobTimeout); run.code != 130 {
		t.Errorf("code %d", run.code)
	}
}

// TestHangUntilSignal: a job that a signal may let go on is said to be one, and goes on when the
// signal comes.
func TestHangUntilSignal(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"report", "abort"} {
		t.Run(what, func(t *testing.T) {
			j := hangJob{fitrun: fitrunPath(t), name: signalCase, ranks: 2, args: []string{"--on-deadlock", what}}
			r, _ := j.start(t)
			r.stderr.await(t, "The job is left as it is, with --on-deadlock abort too: a signal may let it go on.\n")
			var rank1 int
			if _, err := fmt.Sscanf(r.stdout.String(), "waiting in process %d", &rank1); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(rank1, syscall.SIGUSR1); err != nil {
				t.Fatal(err)
			}
			run := r.end(t, jobTimeout)
			if run.code != 0 || strings.Count(run.stderr, "deadlock unless") != 1 {
				t.Errorf("code %d", run.code)
			}
			wantMatch(t, run.stderr, `^fitrun: deadlock unless a signal comes: no rank can go on: `,
				`\n  only a signal to rank 1 could let them go on: signal.NotifyContext waits for one there`, `circle of 2 ranks: 0 -> 1 -> 0\n`)
		})
	}
}

// TestHangOff: with --on-deadlock off nothing looks for deadlocks.
func TestHangOff(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it waits for a second")
	j := hangJob{fitrun: fitrunPath(t), name: "recv recv", ranks: 2, args: []string{"--on-deadlock", "off", "--timeout", "1s"}}
	r, _ := j.start(t)
	if run := r.end(t, jobTimeout); run.code != 110 || strings.Contains(run.stderr, "deadlock") {
		t.Errorf("code %d:\n%s", run.code, run.stderr)
	}
}

// TestHangOfSurvivors: a job that goes on without the dead is looked at as any other.
func TestHangOfSurvivors(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it starts many jobs")
	for _, transport := range []string{"auto", "tcp"} {
		t.Run(transport, func(t *testing.T) {
			j := hangJob{fitrun: fitrunPath(t), name: "survivors", ranks: 4, args: []string{"--with-ft", "--transport", transport, "--on-deadlock", "abort"}}
			r, _ := j.start(t)
			run := r.end(t, jobTimeout)
			if run.code != exitDeadlock {
				t.Errorf("code %d after %v", run.code, run.took)
			}
			wantMatch(t, run.stderr, `fitrun: deadlock: no rank can go on`, `circle of 3 ranks: 0 -> 1 -> 2 -> 0`, `rank 3: has died`)
		})
	}
}

// TestNoHang: nothing is said of ranks that compute, or wait for something outside, however long
// the others wait.
func TestNoHang(t *testing.T) {
	effort.Need(t, effort.Usual, "it starts many jobs")
	t.Parallel()
	fitrun := fitrunPath(t)
	for name := range pauses {
		for _, how := range [][]string{nil, {"--ranks-per-process", "2"}} {
			if len(how) > 0 && (effort.Now() < effort.Full || raceEnabled) {
				continue
			}
			t.Run(name+" "+strings.Join(how, " "), func(t *testing.T) {
				t.Parallel()
				j := hangJob{fitrun: fitrun, name: name, ranks: 2, dir: t.TempDir(), args: append(how, "--on-deadlock", "abort")}
				r, stdin := j.start(t)
				if name == "standard input" {
					select {
					case <-r.endc:
					case <-time.After(pauseTime):
					}
				}
				stdin.Close()
				if run := r.end(t, jobTimeout); run.code != 0 || run.stderr != "" {
					t.Errorf("code %d:\n%s", run.code, run.stderr)
				}
			})
		}
	}
}
