package mpi

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/mpi/internal/coll"
)

// refuser moves messages by the engine, however long that takes, but for the one that it refuses.
type refuser struct {
	e       *engine.Engine
	left    int // messages until that; negative: none
	moved   int
	refused bool
}

func (r *refuser) MovesNow() bool { return true }

func (r *refuser) Send(m *engine.Message, _ engine.Intent) bool {
	return r.move(&engine.MSO{Kind: engine.KindSend, Peer: m.Peer, Ctx: m.Ctx, Tag: m.Tag, Elem: m.Elem, Buf: m.Buf})
}

func (r *refuser) Recv(m *engine.Message, _ engine.Intent) bool {
	x := &engine.MSO{Kind: engine.KindRecv, Peer: m.Peer, Ctx: m.Ctx, Tag: m.Tag, Buf: m.Buf}
	ok := r.move(x)
	m.Length, m.Elem = x.Length, x.GotElem
	return ok
}

func (r *refuser) move(m *engine.MSO) bool {
	if r.left--; r.left == -1 {
		r.refused = true
		return false
	}
	r.moved++
	r.e.Post(m, engine.Computes)
	r.e.Wait(m)
	return m.Err == nil
}

// scheduler is a mover that moves nothing.
type scheduler struct{ mover }

func (scheduler) MovesNow() bool { return false }

// directCase is a collective of what a rank has; out is as long as what all have.
type directCase struct {
	kind coll.Kind
	run  func(c *Comm, in, out []int64) error
}

// leftmost does not commute: it tells whether operands met in the order of ranks.
func leftmost(acc, in []int64) {
	for i := range acc {
		acc[i] = acc[i]*31 + in[i]
	}
}

var directCases = []directCase{
	{coll.KindBarrier, func(c *Comm, _, _ []int64) error { return Barrier(c) }},
	{coll.KindBcast, func(c *Comm, in, out []int64) error {
		n := copy(out, in)
		return Bcast(c, out[:n], c.Size()-1)
	}},
	{coll.KindReduce, func(c *Comm, in, out []int64) error { return Reduce(c, in, out, Sum[int64], c.Size()-1) }},
	{coll.KindAllreduce, func(c *Comm, in, out []int64) error { return Allreduce(c, in, out, Sum[int64]) }},
	{coll.KindAllreduce, func(c *Comm, in, out []int64) error { return Allreduce(c, in, out, leftmost) }},
	{coll.KindAllreduce, func(c *Comm, in, out []int64) error {
		n := copy(out, in)
		return Allreduce(c, out[:n], out[:n], Sum[int64])
	}},
	{coll.KindScan, func(c *Comm, in, out []int64) error { return Scan(c, in, out, leftmost) }},
	{coll.KindExscan, func(c *Comm, in, out []int64) error { return Exscan(c, in, out, leftmost) }},
	{coll.KindReduceScatter, func(c *Comm, in, out []int64) error {
		return ReduceScatterBlock(c, in, out[:len(in)/c.Size()], Sum[int64])
	}},
	{coll.KindGather, func(c *Comm, in, out []int64) error { return Gather(c, in, out, c.Size()-1) }},
	{coll.KindScatter, func(c *Comm, in, out []int64) error { return Scatter(c, in, out[:len(in)/c.Size()], c.Size()-1) }},
	{coll.KindAllgather, func(c *Comm, in, out []int64) error { return Allgather(c, in, out) }},
	{coll.KindAllgather, func(c *Comm, in, out []int64) error {
		own := out[c.rank*len(in):][:len(in)]
		copy(own, in)
		return Allgather(c, own, out)
	}},
	{coll.KindAlltoall, func(c *Comm, in, out []int64) error { return Alltoall(c, in, out[:len(in)]) }},
	{coll.KindAlltoall, func(c *Comm, in, out []int64) error {
		copy(out, in)
		return Alltoall(c, out[:len(in)], out[:len(in)])
	}},
}

// only is the choice of one algorithm of one collective.
func only(k coll.Kind, a coll.Algorithm) coll.Choice {
	c, err := coll.ParseChoice(fmt.Sprintf("%v=%v", k, a))
	if err != nil {
		panic(err)
	}
	return c
}

// results is what a collective by an algorithm leaves at a rank whose messages go by m.
func (x directCase) results(c *Comm, a coll.Algorithm, m mover) ([]int64, error) {
	in, out := make([]int64, 2*c.Size()), make([]int64, 2*c.Size()*c.Size())
	for i := range in {
		in[i] = int64(1000*c.rank + i + 1)
	}
	c.job.choice = only(x.kind, a)
	c.job.mover = m
	return out, x.run(c, in, out)
}

// TestCollectiveAtOnce: some steps of a collective are done while the algorithm lists them, and the
// others by the engine. The result is that of a collective which the engine does as a whole. That
// holds for each algorithm, wherever the first step is that cannot be done at once.
func TestCollectiveAtOnce(t *testing.T) {
	effort.Need(t, effort.Usual, "it tries collectives for a second")
	for n := 2; n <= 5; n++ {
		for _, x := range directCases {
			for _, a := range x.kind.Algorithms() {
				t.Run(fmt.Sprintf("%d ranks/%v by %v", n, x.kind, a), func(t *testing.T) { x.refuseEach(t, n, a) })
			}
		}
	}
}

// refuseEach refuses the first, second and so on message of all ranks, then of one of them, until
// there are no more. It does so where a collective has no recipe, and where it has one.
func (x directCase) refuseEach(t *testing.T, n int, a coll.Algorithm) {
	var refusals atomic.Int32
	if err := RunThreads(n, func(_ context.Context, c *Comm) error {
		want, err := x.results(c, a, scheduler{})
		if err == nil {
			err = x.refuseAlone(t, c, a, want, &refusals, func() { c.recipes.all.Store(nil) })
		}
		if err == nil {
			_, err = x.results(c, a, &refuser{e: c.job.engine, left: -1})
		}
		if err == nil {
			err = x.refuseAlone(t, c, a, want, &refusals, func() {})
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	if refusals.Load() == 0 {
		t.Error("no message was refused: the collective has none that are done at once")
	}
}

// refuseAlone is a rank's part in refuseEach; before is called before each collective.
func (x directCase) refuseAlone(t *testing.T, c *Comm, a coll.Algorithm, want []int64, refusals *atomic.Int32, before func()) (err error) {
	for k, more := 0, true; more && err == nil; k++ {
		more = false
		for alone := -1; alone < c.Size() && err == nil; alone++ {
			m := &refuser{e: c.job.engine, left: k}
			if alone >= 0 && alone != c.rank {
				m.left = -1 // none
			}
			before()
			var got []int64
			if got, err = x.results(c, a, m); !slices.Equal(got, want) {
				t.Errorf("rank %d, message %d refused to %d: %v, want %v", c.rank, k, alone, got, want)
			}
			if m.refused {
				refusals.Add(1)
			}
			more = more || m.refused
		}
		c.job.mover = scheduler{}
		all := []bool{more}
		if err == nil {
			err = Allreduce(c, all, all, LOr[bool])
		}
		more = all[0]
	}
	return err
}

// withRecipe runs a program at n ranks without a recipe, and where prepare has made one before.
func withRecipe(t *testing.T, n int, prepare func(c *Comm) error, run func(c *Comm, m *refuser) error) {
	for _, known := range []bool{false, true} {
		if err := RunThreads(n, func(_ context.Context, c *Comm) error {
			c.SetErrhandler(ErrorsReturn)
			c.job.choice = only(coll.KindBcast, coll.Binomial)
			if known {
				moveAll(c)
				if err := prepare(c); err != nil {
					return err
				}
			}
			if known == (c.recipes.count() == 0) {
				t.Errorf("rank %d has %d recipes", c.rank, c.recipes.count())
			}
			return run(c, moveAll(c))
		}); err != nil {
			t.Errorf("recipe %v: %v", known, err)
		}
	}
}

// TestCollectiveAtOnceUnequal: a rank that has received less than was to come is told, and does
// nothing else.
func TestCollectiveAtOnceUnequal(t *testing.T) {
	withRecipe(t, 4, func(c *Comm) error { return Bcast(c, make([]int64, 2), 0) }, func(c *Comm, m *refuser) error {
		switch c.rank {
		case 0:
			return Bcast(c, make([]int64, 1), 0) // to 2, which would pass it on to 3, and to 1
		case 2:
			if err := Bcast(c, make([]int64, 2), 0); ClassOf(err) != ErrTruncate || m.moved != 1 {
				t.Errorf("%v after %d messages, want %v after 1", err, m.moved, ErrTruncate)
			}
		}
		return nil
	})
}

// TestCollectiveAtOncePanic: an operation that panics is an error, whichever rank runs it.
func TestCollectiveAtOncePanic(t *testing.T) {
	withRecipe(t, 2, func(c *Comm) error { return Allreduce(c, []int64{1}, make([]int64, 1), leftmost) }, func(c *Comm, m *refuser) error {
		kept := c.recipes.count()
		err := Allreduce(c, []int64{1}, make([]int64, 1), func(_, _ []int64) { panic("boom") })
		if err == nil || !strings.Contains(err.Error(), "panic: boom") || m.moved != 2 || c.recipes.count() != kept {
			t.Errorf("%v after %d messages, want a panic after 2", err, m.moved)
		}
		return nil
	})
}
