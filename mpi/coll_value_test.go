package mpi_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// vector adds by a method; it travels as memory.
type vector [2]int32

func (v vector) Add(w vector) vector { return vector{v[0] + w[0], v[1] + w[1]} }

// words travel serialised, and their order shows the order of ranks.
type words struct{ All []string }

func (w words) Add(x words) words { return words{append(slices.Clone(w.All), x.All...)} }

// TestValues: a collective of values gives what the collective of slices gives, of plain memory and
// of what is serialised. MPI.NET: one generic call per operation, count and datatype inferred, and
// reductions take any function over any type.
func TestValues(t *testing.T) {
	const n, root = 4, 2
	err := mpi.RunThreads(n, func(_ context.Context, c *mpi.Comm) error {
		r := c.Rank()
		return firstError(
			equal(mpi.BcastValue(c, r, root))(root),
			equal(mpi.ReduceValue(c, r, mpi.Sum, root))(atRoot(r == root, 6)),
			equal(mpi.AllreduceValue(c, fmt.Sprint(r), mpi.Sum))("0123"),
			equal(mpi.ScanValue(c, r+1, mpi.Prod))([]int{1, 2, 6, 24}[r]),
			equal(mpi.ExscanValue(c, r+1, mpi.Sum))([]int{0, 1, 3, 6}[r]),
			equal(mpi.GatherValue(c, string(rune('a'+r)), root))(atRoot(r == root, []string{"a", "b", "c", "d"})),
			equal(mpi.AllgatherValue(c, r*r))([]int{0, 1, 4, 9}),
			equal(mpi.ScatterValue(c, atRoot(r == root, []string{"w", "x", "y", "z"}), root))([]string{"w", "x", "y", "z"}[r]),
			equal(mpi.AlltoallValue(c, []int{10*r + 0, 10*r + 1, 10*r + 2, 10*r + 3}))([]int{r, 10 + r, 20 + r, 30 + r}),
			equal(mpi.AllreduceValue(c, vector{1, int32(r)}, mpi.Add))(vector{4, 6}),
			equal(mpi.AllreduceValue(c, words{[]string{fmt.Sprint(r)}}, mpi.Add))(words{[]string{"0", "1", "2", "3"}}),
			equal(mpi.AllreduceValue(c, fmt.Sprint(r), mpi.OpOf(func(x, y string) string { return x + y })))("0123"),
			equal(mpi.AllreduceValue(c, r, mpi.Commutative(mpi.OpOf(func(x, y int) int { return max(x, y) }))))(3),
		)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func atRoot[T any](is bool, v T) (at T) {
	if is {
		at = v
	}
	return at
}

// equal compares what a call returned with what is wanted.
func equal[T any](got T, err error) func(want T) error {
	return func(want T) error {
		if err == nil && fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
			return fmt.Errorf("%#v, want %#v", got, want)
		}
		return err
	}
}

func firstError(errs ...error) error {
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("case %d: %w", i, err)
		}
	}
	return nil
}

// TestValuesBetweenGroups: over an intercommunicator values come from the other group.
func TestValuesBetweenGroups(t *testing.T) {
	err := mpi.RunThreads(5, func(_ context.Context, c *mpi.Comm) error {
		low := c.Rank() < 2
		half, err := c.Split(atRoot(low, 1), 0)
		if err != nil {
			return err
		}
		other, err := half.IntercommCreate(0, c, atRoot(low, 2), 1)
		if err != nil {
			return err
		}
		root := mpi.ProcNull
		switch {
		case !low:
			root = 1
		case half.Rank() == 1:
			root = mpi.Root
		}
		want := atRoot(root == mpi.Root, []int{2, 3, 4})
		all := []int{0, 1}
		if low {
			all = []int{2, 3, 4}
		}
		return firstError(
			equal(mpi.GatherValue(other, c.Rank(), root))(want),
			equal(mpi.AllgatherValue(other, c.Rank()))(all),
		)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestValuesRefuse: what a collective of slices refuses is refused, also without a communicator.
func TestValuesRefuse(t *testing.T) {
	err := mpi.RunThreads(2, func(_ context.Context, c *mpi.Comm) error {
		if _, err := mpi.BcastValue(c, 1, 2); mpi.ClassOf(err) != mpi.ErrRoot {
			return fmt.Errorf("a root that is not there: %v", err)
		}
		if _, err := mpi.AllreduceValue(c, 1, nil); mpi.ClassOf(err) != mpi.ErrOp {
			return fmt.Errorf("no operation: %v", err)
		}
		if _, err := mpi.AllreduceValue(c, 1, mpi.OpOf[int](nil)); mpi.ClassOf(err) != mpi.ErrOp {
			return fmt.Errorf("no function: %v", err)
		}
		if _, err := mpi.GatherValue[int](nil, 1, 0); mpi.ClassOf(err) != mpi.ErrComm {
			return fmt.Errorf("no communicator: %v", err)
		}
		if _, err := mpi.AlltoallValue(c, make([]int, 3)); mpi.ClassOf(err) != mpi.ErrCount || !strings.Contains(err.Error(), "coll_value_test.go:") {
			return fmt.Errorf("three values for two ranks: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
