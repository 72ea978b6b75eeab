package tests

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/mpi"
)

// The conformance suite: a table of cases, each a sentence of the MPI standard (or of our own
// documentation) and a program of all ranks that shows it. One table is run over every progress
// policy, every kind of communicator and one to five ranks, by thread ranks (here), by real
// processes (process_test.go) and by both mixed (ranks_test.go).

// testCase is one sentence and the program that shows it.
type testCase struct {
	name     string
	section  string // of MPI 4.1, or "FitMPI" for a promise of ours
	sentence string // the decisive one
	min      int    // ranks that it needs; 0 means 1
	max      int    // ranks beyond which it shows nothing new; 0 means none
	world    bool   // too dear to run on every kind of communicator
	dear     bool   // it takes a second or two: under policies other than assist jobs of 3 ranks run it
	loose    bool   // shows that ranks of a collective do not wait for each other, which they do with FITMPI_CHECK
	run      func(t *T, c *mpi.Comm)
}

// suite is the whole table.
func suite() []testCase {
	all := slices.Concat(orderCases, receiveCases, modeCases, sendrecvCases, probeCases, cancelCases, requestCases,
		persistentCases, objectCases, threadCases, contextCases, argumentCases, collectiveCases, reductionCases,
		outstandingCases, collErrorCases, commCases, randomCases, layoutCases, layoutCollCases, layoutFormCases,
		groupCases, intercommCases, infoCases, attributeCases, errhandlerCases, bufferCases, topologyCases, fileCases, fileAccessCases, fileRandomCases, neighbourCases, persistentCollCases, collectiveFormCases, partitionedCases, datatypeCases, faultCases, agreeCases, sessionCases, winCases, winMemoryCases)
	if isChecking() {
		all = append(all, checkCases...)
	}
	return all
}

// commKind makes a communicator to run the cases on.
type commKind struct {
	name  string
	sizes []int // of the world, at which it is worth its time
	raced []int // the same under the race detector: each kind once, as memory is shared alike in all of them
	make  func(world *mpi.Comm) (*mpi.Comm, error)
}

var commKinds = []commKind{
	{"world", []int{1, 2, 3, 4, 5}, []int{1, 2, 3, 4, 5}, func(w *mpi.Comm) (*mpi.Comm, error) { return w, nil }},
	{"self", []int{1, 2}, []int{1}, func(w *mpi.Comm) (*mpi.Comm, error) { return w.Self(), nil }},
	{"dup", []int{2, 4}, []int{5}, func(w *mpi.Comm) (*mpi.Comm, error) { return w.Dup(nil) }},
	{"reversed", []int{2, 3, 5}, []int{2}, func(w *mpi.Comm) (*mpi.Comm, error) { return w.Split(0, -w.Rank()) }},
	{"halves", []int{3, 4, 5}, []int{3}, func(w *mpi.Comm) (*mpi.Comm, error) { return w.Split(w.Rank()%2, 0) }},
}

// envDear is set where the cases that take long run in all jobs.
const envDear = "FITMPI_TESTS_DEAR"

// envWorld is set where the suite runs on the world communicator alone.
const envWorld = "FITMPI_TESTS_WORLD"

// envTurn is which of the turns of the cases a job runs ("2/4": of four the third); all if it is
// not set.
const envTurn = "FITMPI_TESTS_TURN"

// aPart leaves the i-th of so many parts of the cases to a test that runs the suite in its own way,
// at levels below Night: the jobs of TestSuite run all of them.
func aPart(t *testing.T, level effort.Level, i, parts int) {
	t.Helper()
	if level < effort.Night && *caseFlag == "" {
		t.Setenv(envTurn, fmt.Sprintf("%d/%d", i%parts, parts))
	}
}

func isInTurn(i int) bool {
	value := os.Getenv(envTurn)
	if value == "" {
		return true
	}
	var turn, turns int
	if _, err := fmt.Sscanf(value, "%d/%d", &turn, &turns); err != nil {
		panic(envTurn + "=" + value + ": " + err.Error())
	}
	return i%turns == turn
}

// isWorthIt reports whether the suite runs on communicators of the kind in a world of size ranks.
func (k commKind) isWorthIt(size int) bool {
	if k.name != "world" && os.Getenv(envWorld) != "" {
		return false
	}
	if raceEnabled {
		return slices.Contains(k.raced, size)
	}
	return slices.Contains(k.sizes, size)
}

var policies = []string{"worker", "assist", "caller"}

var timesFlag = flag.Bool("times", false, "log the slowest cases of each job")

var caseFlag = flag.String("case", "", "run only the cases of the suite whose name matches this expression")

// T is the testing.T of one rank in one case. Safe for concurrent use.
type T struct {
	Ctx        context.Context // of the rank
	Rank, Size int             // in the world
	Policy     string          // FITMPI_PROGRESS
	Dir        string          // shared by all ranks, for what must not go through MPI; empty at the start of a case
	Processes  bool            // ranks are processes
	Other      bool            // another launcher than fitrun has started them
	World      bool            // the case runs on the world communicator: the place for what takes long

	mu       sync.Mutex
	failures []string // guarded by mu
}

// fatal is the panic that ends a case.
type fatal struct{}

func (t *T) Errorf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.failures) < 10 {
		t.failures = append(t.failures, fmt.Sprintf(format, args...))
	}
}

// Fatalf ends the case, and with it the job: the other ranks may wait for this one.
func (t *T) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	panic(fatal{})
}

// must ends the case unless err is nil.
func (t *T) must(err error, what ...any) {
	if err != nil {
		t.Fatalf("%v: %v", strings.TrimSpace(fmt.Sprintln(what...)), err)
	}
}

// want compares.
func want[V comparable](t *T, what string, got, want V) {
	if got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// wantSlice compares slices and names the first difference.
func wantSlice[V comparable](t *T, what string, got, want []V) {
	if len(got) != len(want) {
		t.Errorf("%s has length %d, want %d", what, len(got), len(want))
		return
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%s[%d] is %v, want %v", what, i, got[i], want[i])
			return
		}
	}
}

// wantError checks the class of an error and parts of its text.
func wantError(t *T, what string, err error, class mpi.ErrorClass, parts ...string) {
	if !errors.Is(err, class) {
		t.Errorf("%s: error is %v, want one of class %v", what, err, class)
		return
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("%s: error %q does not say %q", what, err, p)
		}
	}
}

// together runs functions in goroutines and waits for them.
func (t *T) together(fs ...func()) {
	var wg sync.WaitGroup
	var failed sync.Once
	isFatal := false
	for _, f := range fs {
		wg.Go(func() {
			defer func() {
				if r := recover(); r != nil {
					if r != any(fatal{}) {
						t.Errorf("panic: %v\n%s", r, debug.Stack())
					}
					failed.Do(func() { isFatal = true })
				}
			}()
			f()
		})
	}
	wg.Wait()
	if isFatal {
		panic(fatal{})
	}
}

// each runs f in n goroutines.
func (t *T) each(n int, f func(i int)) {
	fs := make([]func(), n)
	for i := range fs {
		fs[i] = func() { f(i) }
	}
	t.together(fs...)
}

// path is a file in the shared directory.
func (t *T) path(name string) string { return filepath.Join(t.Dir, name) }

// leave tells ranks that do not call MPI meanwhile that something happened here.
func (t *T) leave(name string) { t.must(os.WriteFile(t.path(name), nil, 0o600)) }

// isThere asks for what leave left.
func (t *T) isThere(name string) bool {
	_, err := os.Stat(t.path(name))
	return err == nil
}

// eachRank joins what f says for each of n ranks, in order.
func eachRank(n int, f func(r int) string) string {
	var b strings.Builder
	for r := range n {
		b.WriteString(f(r))
	}
	return b.String()
}

// failsafe ends what hangs; no case waits for it to pass, on a busy machine either.
const failsafe = time.Minute

// result is the outcome of one case on one rank.
type result struct {
	Case, Kind string
	Failures   []string
	Millis     int64
}

// runSuite is the program of a rank: all cases on all kinds of communicators. It tells report each
// outcome, and begin what it is about to do.
func runSuite(t *T, world *mpi.Comm, begin func(string), report func(result)) error {
	world.SetErrhandler(mpi.ErrorsReturn)
	world.Self().SetErrhandler(mpi.ErrorsReturn)
	only, err := regexp.Compile(*caseFlag)
	if err != nil {
		return err
	}
	for k, kind := range commKinds {
		if !kind.isWorthIt(t.Size) {
			continue
		}
		begin("making " + kind.name)
		c, err := kind.make(world)
		if err != nil {
			return err
		}
		for i, tc := range suite() {
			if !only.MatchString(tc.name) || !isInTurn(i+k) || !t.affords(tc) || !tc.fits(kind.name, c.Size(), t.Size) {
				continue
			}
			begin(tc.name + " on " + kind.name)
			rt := &T{Ctx: t.Ctx, World: kind.name == "world", Rank: t.Rank, Size: t.Size, Policy: t.Policy, Processes: t.Processes, Other: t.Other,
				Dir: filepath.Join(t.Dir, fmt.Sprintf("%s-%d-%d", kind.name, i, groupOf(kind.name, t.Rank)))}
			began := time.Now()
			ok := rt.runCase(tc, c)
			report(result{tc.name, kind.name, rt.failures, time.Since(began).Milliseconds()})
			if !ok {
				return fmt.Errorf("case %s on %s: %s", tc.name, kind.name, strings.Join(rt.failures, "; "))
			}
		}
		if kind.name != "world" && kind.name != "self" {
			if err := c.Free(); err != nil {
				return err
			}
		}
	}
	begin("finalizing")
	return nil
}

// groupOf tells apart communicators of one kind that exist side by side.
func groupOf(kind string, rank int) int {
	switch kind {
	case "self":
		return rank
	case "halves":
		return rank % 2
	default:
		return 0
	}
}

// affords reports whether the time that a case takes is worth it in this job.
func (t *T) affords(tc testCase) bool {
	return !tc.dear || t.Policy == "assist" || t.Size == 3 || os.Getenv(envDear) != ""
}

func (tc testCase) fits(kind string, size, worldSize int) bool {
	switch {
	case size < tc.min, tc.max > 0 && size > tc.max:
		return false
	case isChecking() && (tc.loose || !checkedCases.MatchString(tc.name)):
		return false
	case os.Getenv(envSegments) != "" && !combiningCases.MatchString(tc.name):
		return false
	case os.Getenv(envTold) != "" && strings.HasPrefix(tc.name, "fault/"): // what is of a revoked communicator is dropped at one end
		return false
	case tc.world:
		return kind == "world"
	case kind == "self" && worldSize > 1: // what a job of one rank shows, once more beside others
		return tc.section != "6" && !strings.HasPrefix(tc.section, "6.")
	}
	return true
}

// runCase runs one case on one rank and then looks for what it left behind; false if the ranks can
// no longer go on together.
func (t *T) runCase(tc testCase, c *mpi.Comm) (ok bool) {
	defer func() {
		if r := recover(); r != nil {
			ok = false
			if r != any(fatal{}) {
				t.Errorf("panic: %v\n%s", r, debug.Stack())
			}
		}
	}()
	t.must(os.MkdirAll(t.Dir, 0o700))
	tc.run(t, c)
	t.must(mpi.Barrier(c), "the barrier after the case")
	if st, found, err := mpi.Iprobe(c, mpi.AnySource, mpi.AnyTag); found || err != nil {
		t.Errorf("after the case a message was left: %+v, %v", st, err)
	}
	t.must(mpi.Barrier(c), "the barrier before the next case")
	return true
}

// outcomes collects results of all ranks of a job. Safe for concurrent use.
type outcomes struct {
	mu   sync.Mutex
	keys []string            // in the order of the first rank that came there
	fail map[string][]string // by key
	now  []string            // what each rank is doing
	slow map[string]int64    // by key: longest
}

func newOutcomes(n int) *outcomes {
	return &outcomes{fail: map[string][]string{}, now: make([]string, n), slow: map[string]int64{}}
}

func (o *outcomes) begin(rank int, what string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now[rank] = what
}

func (o *outcomes) add(rank int, r result) {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := r.Kind + "/" + r.Case
	if _, ok := o.fail[key]; !ok {
		o.keys = append(o.keys, key)
		o.fail[key] = nil
	}
	o.slow[key] = max(o.slow[key], r.Millis)
	for _, f := range r.Failures {
		o.fail[key] = append(o.fail[key], fmt.Sprintf("world rank %d: %s", rank, f))
	}
}

// tell makes a subtest of each case; jobErr is how the job ended.
func (o *outcomes) tell(t *testing.T, jobErr error) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if jobErr != nil {
		t.Errorf("the job ended with: %v\nthe ranks were at:\n%s", jobErr, strings.Join(o.now, "\n"))
	}
	if *timesFlag {
		slices.SortFunc(o.keys, func(a, b string) int { return int(o.slow[b] - o.slow[a]) })
		sum := int64(0)
		for _, ms := range o.slow {
			sum += ms
		}
		t.Logf("%5d ms in all", sum)
		for _, key := range o.keys[:min(25, len(o.keys))] {
			t.Logf("%5d ms %s", o.slow[key], key)
		}
	}
	for _, key := range o.keys {
		t.Run(key, func(t *testing.T) {
			if o.slow[key] > 500 {
				t.Logf("%d ms", o.slow[key])
			}
			for _, f := range o.fail[key] {
				t.Error(f)
			}
		})
	}
}

// jobTimeout bounds a job, which takes a twentieth of it on a machine that is idle.
const jobTimeout = 8 * time.Minute

// isHurried reports whether the tests run under the race detector in their quick form.
func isHurried() bool { return raceEnabled && os.Getenv("FITMPI_TESTS_HURRY") != "" }

// TestSuiteThreads runs the suite by ranks that are threads of this process, which no launcher has
// started.
func TestSuiteThreads(t *testing.T) {
	for _, how := range []struct {
		policy, transport string
		n                 int
	}{{"assist", "auto", 3}, {"worker", "auto", 4}, {"caller", "tcp", 2}} {
		t.Run(fmt.Sprint(how.policy, " ", how.n), func(t *testing.T) {
			if how.policy != "assist" && (testing.Short() || raceEnabled) {
				t.Skip("one of them")
			}
			t.Setenv("FITMPI_PROGRESS", how.policy)
			t.Setenv("FITMPI_TRANSPORT", how.transport)
			aPart(t, effort.Now(), how.n, 6)
			suiteThreads(t, how.policy, how.n)
		})
	}
}

// suiteThreads runs the suite by n such ranks.
func suiteThreads(t *testing.T, policy string, n int) {
	o := newOutcomes(n)
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), jobTimeout)
	defer cancel()
	err := mpi.RunThreadsContext(ctx, n, func(ctx context.Context, world *mpi.Comm) error {
		rank := world.Rank()
		return runSuite(&T{Ctx: ctx, Rank: rank, Size: n, Policy: policy, Dir: dir}, world,
			func(what string) { o.begin(rank, what) }, func(r result) { o.add(rank, r) })
	})
	o.tell(t, err)
}

// TestSuiteTable looks at the table itself: every case has a name of its own and says what it
// shows.
func TestSuiteTable(t *testing.T) {
	seen := map[string]bool{}
	for _, tc := range suite() {
		switch {
		case tc.name == "" || tc.section == "" || len(tc.sentence) < 20 || tc.run == nil:
			t.Errorf("case %q is incomplete", tc.name)
		case seen[tc.name]:
			t.Errorf("two cases are called %q", tc.name)
		}
		seen[tc.name] = true
	}
	t.Logf("%d cases", len(seen))
}
