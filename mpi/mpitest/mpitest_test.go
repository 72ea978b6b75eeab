package mpitest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/mpi"
	"github.com/fitmpi/fitmpi/mpi/mpitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeT is a test that may fail without failing this one.
type fakeT struct {
	*testing.T
	mu      sync.Mutex
	said    []string // guarded by mu, as all below
	failed  bool
	skipped bool
}

func (f *fakeT) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.said, f.failed = append(f.said, fmt.Sprintf(format, args...)), true
}

func (f *fakeT) Fatal(text string) {
	f.Errorf("%s", text)
	f.FailNow()
}

func (f *fakeT) FailNow() {
	f.mu.Lock()
	f.failed = true
	f.mu.Unlock()
	runtime.Goexit()
}

func (f *fakeT) SkipNow() {
	f.mu.Lock()
	f.skipped = true
	f.mu.Unlock()
	runtime.Goexit()
}

func (f *fakeT) Failed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

func (f *fakeT) Skipped() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.skipped
}

// run is a test of one call of Run. wentOn says whether the test went on after it.
func run(t *testing.T, n int, fn func(f *fakeT, c *mpi.Comm) error) (f *fakeT, wentOn bool) {
	f = &fakeT{T: t}
	var wg sync.WaitGroup
	wg.Go(func() {
		mpitest.Run(f, n, func(_ context.Context, c *mpi.Comm) error { return fn(f, c) })
		wentOn = true
	})
	wg.Wait()
	return f, wentOn
}

var errSingular = errors.New("the matrix is singular")

// Whatever fails in one rank ends the others and the test, with what each has said.
func TestRunFails(t *testing.T) {
	for name, tc := range map[string]struct {
		fail func(f *fakeT) error
		want []string
	}{
		"Fatal": {func(f *fakeT) error { f.Fatal("rank 1 has had enough"); return nil },
			[]string{"rank 1 has had enough", "rank 1: its function ended its goroutine"}},
		"error": {func(*fakeT) error { return errSingular }, []string{"rank 1: the matrix is singular"}},
		"panic": {func(*fakeT) error { panic("boom") }, []string{"rank 1 panicked: boom", "mpitest_test.go"}},
	} {
		t.Run(name, func(t *testing.T) {
			f, wentOn := run(t, 3, func(f *fakeT, c *mpi.Comm) error {
				if c.Rank() == 1 {
					return tc.fail(f)
				}
				return mpi.Barrier(c)
			})
			said := strings.Join(f.said, "\n")
			for _, want := range append(tc.want, "rank 0: mpi: Barrier on rank 0", "rank 2: mpi: Barrier on rank 2", "the job is ending: rank 1") {
				if strings.Count(said, want) == 0 {
					t.Errorf("the test does not say %q:\n%s", want, said)
				}
			}
			if !f.failed || wentOn || strings.Count(said, "\n  rank 1:") > 0 {
				t.Errorf("the test went on: %v; it has failed: %v; said %s", wentOn, f.failed, said)
			}
		})
	}
}

// A test of ranks that all succeed goes on; one that a rank has marked as failed goes on too, as
// with Errorf elsewhere.
func TestRunGoesOn(t *testing.T) {
	f, wentOn := run(t, 4, func(f *fakeT, c *mpi.Comm) error {
		if c.Rank() == 3 {
			f.Errorf("a value is wrong")
		}
		return mpi.Barrier(c)
	})
	if !wentOn || len(f.said) != 1 {
		t.Errorf("the test went on: %v; said %q", wentOn, f.said)
	}
}

// A rank that skips the test has not failed, and nothing is said.
func TestRunSkips(t *testing.T) {
	f, wentOn := run(t, 2, func(f *fakeT, c *mpi.Comm) error {
		if c.Rank() == 0 {
			f.SkipNow()
		}
		return mpi.Barrier(c)
	})
	if wentOn || f.failed || !f.skipped || len(f.said) != 0 {
		t.Errorf("the test went on: %v; failed: %v; skipped: %v; said %q", wentOn, f.failed, f.skipped, f.said)
	}
}

// Ranks that wait for each other end the test, and it says where.
func TestRunDeadlock(t *testing.T) {
	effort.Need(t, effort.Usual, "it waits for seconds")
	f, wentOn := run(t, 2, func(_ *fakeT, c *mpi.Comm) error {
		_, err := mpi.Recv(c, make([]int, 1), 1-c.Rank(), 0)
		return err
	})
	said := strings.Join(f.said, "\n")
	for _, want := range []string{"deadlock: no rank can go on", "at mpitest_test.go:", "rank 0 waits for rank 1"} {
		if !strings.Contains(said, want) {
			t.Errorf("the test does not say %q:\n%s", want, said)
		}
	}
	if wentOn {
		t.Error("the test went on")
	}
}
