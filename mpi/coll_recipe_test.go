package mpi

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/mpi/internal/coll"
)

// count is how many recipes are kept.
func (t *recipes) count() int {
	if all := t.all.Load(); all != nil {
		return len(*all)
	}
	return 0
}

// moveAll has collectives of c done at once, all of them.
func moveAll(c *Comm) *refuser {
	m := &refuser{e: c.job.engine, left: -1}
	c.job.mover = m
	return m
}

// TestRecipesAreTold: a recipe is for operands of its lengths that lie to each other as those do of
// which it was made, and for one operation as for another.
func TestRecipesAreTold(t *testing.T) {
	if err := RunThreads(3, func(_ context.Context, c *Comm) error {
		moveAll(c)
		want := func(n int, when string) {
			if c.recipes.count() != n {
				t.Errorf("rank %d has %d recipes %s, want %d", c.rank, c.recipes.count(), when, n)
			}
		}
		reduces := func(in, out []int64, op Op[int64], sum int64) error {
			for i := range in {
				in[i] = int64(c.rank + 1)
			}
			err := Allreduce(c, in, out, op)
			for i := range in {
				if out[i] != sum {
					t.Errorf("rank %d: %d, want %d", c.rank, out[i], sum)
				}
			}
			return err
		}
		a, b := make([]int64, 8), make([]int64, 8)
		for i, f := range []func() error{
			func() error { return reduces(a[:4], b[:4], Sum[int64], 6) },
			func() error { return reduces(b[1:5], a[2:6], Sum[int64], 6) }, // elsewhere
			func() error { return reduces(b[1:5], a[2:6], Prod[int64], 6) },
			func() error { return reduces(b[1:5], a[2:6], Max[int64], 3) },
		} {
			if err := f(); err != nil {
				return err
			}
			want(1, fmt.Sprint("after call ", i))
		}
		for i, f := range []func() error{
			func() error { return reduces(a[:4], a[:4], Sum[int64], 6) }, // in place
			func() error { return reduces(a[:5], b[:5], Sum[int64], 6) },
			func() error { return reduces(a[:4], b[:4], leftmost, 33*31+3) },
			func() error { return Barrier(c) },
			func() error { return Bcast(c, a[:4], 0) },
			func() error { return Bcast(c, a[:4], 1) },
		} {
			for range 2 {
				if err := f(); err != nil {
					return err
				}
				want(2+i, fmt.Sprint("after another call ", i))
			}
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// TestRecipesAreBounded: a communicator keeps so many, and none that is long.
func TestRecipesAreBounded(t *testing.T) {
	if err := RunThreads(2, func(_ context.Context, c *Comm) error {
		moveAll(c)
		for range 2 {
			for n := 1; n <= mostRecipes+5; n++ {
				in, out := slices.Repeat([]int64{int64(c.rank + 1)}, n), make([]int64, n)
				if err := Allreduce(c, in, out, Sum[int64]); err != nil || slices.Max(out) != 3 || slices.Min(out) != 3 {
					return fmt.Errorf("%v, %w", out, err)
				}
			}
		}
		if n := c.recipes.count(); n != mostRecipes {
			t.Errorf("%d recipes, want %d", n, mostRecipes)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if err := RunThreads(mostActs/2+2, func(_ context.Context, c *Comm) error {
		moveAll(c)
		c.job.choice = only(coll.KindAlltoall, coll.Linear)
		if err := Alltoall(c, make([]int64, c.Size()), make([]int64, c.Size())); err != nil {
			return err
		}
		if n := c.recipes.count(); n != 0 {
			t.Errorf("%d recipes of a long collective", n)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// echo is a mover of messages that go nowhere and come from nowhere.
type echo struct{}

func (echo) MovesNow() bool                           { return true }
func (echo) Send(*engine.Message, engine.Intent) bool { return true }
func (echo) Recv(m *engine.Message, _ engine.Intent) bool {
	m.Length, m.Elem = len(m.Buf), 0
	return true
}

// MoveNothing lets blocking collectives of this rank end at once, without others, until restore is
// called.
func MoveNothing(c *Comm) (restore func()) {
	by := c.job.mover
	c.job.mover = echo{}
	return func() { c.job.mover = by }
}
