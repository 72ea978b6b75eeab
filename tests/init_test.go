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

func init() { programs["init and finalize"] = initFinalizeRank }

// initFinalizeRank is a program that does by itself what Main does for others.
func initFinalizeRank() {
	if err := initFinalize(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func initFinalize() error {
	if mpi.Initialized() || mpi.Finalized() {
		return errors.New("initialized or finalized before Init")
	}
	if err := mpi.Finalize(); !errors.Is(err, mpi.ErrOther) {
		return fmt.Errorf("Finalize before Init: %v", err)
	}
	world, err := mpi.Init()
	if err != nil {
		return err
	}
	if !mpi.Initialized() || mpi.Finalized() {
		return errors.New("not initialized, or finalized, after Init")
	}
	if _, err := mpi.Init(); !errors.Is(err, mpi.ErrOther) {
		return fmt.Errorf("a second Init: %v", err)
	}
	if err := exchangeAll(world); err != nil {
		return err
	}
	fmt.Printf("rank %d of %d\n", world.Rank(), world.Size())
	if err := mpi.Finalize(); err != nil {
		return err
	}
	if !mpi.Initialized() || !mpi.Finalized() {
		return errors.New("not initialized, or not finalized, after Finalize")
	}
	world.SetErrhandler(mpi.ErrorsReturn)
	if err := mpi.Barrier(world); err == nil || !strings.Contains(err.Error(), "MPI is finalized") {
		return fmt.Errorf("Barrier after Finalize: %v", err)
	}
	return nil
}

// MPI 4.1, section 11.2: a program calls Init once and Finalize once; Initialized and Finalized
// tell, before, between and after, what has been called.
func TestInitFinalize(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3} {
		run := runJob(t, "init and finalize", n, "assist", t.TempDir())
		if run.code != 0 || run.stderr != "" {
			t.Errorf("%d ranks: code %d\n%s", n, run.code, run.stderr)
		}
		for r := range n {
			if want := fmt.Sprintf("rank %d of %d\n", r, n); strings.Count(run.stdout, want) != 1 {
				t.Errorf("%d ranks: want %q once in:\n%s", n, want, run.stdout)
			}
		}
	}
}
