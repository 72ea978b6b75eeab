package mpi_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/mpi"
)

// A context that ends in the middle of a reduction of many segments ends it at all ranks that have
// the context, wherever each of them is. Nothing is written to its buffers after that, and other
// communicators go on.
func TestEndedBetweenSegments(t *testing.T) {
	effort.Need(t, effort.Usual, "its reductions are long")
	const n = 1 << 20 // of 8 bytes: many segments
	layout := mpi.Vector(n, 1, 2, mpi.TypeOf[int64]())
	for name, start := range map[string]func(c *mpi.Comm, in, out []int64, op mpi.Op[int64]) *mpi.Request{
		"Iallreduce": func(c *mpi.Comm, in, out []int64, op mpi.Op[int64]) *mpi.Request {
			return mpi.Iallreduce(c.WithType(layout), in, out, op)
		},
		"Iscan": func(c *mpi.Comm, in, out []int64, op mpi.Op[int64]) *mpi.Request {
			return mpi.Iscan(c.WithType(layout), in, out, op)
		},
		"IreduceScatterBlock in place": func(c *mpi.Comm, in, out []int64, op mpi.Op[int64]) *mpi.Request {
			part := mpi.Vector(n/2, 1, 2, mpi.TypeOf[int64]())
			return mpi.IreduceScatterBlock(c.WithType(mpi.Resized(part, 0, 8*n)), out, out, op)
		},
	} {
		t.Run(name, func(t *testing.T) {
			// A rank may be done before it learns of the end. That this is so each time would be a
			// fault.
			for tries := 1; endedBetween(t, n, layout, start) == 0; tries++ {
				if tries == 20 {
					t.Fatalf("in %d tries no reduction was ended by its context", tries)
				}
			}
		})
	}
}

// endedBetween ends the context of a reduction of two ranks in its middle, and returns at how many
// of them that ended it.
func endedBetween(t *testing.T, n int, layout *mpi.Datatype, start func(c *mpi.Comm, in, out []int64, op mpi.Op[int64]) *mpi.Request) int {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var calls, ended atomic.Int64
	op := func(acc, in []int64) {
		if calls.Add(1) == 9 {
			cancel()
		}
		mpi.Sum(acc, in)
	}
	err := mpi.RunThreads(2, func(_ context.Context, c *mpi.Comm) error {
		c.SetErrhandler(mpi.ErrorsReturn)
		d, err := c.Dup(nil)
		if err != nil {
			return err
		}
		in, out := slices.Repeat([]int64{1}, 2*n), make([]int64, 2*n)
		switch _, err := start(d.WithContext(ctx), in, out, op).Wait(); {
		case errors.Is(err, context.Canceled):
			ended.Add(1)
		case err != nil:
			return fmt.Errorf("a reduction whose context ended: %v", err)
		}
		for i := range out {
			out[i] = -1
		}
		for range 3 { // what the ended one had under way would have come
			sum := make([]int64, 2*n)
			if err := mpi.Allreduce(c.WithType(layout), in, sum, mpi.Sum); err != nil {
				return err
			}
			if i := slices.IndexFunc(sum[:2*n-1], func(v int64) bool { return v != 0 && v != 2 }); i >= 0 || sum[0] != 2 || sum[2*n-2] != 2 {
				return fmt.Errorf("another reduction gives %d at %d", sum[max(i, 0)], i)
			}
		}
		if i := slices.IndexFunc(out, func(v int64) bool { return v != -1 }); i >= 0 {
			return fmt.Errorf("element %d was written to after the end", i)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return int(ended.Load())
}
