package mpi_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// onWindow runs fn on n thread ranks with a window of size elements each, whose errors are
// returned.
func onWindow(t *testing.T, n, size int, fn func(world *mpi.Comm, w *mpi.Win, mem []int64) error) {
	t.Helper()
	err := mpi.RunThreads(n, func(_ context.Context, world *mpi.Comm) error {
		world.SetErrhandler(mpi.ErrorsReturn)
		w, mem, err := mpi.WinAllocate[int64](world, size, nil)
		if err != nil {
			return err
		}
		w.SetErrhandler(mpi.ErrorsReturn)
		if err := fn(world, w, mem); err != nil {
			return err
		}
		return w.Free()
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestWinFence(t *testing.T) {
	onWindow(t, 3, 8, func(world *mpi.Comm, w *mpi.Win, mem []int64) error {
		me, n := world.Rank(), world.Size()
		if err := w.Fence(0); err != nil {
			return err
		}
		for r := range n {
			if err := mpi.Put(w, []int64{int64(me) + 1}, r, me); err != nil {
				return err
			}
			if err := mpi.Accumulate(w, []int64{int64(me)}, r, 7, mpi.Sum); err != nil {
				return err
			}
		}
		if err := w.Fence(0); err != nil {
			return err
		}
		if fmt.Sprint(mem) != "[1 2 3 0 0 0 0 3]" {
			return fmt.Errorf("rank %d has %v", me, mem)
		}
		got := make([]int64, 8)
		if err := mpi.Get(w, got, (me+1)%n, 0); err != nil {
			return err
		}
		if err := w.Fence(mpi.NoSucceed); err != nil {
			return err
		}
		if fmt.Sprint(got) != "[1 2 3 0 0 0 0 3]" {
			return fmt.Errorf("rank %d got %v", me, got)
		}
		return nil
	})
}

func TestWinLock(t *testing.T) {
	const rounds = 200
	onWindow(t, 4, 2, func(world *mpi.Comm, w *mpi.Win, mem []int64) error {
		for range rounds {
			if err := w.Lock(mpi.LockExclusive, 0, 0); err != nil {
				return err
			}
			got := make([]int64, 1)
			if err := mpi.Get(w, got, 0, 0); err != nil {
				return err
			}
			if err := w.Flush(0); err != nil {
				return err
			}
			got[0]++
			if err := mpi.Put(w, got, 0, 0); err != nil {
				return err
			}
			var old int64
			if err := mpi.FetchAndOp(w, 2, &old, 0, 1, mpi.Sum); err != nil {
				return err
			}
			if err := w.Unlock(0); err != nil {
				return err
			}
			if old/2+1 != got[0] {
				return fmt.Errorf("counters %d and %d", old/2+1, got[0])
			}
		}
		if err := mpi.Barrier(world); err != nil {
			return err
		}
		if world.Rank() == 0 && (mem[0] != 4*rounds || mem[1] != 8*rounds) {
			return fmt.Errorf("%v", mem)
		}
		return nil
	})
}
