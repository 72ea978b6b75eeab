//go:build linux

package tests

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

func init() { programs["environment"] = environmentRank }

// environmentRank is a program without Main.
func environmentRank() {
	if err := environment(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func environment() error {
	world, level, err := mpi.InitThread(mpi.ThreadFunneled)
	if err != nil {
		return err
	}
	n, known := world.UniverseSize()
	app, started := world.AppNum()
	fmt.Printf("rank %d: level %v, main %v, universe %v, program %d %v, one clock %v\n", world.Rank(), level, world.IsThreadMain(),
		known && n >= world.Size(), app, started, world.WtimeIsGlobal())
	for _, c := range []*mpi.Comm{world, world.Self()} {
		if err := mpi.Send(c, []int{1}, 99, 0); !errors.Is(err, mpi.ErrRank) {
			return fmt.Errorf("the first error handler of %s gives %w", c.Name(), err)
		}
	}
	key := mpi.KeyvalCreate(nil, func(c *mpi.Comm, rank int) error {
		fmt.Printf("rank %d: deleting of %s, finalized %v\n", rank, c.Name(), mpi.Finalized())
		return mpi.Barrier(world) // communication works still
	})
	if err := errors.Join(key.Set(world.Self(), world.Rank()), mpi.Finalize()); err != nil {
		return err
	}
	fmt.Printf("rank %d: finalized %v\n", world.Rank(), mpi.Finalized())
	return nil
}

// TestEnvironmentOfProcesses: MPI 4.1, sections 11.2.4 and 11.6: what a process that calls
// InitThread and Finalize itself learns, and what it may do in between.
func TestEnvironmentOfProcesses(t *testing.T) {
	t.Setenv("FITMPI_ERRHANDLER", "return")
	run := runJob(t, "environment", 2, "assist", t.TempDir())
	if run.code != 0 || run.stderr != "" {
		t.Errorf("code %d\n%s%s", run.code, run.stdout, run.stderr)
	}
	for r := range 2 {
		for _, want := range []string{
			"rank %d: level multiple, main true, universe true, program 0 true, one clock false\n",
			"rank %d: deleting of self, finalized false\n",
			"rank %d: finalized true\n",
		} {
			if want := fmt.Sprintf(want, r); strings.Count(run.stdout, want) != 1 {
				t.Errorf("want %q once in:\n%s", want, run.stdout)
			}
		}
	}
}
