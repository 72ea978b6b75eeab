package tests

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

// Agreement and shrinking where no rank fails, or all are done with a communicator that was
// revoked. What happens when ranks die is in mortal_test.go of package mpi.

const (
	agreeAnd = "MPIX_COMM_AGREE performs a bitwise AND of the input values of all processes that have not failed; " +
		"the outcome is the same at all."
	shrinkLike = "MPIX_COMM_SHRINK creates a communicator of the processes that have not failed, in the order of their ranks."
)

var agreeCases = []testCase{
	{name: "agree/and", section: "ULFM", sentence: agreeAnd, run: agreesAnd},
	{name: "agree/waits for all", section: "ULFM", min: 2,
		sentence: "Nobody returns before all that live have called it.", run: agreeWaits},
	{name: "agree/nonblocking", section: "ULFM",
		sentence: "MPIX_COMM_IAGREE goes on while the caller computes and communicates; several may be outstanding, and are matched in their order.",
		run:      agreeNonblocking},
	{name: "agree/beside everything", section: "ULFM",
		sentence: "Agreements on different communicators go on side by side, beside messages and collectives.", run: agreeBeside},
	{name: "agree/intercommunicator", section: "ULFM", min: 2,
		sentence: "On an intercommunicator the agreement is over both groups.", run: agreeInter},
	{name: "agree/mismatch", section: "FitMPI", min: 2,
		sentence: "Where some ranks agree and others shrink all get an error of class ErrNotSame, and what follows works.", run: agreeMismatch},
	{name: "agree/arguments", section: "FitMPI",
		sentence: "Without a flag to agree on, or a communicator that lives, the call fails at once.", run: agreeArguments},
	{name: "agree/deadline", section: "FitMPI", min: 2,
		sentence: "A context ends the waiting, not the agreement: what the rank has given counts, and the others get it.", run: agreeDeadline},
	{name: "shrink/nobody failed", section: "ULFM", sentence: shrinkLike, run: shrinkLikeDup},
	{name: "shrink/everything works", section: "ULFM",
		sentence: "The new communicator is as any other: all collectives work in all forms, and communicators can be made of it.", run: shrinkWorks},
	{name: "shrink/nonblocking", section: "ULFM",
		sentence: "MPIX_COMM_ISHRINK gives the communicator when its request is complete.", run: shrinkNonblocking},
	{name: "shrink/intercommunicator", section: "ULFM", min: 2,
		sentence: "Of an intercommunicator it makes an intercommunicator of both groups' survivors.", run: shrinkInter},
	{name: "shrink/inherits", section: "ULFM",
		sentence: "The error handler is inherited; attributes and topology are not.", run: shrinkInherits},
}

// flagOf is what a rank gives: all bits but its own.
func flagOf(c *mpi.Comm, k int) int { return ^(1 << (c.Rank() + k)) }

// allFlags is the AND of what n ranks give.
func allFlags(n, k int) int { return ^((1<<n - 1) << k) }

func agreesAnd(t *T, c *mpi.Comm) {
	for k := range 12 {
		got, err := c.Agree(flagOf(c, k))
		t.must(err)
		want(t, "the flag", got, allFlags(c.Size(), k))
	}
	got, err := c.Agree(-1)
	t.must(err)
	want(t, "all bits", got, -1)
}

func agreeWaits(t *T, c *mpi.Comm) {
	for k := range c.Size() {
		name := func(r int) string { return fmt.Sprint("called-", k, "-", r) }
		if c.Rank() == k {
			for r := range c.Size() { // the others are in it, or about to be
				for r != k && !t.isThere(name(r)) {
					time.Sleep(time.Millisecond)
				}
			}
		}
		t.leave(name(c.Rank()))
		_, err := c.Agree(0)
		t.must(err)
		for r := range c.Size() {
			if !t.isThere(name(r)) {
				t.Errorf("Agree %d returns at rank %d before rank %d has called it", k, c.Rank(), r)
			}
		}
	}
}

func agreeNonblocking(t *T, c *mpi.Comm) {
	const many = 7
	flags := make([]int, many)
	rs := make([]*mpi.Request, many)
	for k := range rs {
		flags[k] = flagOf(c, k)
		rs[k] = c.Iagree(&flags[k])
	}
	t.must(mpi.Barrier(c))
	in := make([]int64, 1000)
	_, err := mpi.Sendrecv(c, ramp(1000, 3), right(c), 5, in, left(c), 5)
	t.must(err)
	for k := many - 1; k > 0; k-- { // in the order opposite to theirs
		_, err := rs[k].Wait()
		t.must(err)
		want(t, fmt.Sprint("flag ", k), flags[k], allFlags(c.Size(), k))
	}
	for done := false; !done; {
		_, done, err = rs[0].Test()
		t.must(err)
	}
	want(t, "flag 0", flags[0], allFlags(c.Size(), 0))
}

func agreeBeside(t *T, c *mpi.Comm) {
	const lanes = 4
	comms := make([]*mpi.Comm, lanes)
	for i := range comms {
		var err error
		comms[i], err = c.Dup(nil)
		t.must(err)
	}
	t.each(lanes, func(i int) {
		for k := range 10 {
			switch i % 2 {
			case 0:
				got, err := comms[i].Agree(flagOf(c, k))
				t.must(err)
				want(t, "the flag", got, allFlags(c.Size(), k))
			default:
				sum := []int{0}
				t.must(mpi.Allreduce(comms[i], []int{1}, sum, mpi.Sum))
				want(t, "the sum", sum[0], c.Size())
				flag := flagOf(c, k)
				_, err := comms[i].Iagree(&flag).Wait()
				t.must(err)
				want(t, "the flag", flag, allFlags(c.Size(), k))
			}
		}
	})
	for _, d := range comms {
		t.must(d.Free())
	}
}

func agreeInter(t *T, c *mpi.Comm) {
	inter := joinHalves(t, c)
	for k := range 4 {
		got, err := inter.Agree(flagOf(c, k))
		t.must(err)
		want(t, "the flag", got, allFlags(c.Size(), k))
	}
	crossAround(t, c, inter, 9)
}

func agreeMismatch(t *T, c *mpi.Comm) {
	d, err := c.Dup(nil)
	t.must(err)
	d.SetErrhandler(mpi.ErrorsReturn)
	if d.Rank() == 0 {
		made, err := d.Shrink()
		wantError(t, "Shrink where others agree", err, mpi.ErrNotSame)
		want(t, "a communicator is made", made != nil, false)
	} else {
		_, err := d.Agree(1)
		wantError(t, "Agree where another shrinks", err, mpi.ErrNotSame)
	}
	got, err := d.Agree(flagOf(c, 1))
	t.must(err)
	want(t, "the flag", got, allFlags(c.Size(), 1))
}

func agreeArguments(t *T, c *mpi.Comm) {
	_, err := c.Iagree(nil).Wait()
	wantError(t, "Iagree of nothing", err, mpi.ErrArg, "Iagree", "nil")
	d, err := c.Dup(nil)
	t.must(err)
	d.SetErrhandler(mpi.ErrorsReturn)
	t.must(d.Free())
	_, err = d.Agree(0)
	wantError(t, "Agree on what was freed", err, mpi.ErrComm, "Agree")
	_, err = d.Shrink()
	wantError(t, "Shrink of what was freed", err, mpi.ErrComm, "Shrink")
	_, err = d.Ishrink().Wait()
	wantError(t, "Ishrink of what was freed", err, mpi.ErrComm, "Ishrink")
	got, err := c.Agree(7) // a rank that failed in Iagree(nil) has not taken part
	t.must(err)
	want(t, "the flag", got, 7)
}

func agreeDeadline(t *T, c *mpi.Comm) {
	d, err := c.Dup(nil)
	t.must(err)
	d.SetErrhandler(mpi.ErrorsReturn)
	if d.Rank() != 0 {
		ctx, cancel := context.WithCancelCause(context.Background())
		flags := []int{flagOf(c, 0), 0}
		rs := []*mpi.Request{d.WithContext(ctx).Iagree(&flags[0]), d.WithContext(ctx).Iagree(&flags[1])}
		cancel(errEnough)
		for _, r := range rs {
			if _, err := r.Wait(); !errors.Is(err, errEnough) {
				t.Errorf("Iagree with a context that ended: %v, want its cause", err)
			}
		}
	}
	t.must(mpi.Barrier(c))
	if d.Rank() == 0 {
		got, err := d.Agree(flagOf(c, 0))
		t.must(err)
		want(t, "the flag that the others have given", got, allFlags(c.Size(), 0))
		got, err = d.Agree(-1)
		t.must(err)
		want(t, "the second one", got, 0)
	}
	got, err := d.Agree(flagOf(c, 2))
	t.must(err)
	want(t, "the flag after that", got, allFlags(c.Size(), 2))
}

func shrinkLikeDup(t *T, c *mpi.Comm) {
	d, err := c.Shrink()
	t.must(err)
	want(t, "the comparison", mustCompare(t, c, d), mpi.Congruent)
	// The new context is its own.
	r := mpi.Irecv(c, make([]int64, 10), left(c), 3)
	in := make([]int64, 10)
	_, err = mpi.Sendrecv(d, ramp(10, 1), right(c), 3, in, left(c), 3)
	t.must(err)
	wantSlice(t, "the message in the new one", in, ramp(10, 1))
	t.must(mpi.Send(c, ramp(10, 2), right(c), 3))
	_, err = r.Wait()
	t.must(err)
	t.must(d.Free())
}

func mustCompare(t *T, a, b *mpi.Comm) mpi.Comparison {
	cmp, err := a.Compare(b)
	t.must(err)
	return cmp
}

func shrinkWorks(t *T, c *mpi.Comm) {
	d, err := c.Shrink()
	t.must(err)
	for _, f := range someForms(t, d, d.Size()-1, false) {
		runForms(t, f, "after Shrink, "+f.name)
	}
	dup, err := d.Dup(nil)
	t.must(err)
	half, err := dup.Split(d.Rank()%2, -d.Rank())
	t.must(err)
	got, err := half.Agree(1)
	t.must(err)
	want(t, "the flag of a half", got, 1)
	again, err := dup.Shrink()
	t.must(err)
	pingAround(t, again, 4)
}

func shrinkNonblocking(t *T, c *mpi.Comm) {
	const many = 3
	var rs [many]*mpi.Creation
	for i := range rs {
		rs[i] = c.Ishrink()
	}
	flag := flagOf(c, 0)
	last := c.Iagree(&flag)
	var wg sync.WaitGroup
	t.must(mpi.Barrier(c))
	for i := range rs {
		wg.Go(func() {
			_, err := rs[i].Wait()
			if err != nil {
				t.Errorf("Ishrink %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	_, err := last.Wait()
	t.must(err)
	want(t, "the flag", flag, allFlags(c.Size(), 0))
	for _, r := range rs {
		pingAround(t, r.Comm(), 2)
	}
}

func shrinkInter(t *T, c *mpi.Comm) {
	inter := joinHalves(t, c)
	d, err := inter.Shrink()
	t.must(err)
	want(t, "it is an intercommunicator", d.IsInter(), true)
	want(t, "the comparison", mustCompare(t, inter, d), mpi.Congruent)
	crossAround(t, c, d, 6)
	sum := []int{0}
	t.must(mpi.Allreduce(d, []int{1}, sum, mpi.Sum))
	want(t, "the sum of the others", sum[0], d.RemoteSize())
	merged, err := d.Merge(c.Rank()%2 == 1)
	t.must(err)
	want(t, "the size of both", merged.Size(), c.Size())
}

func shrinkInherits(t *T, c *mpi.Comm) {
	d, err := c.CartCreate([]int{c.Size()}, []bool{true}, false)
	t.must(err)
	handled := 0
	d.SetErrhandler(func(_ *mpi.Comm, err *mpi.Error) error { handled++; return err })
	k := mpi.KeyvalCreate(mpi.CopyAttribute[string], nil)
	t.must(k.Set(d, "an attribute"))
	s, err := d.Shrink()
	t.must(err)
	want(t, "the topology", s.TopoTest(), mpi.Topology(mpi.Undefined))
	_, found := k.Get(s)
	want(t, "the attribute is there", found, false)
	if err := mpi.Send(s, []int{1}, s.Size(), 0); err == nil || handled != 1 {
		t.Errorf("an error is %v, and was handled %d times", err, handled)
	}
}
