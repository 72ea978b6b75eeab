//go:build linux && !fitmpi_portable

package mpi

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/mpi/internal/coll"
)

// unequalCase is a collective of blocks of n elements at this rank, with the last rank as its root.
type unequalCase struct {
	kind coll.Kind
	run  func(c *Comm, n int) error
	// told reports whether a rank cannot but have an error where n is another at rank odd.
	told func(rank, size, odd int) bool
	// ordered says that operands are combined in their order, which a ring cannot.
	ordered bool
}

func toldEach(_, _, _ int) bool { return true }

func toldRoot(rank, size, _ int) bool { return rank == size-1 }

func toldByRoot(rank, size, odd int) bool {
	if odd == size-1 {
		return rank != odd
	}
	return rank == odd
}

func toldAbove(rank, _, odd int) bool { return rank > 0 && rank >= odd }

var unequalCases = []unequalCase{
	{coll.KindBcast, func(c *Comm, n int) error { return Bcast(c, make([]int64, n), c.Size()-1) }, toldByRoot, false},
	{coll.KindReduce, func(c *Comm, n int) error {
		return Reduce(c, make([]int64, n), make([]int64, n), Sum[int64], c.Size()-1)
	}, toldRoot, false},
	{coll.KindAllreduce, func(c *Comm, n int) error {
		return Allreduce(c, make([]int64, n), make([]int64, n), Sum[int64])
	}, toldEach, false},
	{coll.KindAllreduce, func(c *Comm, n int) error {
		return Allreduce(c, make([]int64, n), make([]int64, n), leftmost)
	}, toldEach, true},
	{coll.KindScan, func(c *Comm, n int) error { return Scan(c, make([]int64, n), make([]int64, n), leftmost) }, toldAbove, true},
	{coll.KindExscan, func(c *Comm, n int) error { return Exscan(c, make([]int64, n), make([]int64, n), leftmost) }, toldAbove, true},
	{coll.KindReduceScatter, func(c *Comm, n int) error {
		return ReduceScatterBlock(c, make([]int64, n*c.Size()), make([]int64, n), Sum[int64])
	}, toldEach, false},
	{coll.KindGather, func(c *Comm, n int) error {
		return Gather(c, make([]int64, n), make([]int64, n*c.Size()), c.Size()-1)
	}, toldRoot, false},
	{coll.KindScatter, func(c *Comm, n int) error {
		return Scatter(c, make([]int64, n*c.Size()), make([]int64, n), c.Size()-1)
	}, toldByRoot, false},
	{coll.KindAllgather, func(c *Comm, n int) error { return Allgather(c, make([]int64, n), make([]int64, n*c.Size())) }, toldEach, false},
	{coll.KindAlltoall, func(c *Comm, n int) error {
		return Alltoall(c, make([]int64, n*c.Size()), make([]int64, n*c.Size()))
	}, toldEach, false},
}

// TestCollectiveUnequal: where the length that one rank gives is another than that of the others, a
// rank that finds it tells those that wait for what it would have sent. Each rank whose result
// depends on it has an error, no rank waits in vain, and the communicator goes on. That holds for
// each algorithm, as long as all ranks have the same one.
func TestCollectiveUnequal(t *testing.T) {
	effort.Need(t, effort.Usual, "it tries collectives for seconds")
	for size := 2; size <= 5; size++ {
		for _, x := range unequalCases {
			for _, a := range x.kind.Algorithms() {
				t.Run(fmt.Sprintf("%d ranks/%v by %v", size, x.kind, a), func(t *testing.T) { x.eachOdd(t, size, 4*size, a) })
			}
		}
	}
}

// TestCollectiveUnequalLong: nor does a rank wait in vain, and all have their errors, where ranks
// cut what they send and receive into different numbers of messages, which wait for permission. It
// may if they choose different algorithms.
func TestCollectiveUnequalLong(t *testing.T) {
	effort.Need(t, effort.Full, "it tries collectives for seconds")
	for _, size := range []int{2, 3, 5} {
		for _, x := range unequalCases {
			for _, a := range x.kind.Algorithms() {
				if a == coll.TwoLevel || a == coll.Ring && x.ordered {
					continue // not possible here: the choice would follow from the length, and differ
				}
				t.Run(fmt.Sprintf("%d ranks/%v by %v", size, x.kind, a), func(t *testing.T) { x.eachOdd(t, size, 50_000, a) })
			}
		}
	}
}

// TestCollectiveTagAgain: a collective has the number of one that has failed long ago, and works.
func TestCollectiveTagAgain(t *testing.T) {
	if err := RunThreads(2, func(_ context.Context, c *Comm) error {
		c.SetErrhandler(ErrorsReturn)
		const quarter = streamTag / 4
		for _, its := range []uint32{5, quarter + 5, streamTag - 1} {
			c.collSeq.Store(its)
			if err := Bcast(c, make([]int32, 1+c.rank), 0); (err != nil) != (c.rank == 1) {
				return fmt.Errorf("ranks give different lengths, and rank %d has the error %v", c.rank, err)
			}
			c.collSeq.Store(streamTag + its/quarter*quarter - quarter/2)
			if err := Barrier(c); err != nil {
				return err
			}
			c.collSeq.Store(streamTag + its)
			v := []int32{int32(7 * (1 - c.rank))}
			if err := Bcast(c, v, 0); err != nil || v[0] != 7 {
				return fmt.Errorf("number %d again: %v, %v", its, v, err)
			}
		}
		return Barrier(c)
	}); err != nil {
		t.Error(err)
	}
}

// eachOdd lets each rank in turn have half or twice as many elements as the others.
func (x unequalCase) eachOdd(t *testing.T, size, n int, a coll.Algorithm) {
	if err := RunThreads(size, func(_ context.Context, c *Comm) error {
		c.SetErrhandler(ErrorsReturn)
		usual := c.job.mover
		for odd := range size {
			for _, m := range []mover{usual, scheduler{}} {
				for _, its := range []int{n / 2, 2 * n} {
					mine := n
					if c.rank == odd {
						mine = its
					}
					c.job.choice, c.job.mover = only(x.kind, a), m
					x.judge(t, c, odd, x.run(c, mine))
					c.job.mover = usual
					if err := Barrier(c); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// judge checks the error of this rank.
func (x unequalCase) judge(t *testing.T, c *Comm, odd int, err error) {
	switch {
	case err == nil && x.told(c.rank, c.Size(), odd):
		t.Errorf("rank %d has no error, as rank %d gives another length", c.rank, odd)
	case err == nil || ClassOf(err) == ErrTruncate: // its own, or that of another
	case ClassOf(err) != ErrOther || !strings.Contains(err.Error(), "its own error says what is wrong"):
		t.Errorf("rank %d, as rank %d gives another length: %v", c.rank, odd, err)
	}
}

// TestCollectiveUnequalForms: it is the same for requests, and a persistent one says why it cannot
// be started again.
func TestCollectiveUnequalForms(t *testing.T) {
	if err := RunThreads(4, func(_ context.Context, c *Comm) error {
		c.SetErrhandler(ErrorsReturn)
		n := 10
		if c.rank == 0 {
			n = 1
		}
		p := BcastInit(c, make([]int32, n), 0)
		if err := p.Start(); err != nil {
			return err
		}
		for name, r := range map[string]*Request{"Ibcast": Ibcast(c, make([]int32, n), 0), "BcastInit": p} {
			if _, err := r.Wait(); (err != nil) != (c.rank != 0) {
				t.Errorf("rank %d, %s: %v", c.rank, name, err)
			}
		}
		if err := p.Start(); (err != nil) != (c.rank != 0) {
			t.Errorf("rank %d, second round: %v", c.rank, err)
		}
		return Barrier(c)
	}); err != nil {
		t.Error(err)
	}
}

// TestCollectivePanics: an operation that panics at one rank keeps no other waiting.
func TestCollectivePanics(t *testing.T) {
	effort.Need(t, effort.Usual, "it tries collectives for seconds")
	for size := 2; size <= 5; size++ {
		for _, x := range directCases {
			if x.kind != coll.KindReduce && x.kind != coll.KindAllreduce && x.kind != coll.KindReduceScatter {
				continue
			}
			for _, a := range x.kind.Algorithms() {
				t.Run(fmt.Sprintf("%d ranks/%v by %v", size, x.kind, a), func(t *testing.T) { panicEach(t, size, x.kind, a) })
			}
		}
	}
}

// panicEach lets the operation of each rank in turn panic.
func panicEach(t *testing.T, size int, k coll.Kind, a coll.Algorithm) {
	if err := RunThreads(size, func(_ context.Context, c *Comm) error {
		c.SetErrhandler(ErrorsReturn)
		for odd := range size {
			called := false
			op := func(acc, in []int64) {
				if c.rank == odd {
					called = true
					panic("boom")
				}
				leftmost(acc, in)
			}
			c.job.choice = only(k, a)
			in, out := make([]int64, 4*size), make([]int64, 4*size)
			var err error
			switch k {
			case coll.KindReduce:
				err = Reduce(c, in, out, op, size-1)
			case coll.KindAllreduce:
				err = Allreduce(c, in, out, op)
			default:
				err = ReduceScatterBlock(c, in, out[:4], op)
			}
			if called && (err == nil || !strings.Contains(err.Error(), "panic: boom")) {
				t.Errorf("rank %d: %v", c.rank, err)
			}
			if err := Barrier(c); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// TestCollectiveMute: a rank whose operand has no serialised form tells those that wait for it.
func TestCollectiveMute(t *testing.T) {
	if err := RunThreads(3, func(_ context.Context, c *Comm) error {
		c.SetErrhandler(ErrorsReturn)
		for i, call := range []func() error{
			func() error { return Bcast(c, []mute{{}}, 0) },
			func() error { _, err := Ibcast(c, []mute{{}}, 0).Wait(); return err },
		} {
			if err := call(); ClassOf(err) != ErrType {
				t.Errorf("call %d at rank %d: %v, want %v", i, c.rank, err, ErrType)
			}
			if err := Barrier(c); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}
