// Package mpitest is for tests of code that uses MPI: it runs a function on several ranks within
// the test, as goroutines, without a launcher.
//
//	func TestSum(t *testing.T) {
//		mpitest.Run(t, 4, func(ctx context.Context, world *mpi.Comm) error {
//			sum := []int{0}
//			if err := mpi.Allreduce(world, []int{world.Rank()}, sum, mpi.Sum); err != nil {
//				return err
//			}
//			require.Equal(t, 6, sum[0]) // or t.Fatal, or an error that is returned
//			return nil
//		})
//	}
//
// A rank fails that returns an error, panics, or calls t.Fatal, t.FailNow or what ends in these, as
// the require packages do. The others are released wherever they wait in MPI, and the test fails
// with what each rank has said. So it does if no rank can go on because each waits for others: that
// is noticed in a few seconds (see mpi.RunThreads), and said with the calls, the ranks and the
// lines of source.
//
// Within the function t may be used as in any goroutine of a test: Error, Log and Helper, and here
// Fatal and its like too. Several tests with ranks may run in parallel, but while another test
// computes, or waits for a channel, no deadlock is seen.
package mpitest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// TB is what Run needs of a *testing.T, *testing.B or *testing.F.
type TB interface {
	Context() context.Context
	Errorf(format string, args ...any)
	FailNow()
	Failed() bool
	Helper()
	SkipNow()
	Skipped() bool
}

var _ TB = testing.TB(nil)

// Run runs fn on n ranks that are goroutines of this process, each with its own world communicator,
// and returns when all have ended. If a rank has failed the others are stopped, and the test ends
// here, with what each rank has said. A rank that calls t.Skip skips the test. The context of the
// ranks ends with t.Context.
func Run(t TB, n int, fn func(ctx context.Context, world *mpi.Comm) error) {
	t.Helper()
	var s statements
	err := mpi.RunThreadsContext(t.Context(), n, func(ctx context.Context, world *mpi.Comm) error {
		rank := world.Rank()
		s.begins(rank)
		err := fn(ctx, world)
		s.ends(rank, err)
		return err
	})
	switch {
	case err == nil:
	case s.isSkipped(t):
		t.SkipNow()
	default:
		t.Errorf("%s", s.text(err))
		t.FailNow()
	}
}

// statements are what the ranks have said.
type statements struct {
	mu      sync.Mutex
	running map[int]bool  // guarded by mu: ranks whose function has not returned
	errs    map[int]error // guarded by mu: what the others have returned
}

func (s *statements) begins(rank int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		s.running, s.errs = make(map[int]bool), make(map[int]error)
	}
	s.running[rank] = true
}

func (s *statements) ends(rank int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, rank)
	s.errs[rank] = err
}

// isSkipped reports whether the job has ended because a rank has skipped the test.
func (s *statements) isSkipped(t TB) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.Skipped() && !t.Failed() && len(s.running) > 0
}

// text is why the job has ended, and what each rank has said to that.
func (s *statements) text(job error) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "%v", job)
	for rank := range len(s.running) + len(s.errs) {
		err, returned := s.errs[rank]
		switch {
		case !returned || err == nil || errors.Is(job, err): // it is what job says, or has nothing to say
		default:
			fmt.Fprintf(&b, "\n  rank %d: %v", rank, err)
		}
	}
	return b.String()
}
