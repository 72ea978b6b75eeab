//go:build linux

package tests

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/internal/testutil/executable"
	"github.com/fitmpi/fitmpi/mpi"
)

// Jobs of real processes: the test binary runs itself as the ranks, started by fitrun.

const (
	envProgram  = "FITMPI_TESTS_PROGRAM" // which of programs a rank runs
	envDir      = "FITMPI_TESTS_DIR"     // shared by the ranks of a job
	envPolicy   = "FITMPI_TESTS_POLICY"
	envCase     = "FITMPI_TESTS_CASE"
	envSegments = "FITMPI_TESTS_SEGMENTS" // not empty: only what combines, as reductions go by short segments
	envOther    = "FITMPI_TESTS_OTHER"    // not empty: another launcher than fitrun has started the rank
)

func TestMain(m *testing.M) {
	if name := os.Getenv(envProgram); name != "" {
		programs[name]()
		return
	}
	if !raceEnabled {
		effort.Beside(10) // jobs that start, pages that are drawn, and pauses
	}
	executable.HearSignals()
	goleak.VerifyTestMain(testMain{m})
}

// testMain ends what tests have started for all of them before goroutines are counted.
type testMain struct{ *testing.M }

func (m testMain) Run() int {
	defer stopCluster()
	defer removeFitrun()
	return m.M.Run()
}

// programs are the main functions of ranks.
var programs = map[string]func(){"suite": suiteRank}

// jobRun is how a job of processes ended.
type jobRun struct {
	code           int
	stdout, stderr string
	took           time.Duration
}

// foreign are lines about ranks of other jobs: one that dials a rank that is dead may find one of
// those, which has got its port meanwhile.
var foreign = regexp.MustCompile(`(?m)^(\[\d+\] )?time=\S+ level=WARN msg="connection dropped" rank=\d+ from=127\.0\.0\.1:\d+ reason=(plain|encrypted|wrong-job)\n`)

// buffer is a bytes.Buffer for several writers, without what is foreign.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return foreign.ReplaceAllString(b.b.String(), "")
}

// request asks fitrun for a job of a test binary.
type request struct {
	path    string
	n       int
	set     []string // variables of the ranks
	options []string // of fitrun
	binds   bool     // to cores, where they divide; else to none
}

// with adds options of fitrun.
func (r request) with(options ...string) request {
	r.options = slices.Concat(r.options, options)
	return r
}

// command is fitrun with what is asked for. It ends with the test.
func (r request) command(t *testing.T) *exec.Cmd {
	t.Helper()
	args := slices.Clone(r.options)
	args = append(args, "-n", strconv.Itoa(r.n))
	if !r.binds {
		args = append(args, "--bind-to", "none")
	}
	for _, v := range r.set {
		args = append(args, "-x", v)
	}
	cmd := exec.CommandContext(t.Context(), fitrunPath(t), append(args, r.path, "rank")...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = jobTimeout
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// run runs the job. What it writes on standard error goes to also as well, if that is not nil.
func (r request) run(t *testing.T, also io.Writer) jobRun {
	t.Helper()
	var stdout, stderr buffer
	cmd := r.command(t)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if also != nil {
		cmd.Stderr = io.MultiWriter(&stderr, also)
	}
	began := time.Now()
	if err := cmd.Run(); err != nil {
		if _, ok := errors.AsType[*exec.ExitError](err); !ok {
			t.Fatal(err)
		}
	}
	return jobRun{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String(), time.Since(began)}
}

// runJob runs a program of this binary as n ranks, each a process; what they write is tagged.
func runJob(t *testing.T, program string, n int, policy, dir string, set ...string) jobRun {
	t.Helper()
	return binaryRequest(selfPath(t), program, n, policy, dir, set...).with("-l").run(t, nil)
}

// mixedJob runs it with perProcess ranks in each process; what they write is as it is.
func mixedJob(t *testing.T, program string, n, perProcess int, policy, dir string, set ...string) jobRun {
	t.Helper()
	r := binaryRequest(selfPath(t), program, n, policy, dir, set...)
	r.binds = true
	return r.with("--ranks-per-process", strconv.Itoa(perProcess)).run(t, nil)
}

// binaryRequest asks for a job of the test binary at path.
func binaryRequest(path, program string, n int, policy, dir string, set ...string) request {
	return request{path: path, n: n,
		set: append([]string{
			envProgram + "=" + program, envDir + "=" + dir, envPolicy + "=" + policy, envCase + "=" + *caseFlag,
			fmt.Sprintf("%s=%d", envSeed, *seedFlag), fmt.Sprintf("%s=%d", envSeeds, *seedsFlag),
		}, set...),
		options: []string{"--progress", policy, "--timeout", jobTimeout.String(), "--on-deadlock", "off"},
	}
}

// suiteRank is main of a rank of the suite. It writes what happens to a file of its own, line by
// line, so that the test knows how far it came.
func suiteRank() {
	*caseFlag = os.Getenv(envCase)
	mpi.Main(func(ctx context.Context, world *mpi.Comm) error {
		dir := os.Getenv(envDir)
		f, err := os.Create(filepath.Join(dir, fmt.Sprint("rank", world.Rank())))
		if err != nil {
			return err
		}
		defer f.Close()
		enc := json.NewEncoder(f)
		t := &T{Ctx: ctx, Rank: world.Rank(), Size: world.Size(), Policy: os.Getenv(envPolicy), Dir: dir, Processes: true, Other: os.Getenv(envOther) != ""}
		return runSuite(t, world,
			func(what string) { enc.Encode(event{Begin: what}) },
			func(r result) { enc.Encode(event{Result: &r}) })
	})
}

// event is a line of a rank's file.
type event struct {
	Begin  string
	Result *result
}

func readEvents(t *testing.T, o *outcomes, dir string, rank int) {
	b, err := os.ReadFile(filepath.Join(dir, fmt.Sprint("rank", rank)))
	if err != nil {
		o.begin(rank, err.Error())
		return
	}
	for dec := json.NewDecoder(bufio.NewReader(bytes.NewReader(b))); ; {
		var e event
		if err := dec.Decode(&e); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Errorf("rank %d's file: %v", rank, err)
			return
		}
		if e.Result != nil {
			o.add(rank, *e.Result)
		} else {
			o.begin(rank, e.Begin)
		}
	}
}
