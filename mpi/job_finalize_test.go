package mpi_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// TestFinalizeDeletesAttributes: MPI 4.1, section 11.2.4: Finalize begins with the delete functions
// of the attributes of self, in the reverse of the order in which they were set; nothing else of
// MPI is affected by then.
func TestFinalizeDeletesAttributes(t *testing.T) {
	const n = 3
	var mu sync.Mutex
	wrote := make([][]string, n)
	sums := make([]int, n)
	err := mpi.RunThreads(n, func(_ context.Context, world *mpi.Comm) error {
		r := world.Rank()
		note := func(name string) *mpi.Keyval[int] {
			return mpi.KeyvalCreate(nil, func(c *mpi.Comm, v int) error {
				mu.Lock()
				wrote[r] = append(wrote[r], fmt.Sprint(name, v))
				mu.Unlock()
				if name != "communicates" {
					return nil
				}
				sum := []int{0}
				err := mpi.Allreduce(c.World(), []int{v}, sum, mpi.Sum)
				sums[r] = sum[0]
				return err
			})
		}
		// World's first: the order among communicators is not that of setting.
		a, b := note("a"), note("communicates")
		for _, err := range []error{
			a.Set(world, 1), b.Set(world, 2), a.Set(world.Self(), 3), b.Set(world.Self(), 4), note("c").Set(world.Self(), 5), a.Set(world.Self(), 6),
		} {
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for r := range n {
		// a3 went when a6 replaced it.
		want := []string{"a3", "a6", "c5", "communicates4", "communicates2", "a1"}
		if !slices.Equal(wrote[r], want) || sums[r] != 2*n {
			t.Errorf("rank %d: deleted %q, want %q; the sum is %d", r, wrote[r], want, sums[r])
		}
	}
}

// TestFinalizeDeleteFails: a delete function that fails keeps no other from running, nor the ranks
// from finalizing.
func TestFinalizeDeleteFails(t *testing.T) {
	broken := errors.New("broken")
	var mu sync.Mutex
	deleted := 0
	err := mpi.RunThreads(2, func(_ context.Context, world *mpi.Comm) error {
		count := mpi.KeyvalCreate(nil, func(*mpi.Comm, int) error {
			mu.Lock()
			defer mu.Unlock()
			deleted++
			return nil
		})
		bad := mpi.KeyvalCreate(nil, func(*mpi.Comm, int) error { return broken })
		return errors.Join(count.Set(world.Self(), 0), bad.Set(world.Self(), 0), count.Set(world, 0), bad.Set(world, 0))
	})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "Finalize") || !strings.Contains(err.Error(), "deleting an attribute") {
		t.Errorf("the job ended with %v", err)
	}
	if deleted != 4 {
		t.Errorf("%d attributes were deleted, want 4", deleted)
	}
}

// TestFinalizeFlushes: what lies in the buffer of a communicator, freed or not, leaves before the
// job ends.
func TestFinalizeFlushes(t *testing.T) {
	const n = 40_000
	got := make([]int64, n)
	err := mpi.RunThreads(2, func(_ context.Context, world *mpi.Comm) error {
		kept, err := world.Dup(nil)
		if err != nil {
			return err
		}
		freed, err := world.Dup(nil)
		if err != nil {
			return err
		}
		if world.Rank() == 1 {
			for _, c := range []*mpi.Comm{freed, kept} {
				if _, err := mpi.Recv(c, got, 0, 0); err != nil {
					return err
				}
			}
			return freed.Free()
		}
		long := make([]int64, n)
		long[n-1] = 7
		for _, c := range []*mpi.Comm{kept, freed} {
			if err := errors.Join(c.AttachBuffer(mpi.BufferAutomatic), mpi.Bsend(c, long, 1, 0)); err != nil {
				return err
			}
		}
		return freed.Free()
	})
	if err != nil || got[n-1] != 7 {
		t.Errorf("%v; the last element is %d", err, got[n-1])
	}
}
