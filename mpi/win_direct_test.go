package mpi

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

// onDirect runs fn on n thread ranks with a window of size elements each, whose errors are
// returned.
func onDirect(t *testing.T, o Threads, size int, fn func(world *Comm, w *Win, mem []int64) error) {
	t.Helper()
	err := o.Run(t.Context(), func(_ context.Context, world *Comm) error {
		world.SetErrhandler(ErrorsReturn)
		w, mem, err := WinAllocate[int64](world, size, nil)
		if err != nil {
			return err
		}
		w.SetErrhandler(ErrorsReturn)
		return fn(world, w, mem)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestDirectAndMessages: steps that one rank takes itself and those that another asks for by
// message do not lose each other: each old value is had once.
func TestDirectAndMessages(t *testing.T) {
	const rounds = 500
	onDirect(t, Threads{Ranks: 3}, 2, func(world *Comm, w *Win, mem []int64) error {
		if world.Rank() == 2 {
			clear(w.mates)
		}
		had := make([]int64, rounds)
		if err := w.Fence(NoPrecede); err != nil {
			return err
		}
		for i := range had {
			if err := FetchAndOp(w, 1, &had[i], 0, 0, Sum[int64]); err != nil {
				return err
			}
			if err := Accumulate(w, []int64{2}, 0, 1, Sum[int64]); err != nil {
				return err
			}
		}
		direct := w.targets[0].direct
		if err := w.Fence(NoSucceed); err != nil {
			return err
		}
		if direct == (world.Rank() == 2) {
			return fmt.Errorf("rank %d: directly is %t", world.Rank(), direct)
		}
		if world.Rank() == 0 && (mem[0] != 3*rounds || mem[1] != 6*rounds) {
			return fmt.Errorf("the sums are %v", mem)
		}
		all := make([]int64, 3*rounds)
		if err := Allgather(world, had, all); err != nil {
			return err
		}
		seen := make([]bool, len(all))
		for _, v := range all {
			if v < 0 || v >= int64(len(seen)) || seen[v] {
				return fmt.Errorf("the value %d was had twice, or never there", v)
			}
			seen[v] = true
		}
		return w.Free()
	})
}

// TestDirectToTheDead: what was done in the memory of a rank that has failed is an error of the
// call that completes it.
func TestDirectToTheDead(t *testing.T) {
	onDirect(t, Threads{Ranks: 2, FaultTolerant: true}, 2, func(world *Comm, w *Win, mem []int64) error {
		if world.Rank() == 1 {
			if _, err := Recv(world, []byte{0}, 0, 0); err != nil {
				return err
			}
			world.Die()
		}
		if err := w.LockAll(0); err != nil {
			return err
		}
		if err := Put(w, []int64{1}, 1, 0); err != nil {
			return err
		}
		if err := w.Flush(1); err != nil {
			return fmt.Errorf("while it lives: %w", err)
		}
		if err := Put(w, []int64{2}, 1, 1); err != nil {
			return err
		}
		if err := Send(world, []byte{0}, 1, 0); err != nil {
			return err
		}
		if _, err := Recv(world, []byte{0}, 1, 0); !errors.Is(err, ErrProcFailed) {
			return fmt.Errorf("receiving of the dead: %v", err)
		}
		if err := w.Flush(1); !errors.Is(err, ErrProcFailed) {
			return fmt.Errorf("Flush: error %v, want one of class %v", err, ErrProcFailed)
		}
		if err := w.Flush(0); err != nil {
			return fmt.Errorf("Flush of one that lives: %w", err)
		}
		return nil
	})
}

// TestDirectEnds: a window that is freed is left alone, and nothing is kept of it.
func TestDirectEnds(t *testing.T) {
	onDirect(t, Threads{Ranks: 2}, 2, func(world *Comm, w *Win, mem []int64) error {
		if err := w.Free(); err != nil {
			return err
		}
		a := &remoteAccess{w: w.win, target: world.Rank()}
		if m := a.enter(); m != nil {
			return errors.New("the memory of a freed window was entered")
		}
		if err := Barrier(world); err != nil {
			return err
		}
		l := world.job.local
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.wins) != 0 {
			return fmt.Errorf("%d windows are kept", len(l.wins))
		}
		return nil
	})
}
