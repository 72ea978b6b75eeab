package tests

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

var outstandingCases = []testCase{
	{name: "outstanding/waited in another order", section: "6.12",
		sentence: "Multiple nonblocking collective operations can be outstanding on a single communicator; all processes must call them in " +
			"the same order, and may complete them in any.",
		run: outstanding},
	{name: "outstanding/all kinds", section: "6.12",
		sentence: "Multiple nonblocking collective operations can be outstanding on a single communicator; each completes by itself, in any order.",
		run:      outstandingKinds},
	{name: "outstanding/beside messages", section: "6.12",
		sentence: "Nonblocking collective operations do not match with, nor hold up, point-to-point operations on the same communicator.",
		run:      collectivesBesideMessages},
	{name: "outstanding/not a barrier", section: "6.4",
		sentence: "A collective operation other than a barrier need not synchronise: a root may leave before the others have come.",
		min:      2, loose: true, run: notABarrier},
	{name: "outstanding/without calls", section: "FitMPI",
		sentence: "The worker advances collectives, arithmetic included, while the ranks compute.",
		min:      2, run: collectiveWithoutCalls},
}

func outstanding(t *T, c *mpi.Comm) {
	const n = 24
	p, me := c.Size(), c.Rank()
	outs := make([][]int64, n)
	words := make([][]string, n)
	rs := make([]*mpi.Request, n)
	in := func(k, r int) []int64 {
		b := make([]int64, mixed(k))
		for i := range b {
			b[i] = int64(r*k + i)
		}
		return b
	}
	for k := range n {
		outs[k] = make([]int64, mixed(k)*p)
		switch k % 4 {
		case 0:
			rs[k] = mpi.Iallreduce(c, in(k, me), outs[k], mpi.Sum)
		case 1:
			rs[k] = mpi.Iallgather(c, in(k, me), outs[k])
		case 2:
			copy(outs[k], in(k, me))
			rs[k] = mpi.Ibcast(c, outs[k][:mixed(k)], k%p)
		case 3:
			words[k] = make([]string, 1)
			rs[k] = mpi.Iallreduce(c, []string{fmt.Sprint(me, k, ";")}, words[k], mpi.Sum)
		}
	}
	for i := range n {
		k := (i*7 + me*5) % n // another order on each rank
		_, err := rs[k].Wait()
		t.must(err, "collective", k)
	}
	for k := range n {
		m := mixed(k)
		switch k % 4 {
		case 0:
			for i, v := range outs[k][:m] {
				if w := int64(p*(p-1)/2*k + p*i); v != w {
					t.Fatalf("collective %d: element %d is %d, want %d", k, i, v, w)
				}
			}
		case 1:
			for r := range p {
				wantSlice(t, "Iallgather", outs[k][r*m:(r+1)*m], in(k, r))
			}
		case 2:
			wantSlice(t, "Ibcast", outs[k][:m], in(k, k%p))
		case 3:
			want(t, "strings", words[k][0], eachRank(p, func(r int) string { return fmt.Sprint(r, k, ";") }))
		}
	}
}

// outstandingKinds keeps every collective of plain memory and of objects pending at once, in place
// and not, and completes them in an order of each rank's own.
func outstandingKinds(t *T, c *mpi.Comm) {
	var fs []form
	for root := range min(c.Size(), 2) {
		for _, name := range []string{"matrix", "string"} {
			for _, n := range []int{2, 2000} {
				if name == "string" {
					n = min(n, 4)
				}
				fs = append(fs, elementKinds[name].(formed).forms(t, c, n, root, (n+root)%2 == 0)...)
			}
		}
	}
	rs := make([]*mpi.Request, len(fs))
	for i, f := range fs {
		f.set(i)
		rs[i] = f.start()
	}
	for i := range fs {
		at := (i + c.Rank()*len(fs)/c.Size()) % len(fs)
		_, err := rs[at].Wait()
		t.must(err, "I"+fs[at].name)
	}
	for i, f := range fs {
		f.check("outstanding I"+f.name, i)
	}
}

func collectivesBesideMessages(t *T, c *mpi.Comm) {
	out := make([]int64, 5000)
	in := make([]int64, 5000)
	got := mpi.Irecv(c, in, mpi.AnySource, mpi.AnyTag) // must not catch parts of the collective
	r := mpi.Iallreduce(c, ramp(5000, 0), out, mpi.Max)
	b := mpi.Ibarrier(c)
	_, err := mpi.WaitAll(r, b)
	t.must(err)
	wantSlice(t, "Iallreduce", out, ramp(5000, 0))
	if _, done, _ := got.Test(); done {
		t.Fatalf("a receive on the communicator got a message of a collective")
	}
	t.must(mpi.Barrier(c))
	s := mpi.Isend(c, ramp(5000, 1), right(c), 1)
	_, err = mpi.WaitAll(s, got)
	t.must(err)
	wantSlice(t, "message", in, ramp(5000, 1))
}

// notABarrier: the root of a small Bcast returns though no other rank has come (unless messages
// move only in calls).
func notABarrier(t *T, c *mpi.Comm) {
	b := ramp(10, 1)
	if c.Rank() == 0 {
		t.must(mpi.Bcast(c, b, 0))
		for r := 1; r < c.Size(); r++ {
			tell(t, c, r)
		}
		return
	}
	hear(t, c, 0)
	clear(b)
	t.must(mpi.Bcast(c, b, 0))
	wantSlice(t, "Bcast", b, ramp(10, 1))
}

// collectiveWithoutCalls: rank 0 starts an Iallreduce and computes until the others have the
// result.
func collectiveWithoutCalls(t *T, c *mpi.Comm) {
	if t.Policy == "caller" {
		return
	}
	const n = 50000
	in, out := ramp(n, 0), make([]int64, n)
	r := mpi.Iallreduce(c, in, out, mpi.Max)
	if c.Rank() == 0 {
		for k := 1; k < c.Size(); k++ {
			computeUntil(t, fmt.Sprint("got", k))
		}
	}
	_, err := r.Wait()
	t.must(err)
	wantSlice(t, "result", out, in)
	if c.Rank() > 0 {
		t.leave(fmt.Sprint("got", c.Rank()))
	}
}

var collErrorCases = []testCase{
	{name: "collective error/lengths differ", section: "6.1",
		sentence: "The amount of data sent must exactly match the amount of data specified by the receiver; what does not is an error, never a hang.",
		min:      2, max: 3, world: true, run: lengthsDiffer},
	{name: "collective error/operation panics", section: "FitMPI",
		sentence: "A reduction that panics is an error of the operation, not the end of the program.",
		min:      2, world: true, run: opPanics},
	{name: "collective error/decoding fails", section: "FitMPI",
		sentence: "An object that cannot be decoded is an error of the operation.",
		min:      2, run: decodeFails},
	{name: "collective error/cancel", section: "6.12",
		sentence: "It is erroneous to call MPI_CANCEL or MPI_REQUEST_FREE for a request associated with a nonblocking collective " +
			"operation; here it is refused and the operation goes on.",
		run: cancelCollective},
}

// doomed runs f, which must fail on at least one rank, on a communicator of its own, which it
// spoils.
func doomed(t *T, c *mpi.Comm, what string, class mpi.ErrorClass, f func(c *mpi.Comm) error) {
	d, err := c.Dup(nil)
	t.must(err)
	ctx, cancel := context.WithTimeoutCause(context.Background(), failsafe, errEnough)
	var watch sync.WaitGroup
	watch.Go(func() { t.release(ctx, cancel, what) })
	err = f(d.WithContext(ctx))
	failed := []int{0}
	switch {
	case errors.Is(err, class) && !isRelease(err):
		failed[0] = 1
		t.leave(fileOf(what))
	case err != nil && !isRelease(err):
		t.Errorf("%s: error %v, want one of class %v", what, err, class)
	}
	cancel()
	watch.Wait()
	sum := []int{0}
	t.must(mpi.Allreduce(c, failed, sum, mpi.Sum))
	if sum[0] == 0 {
		t.Errorf("%s: no rank reports an error of class %v", what, class)
	}
}

// release ends what waits here for a rank that has failed, once one has.
func (t *T) release(ctx context.Context, cancel func(), what string) {
	for ctx.Err() == nil && !t.isThere(fileOf(what)) {
		time.Sleep(2 * time.Millisecond)
	}
	select {
	case <-time.After(20 * time.Millisecond): // this rank may fail too
		cancel()
	case <-ctx.Done():
	}
}

func fileOf(what string) string { return strings.ReplaceAll(what, " ", "-") }

// isRelease tells the end of the context from errors of the operation.
func isRelease(err error) bool { return errors.Is(err, context.Canceled) || errors.Is(err, errEnough) }

// isTold tells the error of a rank that has heard from another of an error there from its own.
func isTold(err error) bool { return strings.Contains(err.Error(), "has found an error in its part") }

func lengthsDiffer(t *T, c *mpi.Comm) {
	last := c.Rank() == c.Size()-1
	for _, n := range []int{1, 100, 20000, 40000} {
		m := n
		if last {
			m = n + 1
		}
		in, out := make([]int64, m*c.Size()), make([]int64, m*c.Size())
		doomed(t, c, fmt.Sprint("Bcast, longer at a leaf ", n), mpi.ErrTruncate, func(c *mpi.Comm) error { return mpi.Bcast(c, in[:m], 0) })
		doomed(t, c, fmt.Sprint("Bcast, longer at the root ", n), mpi.ErrTruncate, func(c *mpi.Comm) error { return mpi.Bcast(c, in[:m], c.Size()-1) })
		doomed(t, c, fmt.Sprint("Allreduce ", n), mpi.ErrTruncate, func(c *mpi.Comm) error { return mpi.Allreduce(c, in[:m], out[:m], mpi.Sum) })
		doomed(t, c, fmt.Sprint("Allgather ", n), mpi.ErrTruncate, func(c *mpi.Comm) error { return mpi.Allgather(c, in[:m], out) })
		doomed(t, c, fmt.Sprint("Alltoall ", n), mpi.ErrTruncate, func(c *mpi.Comm) error { return mpi.Alltoall(c, in, out) })
	}
	words := make([]string, 2)
	if last {
		words = words[:1]
	}
	doomed(t, c, "Bcast of objects", mpi.ErrTruncate, func(c *mpi.Comm) error { return mpi.Bcast(c, words, 0) })
	doomed(t, c, "Allreduce of objects", mpi.ErrCount, func(c *mpi.Comm) error { return mpi.Allreduce(c, words, make([]string, 2), mpi.Sum) })
}

func opPanics(t *T, c *mpi.Comm) {
	boom := func(acc, in []int64) { panic("boom") }
	out := make([]int64, 1000)
	doomed(t, c, "Allreduce", mpi.ErrOther, func(c *mpi.Comm) error {
		err := mpi.Allreduce(c, ramp(1000, 1), out, boom)
		if errors.Is(err, mpi.ErrOther) && !isRelease(err) && !isTold(err) {
			wantError(t, "Allreduce", err, mpi.ErrOther, "boom")
		}
		return err
	})
	doomed(t, c, "Reduce", mpi.ErrOther, func(c *mpi.Comm) error { return mpi.Reduce(c, ramp(1000, 1), out, boom, 0) })
	doomed(t, c, "Allreduce of objects", mpi.ErrOther, func(c *mpi.Comm) error {
		return mpi.Allreduce(c, []string{"a"}, []string{""}, func(acc, in []string) { panic("boom") })
	})
}

// spiteful cannot be read back.
type spiteful struct{ Name string }

func (s spiteful) MarshalBinary() ([]byte, error) { return []byte(s.Name), nil }
func (s *spiteful) UnmarshalBinary(data []byte) error {
	return errors.New("unreadable: " + string(data))
}

func decodeFails(t *T, c *mpi.Comm) {
	doomed(t, c, "Bcast", mpi.ErrType, func(c *mpi.Comm) error {
		err := mpi.Bcast(c, []spiteful{{"x"}}, 0)
		if err != nil && !isRelease(err) {
			wantError(t, "Bcast", err, mpi.ErrType, "unreadable: x")
		}
		return err
	})
}

func cancelCollective(t *T, c *mpi.Comm) {
	out := make([]int64, 9000)
	r := mpi.Iallreduce(c, ramp(9000, 1), out, mpi.Max)
	if err := r.Cancel(); err != nil {
		wantError(t, "Cancel", err, mpi.ErrRequest)
	}
	st, err := r.Wait()
	t.must(err)
	want(t, "cancelled", st.Cancelled, false)
	wantSlice(t, "result", out, ramp(9000, 1))
}
