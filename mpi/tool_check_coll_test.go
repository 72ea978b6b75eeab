package mpi

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

// difference is a collective that ranks 0 and 1 call differently, with n elements.
type difference struct {
	name   string
	sender func(c *Comm, n int) error // rank 0
	other  func(c *Comm, n int) error // rank 1
	class  ErrorClass
	says   string
}

// run has two ranks call it over what over makes of their world.
func (m *difference) run(t *testing.T, over func(*Comm) (*Comm, error)) {
	everyWay(t, func(t *testing.T) {
		for _, n := range []int{1, 1000, 40_000} {
			ctx, cancel := context.WithCancel(t.Context())
			err := RunThreads(2, func(_ context.Context, world *Comm) error {
				c, err := over(world)
				if err != nil {
					return err
				}
				c.SetErrhandler(ErrorsReturn)
				if world.Rank() == 0 {
					_ = m.sender(c.WithContext(ctx), n) // perhaps nothing takes it
					return nil
				}
				defer cancel()
				err = m.other(c, n)
				wantSaid(t, fmt.Sprint(n, " elements"), err, m.class, m.says)
				wantSaid(t, "and it", err, m.class, "fitrun --check")
				return nil
			})
			cancel()
			if err != nil {
				t.Error(err)
			}
		}
	})
}

func floats(n int) []float64 { return make([]float64, n) }
func ints(n int) []int64     { return make([]int64, n) }

func keepLower(acc, in []float64) {}

func startedOnce(r *Request) error {
	if err := r.Start(); err != nil {
		return err
	}
	return done(r)
}

// TestCollectivesDiffer: "all MPI processes in the group must call the same collective" (MPI 4.1,
// section 6.1). Where messages of different ones meet, or of elements of different kinds, the
// receiver says so: every message has both in its header.
func TestCollectivesDiffer(t *testing.T) {
	bcast := func(c *Comm, n int) error { return Bcast(c, floats(n), 0) }
	for _, m := range []difference{
		{"operations", bcast, func(c *Comm, n int) error { return Scatter(c, nil, floats(n), 0) }, ErrNotSame,
			"this rank calls Scatter, rank 0 calls Bcast"},
		{"a barrier", bcast, func(c *Comm, _ int) error { return Barrier(c) }, ErrNotSame,
			"this rank calls Barrier, rank 0 calls Bcast"},
		{"elements", bcast, func(c *Comm, n int) error { return Bcast(c, ints(n), 0) }, ErrType,
			"the elements are int64 at this rank and float64 at rank 0"},
		{"lengths, too", bcast, func(c *Comm, n int) error { return Bcast(c, ints(n+1), 0) }, ErrType,
			"the elements are int64 at this rank and float64 at rank 0"},
		{"objects", func(c *Comm, n int) error { return Bcast(c, make([]string, n), 0) },
			func(c *Comm, n int) error { return Bcast(c, ints(n), 0) }, ErrType,
			"the elements are int64 at this rank and object at rank 0"},
		{"nonblocking", func(c *Comm, n int) error { return waitAllOf(Ibcast(c, floats(n), 0)) },
			func(c *Comm, n int) error { return waitAllOf(Ibcast(c, ints(n), 0)) }, ErrType,
			"the elements are int64 at this rank and float64 at rank 0"},
		{"whether an operation commutes", func(c *Comm, n int) error { return Allreduce(c, floats(n), floats(n), Commutative(keepLower)) },
			func(c *Comm, n int) error { return Allreduce(c, floats(n), floats(n), keepLower) }, ErrNotSame,
			"this rank calls a reduction whose operation does not commute, rank 0 calls Allreduce"},
		{"whether a persistent one's does", func(c *Comm, n int) error {
			return startedOnce(ReduceScatterBlockInit(c, floats(2*n), floats(n), keepLower))
		},
			func(c *Comm, n int) error { return startedOnce(ReduceScatterBlockInit(c, floats(2*n), floats(n), Sum)) }, ErrNotSame,
			"this rank calls ReduceScatter, rank 0 calls a reduction whose operation does not commute"},
		{"a new communicator", bcast, func(c *Comm, _ int) error { _, err := c.Dup(nil); return err }, ErrNotSame,
			"this rank calls one that makes or frees a communicator, a window or a file, rank 0 calls Bcast"},
	} {
		t.Run(m.name, func(t *testing.T) {
			m.run(t, func(world *Comm) (*Comm, error) { return world, nil })
		})
	}
}

// TestIntercommunicatorsDiffer is TestCollectivesDiffer between two groups.
func TestIntercommunicatorsDiffer(t *testing.T) {
	bcast := func(c *Comm, n int) error { return Bcast(c, floats(n), Root) }
	gather := func(c *Comm, n int) error { return Allgather(c, floats(n), floats(n)) }
	for _, m := range []difference{
		{"rooted operations", bcast, func(c *Comm, n int) error { return Scatter(c, nil, floats(n), 0) }, ErrNotSame,
			"this rank calls Scatter, remote rank 0 calls Bcast"},
		{"rooted elements", bcast, func(c *Comm, n int) error { return Bcast(c, ints(n), 0) }, ErrType,
			"the elements are int64 at this rank and float64 at remote rank 0"},
		{"operations", gather, func(c *Comm, n int) error { return Alltoall(c, floats(n), floats(n)) }, ErrNotSame,
			"this rank calls Alltoall, remote rank 0 calls Allgather"},
		{"elements", gather, func(c *Comm, n int) error { return Allgather(c, ints(n), ints(n)) }, ErrType,
			"the elements are int64 at this rank and float64 at remote rank 0"},
	} {
		t.Run(m.name, func(t *testing.T) {
			m.run(t, func(world *Comm) (*Comm, error) {
				return world.Self().IntercommCreate(0, world, 1-world.Rank(), 7)
			})
		})
	}
}

// TestIntercommunicatorsSuit: ranks of the root's group that give no buffer may name any type.
func TestIntercommunicatorsSuit(t *testing.T) {
	err := RunThreads(3, func(_ context.Context, c *Comm) error {
		local, err := c.Split(min(c.Rank(), 1), 0) // 0 | 1, 2
		if err != nil {
			return err
		}
		x, err := local.IntercommCreate(0, c, []int{1, 0, 0}[c.Rank()], 7)
		if err != nil {
			return err
		}
		out := []float64{0}
		switch c.Rank() {
		case 0:
			return errors.Join(Bcast(x, out, 0), Gather(x, out, nil, 0), Reduce(x, out, nil, Sum, 0))
		case 1:
			return errors.Join(Bcast(x, out, Root), Gather(x, nil, out, Root), Reduce(x, nil, out, Sum, Root))
		}
		return errors.Join(Bcast[string](x, nil, ProcNull), Gather[int8](x, nil, nil, ProcNull), Reduce[uint16](x, nil, nil, Sum, ProcNull))
	})
	if err != nil {
		t.Error(err)
	}
}

// TestCollectivesSuit: kinds that match in messages match in collectives, and forms of an operation
// that differ at the ranks without being seen in its messages are not told from each other.
func TestCollectivesSuit(t *testing.T) {
	type pair struct{ X, Y float64 }
	err := RunThreads(2, func(_ context.Context, c *Comm) error {
		mine, other := Bcast(c, []float64{1, 2}, 0), error(nil)
		if c.Rank() == 0 {
			other = Bcast(c, []pair{{1, 2}}, 0)
		} else {
			other = Bcast(c, make([]byte, 16), 0)
		}
		if mine != nil || other != nil {
			return fmt.Errorf("%v, %v", mine, other)
		}
		d, err := c.Dup(nil)
		if err != nil {
			return err
		}
		d.SetErrhandler(ErrorsReturn)
		_ = Bcast(d, []chan int{nil}, 0) // fails before it begins, and leaves nothing behind
		return waitAllOf(Iallreduce(d, []int{1}, []int{0}, Sum), Ibarrier(d))
	})
	if err != nil {
		t.Error(err)
	}
}

// TestMarksAreApart: each operation has a code, no two the same, and what has none of its own
// shares the first.
func TestMarksAreApart(t *testing.T) {
	seen := make(map[callMark]string)
	for _, op := range markOps[2:] {
		if op == "" {
			continue
		}
		if m := markOf(op); seen[m] != "" || m.class() != 0 || m.op() != op {
			t.Errorf("%s has the mark %#x of %s", op, m, m.op())
		}
		seen[markOf(op)] = op
	}
	if markOf("Dup") != markOf("Split") || markOf("Gatherv") != markOf("Gather") || markOf("Dup") == 0 {
		t.Error("operations without a code have another one than they should")
	}
}
