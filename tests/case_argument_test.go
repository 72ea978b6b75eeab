package tests

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fitmpi/fitmpi/mpi"
)

var argumentCases = []testCase{
	{name: "arguments/rank", section: "9.4", sentence: "MPI_ERR_RANK: Invalid rank argument.", run: badRank},
	{name: "arguments/tag", section: "9.4", sentence: "MPI_ERR_TAG: Invalid tag argument.", run: badTag},
	{name: "arguments/root", section: "9.4", sentence: "MPI_ERR_ROOT: Invalid root argument.", run: badRoot},
	{name: "arguments/count", section: "9.4", sentence: "MPI_ERR_COUNT: Invalid count argument.", run: badCount},
	{name: "arguments/operation", section: "9.4", sentence: "MPI_ERR_OP: Invalid operation argument.", run: badOp},
	{name: "arguments/communicator", section: "9.4", sentence: "MPI_ERR_COMM: Invalid communicator argument.", run: badComm},
	{name: "arguments/place", section: "FitMPI",
		sentence: "An error names the operation, the ranks, the host and the communicator.",
		run:      errorPlace},
	{name: "arguments/overlap", section: "6.2.2", min: 2,
		sentence: "Slices that share memory in part are an error, not wrong data; the same slice, or a rank's block of it, is in place.",
		run:      overlapping},
	{name: "arguments/handler", section: "9.3",
		sentence: "A user can associate an error handler with a communicator; it is called with the error of an operation on it.",
		run:      errorHandler},
}

// cause is what the library says is wrong.
func cause(err error) string {
	e, ok := errors.AsType[*mpi.Error](err)
	if !ok {
		return fmt.Sprintf("no *mpi.Error: %v", err)
	}
	return e.Cause.Error()
}

func badRank(t *T, c *mpi.Comm) {
	last := c.Size() - 1
	b := []int{1}
	for _, dest := range []int{c.Size(), -1, -2, -7} {
		text := fmt.Sprintf("destination %d: need 0 to %d, or ProcNull", dest, last)
		for _, err := range []error{
			mpi.Send(c, b, dest, 0), mpi.Ssend(c, b, dest, 0), mpi.Bsend(c, b, dest, 0), mpi.Rsend(c, b, dest, 0),
			mpi.SendValue(c, 1, dest, 0), second(mpi.Isend(c, b, dest, 0).Wait()),
			second(mpi.Sendrecv(c, b, dest, 0, b, 0, 0)), second(mpi.SendInit(c, b, dest, 0).Wait()),
		} {
			wantError(t, "a send", err, mpi.ErrRank)
			want(t, "the cause", cause(err), text)
		}
	}
	for _, source := range []int{c.Size(), -2, -7} {
		text := fmt.Sprintf("source %d: need 0 to %d, AnySource or ProcNull", source, last)
		_, _, enew := mpi.RecvNew[int](c, source, 0)
		_, _, eval := mpi.RecvValue[int](c, source, 0)
		_, _, eip := mpi.Iprobe(c, source, 0)
		_, _, emp := mpi.Mprobe(c, source, 0)
		_, _, eimp := mpi.Improbe(c, source, 0)
		for _, err := range []error{
			second(mpi.Recv(c, b, source, 0)), second(mpi.Irecv(c, b, source, 0).Wait()), second(mpi.Probe(c, source, 0)),
			second(mpi.RecvInit(c, b, source, 0).Wait()), second(mpi.IrecvNew[int](c, source, 0).Wait()),
			second(mpi.Sendrecv(c, b, 0, 0, b, source, 0)), enew, eval, eip, emp, eimp,
		} {
			wantError(t, "a receive", err, mpi.ErrRank)
			want(t, "the cause", cause(err), text)
		}
	}
}

func overlapping(t *T, c *mpi.Comm) {
	n := c.Size()
	b := make([]int, 2*n)
	for name, err := range map[string]error{
		"Allreduce":          mpi.Allreduce(c, b[:n], b[1:n+1], mpi.Sum),
		"Scan":               mpi.Scan(c, b[1:n+1], b[:n], mpi.Sum),
		"ReduceScatterBlock": mpi.ReduceScatterBlock(c, b[:n], b[1:2], mpi.Sum),
		"Alltoall":           mpi.Alltoall(c, b[:n], b[1:n+1]),
		"Allgather":          mpi.Allgather(c, b[(c.Rank()+1)%n:][:1], b[:n]),
	} {
		wantError(t, name, err, mpi.ErrBuffer)
	}
	for i := range b {
		b[i] = 1
	}
	b[c.Rank()] = 1 + c.Rank()
	t.must(mpi.Allgather(c, b[c.Rank():][:1], b[:n]), "Allgather in place")
	want(t, "the last block", b[n-1], n)
	t.must(mpi.Allreduce(c, b[:n], b[n:], mpi.Max), "Allreduce of neighbouring slices")
	want(t, "the last element", b[2*n-1], n)
}

func second[V any](_ V, err error) error { return err }

func badTag(t *T, c *mpi.Comm) {
	b := []int{1}
	for _, tag := range []int{-1, mpi.AnyTag, mpi.TagUB + 1} {
		err := mpi.Send(c, b, 0, tag)
		wantError(t, "Send", err, mpi.ErrTag)
		want(t, "the cause", cause(err), fmt.Sprintf("tag %d: need 0 to %d", tag, mpi.TagUB))
	}
	for _, tag := range []int{-1, -3, mpi.TagUB + 1} {
		_, err := mpi.Recv(c, b, 0, tag)
		wantError(t, "Recv", err, mpi.ErrTag)
		want(t, "the cause", cause(err), fmt.Sprintf("tag %d: need 0 to %d, or AnyTag", tag, mpi.TagUB))
	}
}

func badRoot(t *T, c *mpi.Comm) {
	b := make([]int, c.Size())
	for _, root := range []int{-1, c.Size(), mpi.Root} {
		for _, err := range []error{
			mpi.Bcast(c, b, root), mpi.Reduce(c, b, b, mpi.Sum, root), mpi.Gather(c, b[:1], b, root), mpi.Scatter(c, b, b[:1], root),
			second(mpi.Ibcast(c, b, root).Wait()), mpi.Gatherv(c, b, b, nil, nil, root), mpi.Scatterv(c, b, nil, nil, b, root),
		} {
			wantError(t, "a collective", err, mpi.ErrRoot)
			want(t, "the cause", cause(err), fmt.Sprintf("root %d: need 0 to %d", root, c.Size()-1))
		}
	}
}

// badCount: every rank gives the same wrong counts, so that no rank waits for another.
func badCount(t *T, c *mpi.Comm) {
	n := c.Size()
	two, all := make([]int, 2), make([]int, 2*n)
	short := all[:2*n-1]
	counts := make([]int, n)
	for i := range counts {
		counts[i] = 2
	}
	wantError(t, "Allgather", mpi.Allgather(c, two, short), mpi.ErrCount, fmt.Sprintf("out holds %d elements, need %d", 2*n-1, 2*n))
	wantError(t, "Allreduce", mpi.Allreduce(c, two, two[:1], mpi.Sum), mpi.ErrCount, "out holds 1 elements, need 2")
	wantError(t, "Alltoall", mpi.Alltoall(c, all, short), mpi.ErrCount, "out holds")
	if n > 1 {
		wantError(t, "Alltoall", mpi.Alltoall(c, short, all), mpi.ErrCount, "multiple of")
	}
	wantError(t, "Scan", mpi.Scan(c, two, nil, mpi.Sum), mpi.ErrCount)
	wantError(t, "Allgatherv", mpi.Allgatherv(c, two, all, counts[1:], nil), mpi.ErrCount, fmt.Sprintf("%d counts for %d ranks", n-1, n))
	wantError(t, "Allgatherv", mpi.Allgatherv(c, two, all, counts, counts[1:]), mpi.ErrArg, "displacements")
	wantError(t, "Allgatherv", mpi.Allgatherv(c, two, short, counts, nil), mpi.ErrCount, "the block of rank")
	wantError(t, "Allgatherv", mpi.Allgatherv(c, two[:1], all, counts, nil), mpi.ErrCount, "the counts say 2")
	wantError(t, "Alltoallv", mpi.Alltoallv(c, short, counts, nil, all, counts, nil), mpi.ErrCount, "the block of rank")
	negative := append([]int(nil), counts...)
	negative[0] = -1
	wantError(t, "Alltoallv", mpi.Alltoallv(c, all, negative, nil, all, counts, nil), mpi.ErrCount)
	t.must(mpi.Barrier(c), "the communicator works afterwards")
}

func badOp(t *T, c *mpi.Comm) {
	b := []int{1}
	wantError(t, "Allreduce", mpi.Allreduce(c, b, b, nil), mpi.ErrOp, "the operation is nil", "mpi.Sum")
	wantError(t, "Reduce", mpi.Reduce(c, b, b, nil, 0), mpi.ErrOp)
}

func badComm(t *T, c *mpi.Comm) {
	d, err := c.Dup(nil)
	t.must(err)
	t.must(d.Free())
	b := []int{1}
	for _, x := range []struct {
		c    *mpi.Comm
		text string
	}{
		{nil, "the communicator is nil: take the one that Main, Init or RunThreads gives"},
		{d, "the communicator was freed"},
	} {
		_, _, eip := mpi.Iprobe(x.c, 0, 0)
		_, edup := x.c.Dup(nil)
		_, esplit := x.c.Split(0, 0)
		_, edetach := x.c.DetachJobBuffer()
		for _, err := range []error{
			mpi.Send(x.c, b, 0, 0), second(mpi.Recv(x.c, b, 0, 0)), second(mpi.Isend(x.c, b, 0, 0).Wait()),
			second(mpi.Probe(x.c, 0, 0)), eip, mpi.Barrier(x.c), mpi.Bcast(x.c, b, 0), mpi.Allreduce(x.c, b, b, mpi.Sum),
			edup, esplit, x.c.Free(), x.c.AttachJobBuffer(nil), x.c.FlushJobBuffer(), edetach,
			second(x.c.GrequestStart(mpi.GeneralCallbacks{}).Wait()), second(mpi.SendInit(x.c, b, 0, 0).Wait()),
			mpi.Gather(x.c, b, b, 0), mpi.Scatter(x.c, b, b, 0), mpi.Allgather(x.c, b, b), mpi.Alltoall(x.c, b, b),
			second(mpi.Sendrecv(x.c, b, 0, 0, b, 0, 0)), second(mpi.RecvInit(x.c, b, 0, 0).Wait()),
		} {
			wantError(t, "an operation", err, mpi.ErrComm)
			want(t, "the cause", cause(err), x.text)
		}
	}
}

func errorPlace(t *T, c *mpi.Comm) {
	s := mpi.Isend(c, ramp(5, 1), right(c), 1)
	_, err := mpi.Recv(c, make([]int64, 2), left(c), 1)
	e, ok := errors.AsType[*mpi.Error](err)
	if !ok {
		t.Fatalf("%v is no *mpi.Error", err)
	}
	want(t, "Op", e.Op, "Recv")
	want(t, "Rank", e.Rank, c.Rank())
	want(t, "Peer", e.Peer, left(c))
	want(t, "Comm", e.Comm, c.Name())
	want(t, "Host", e.Host, c.ProcessorName())
	place := fmt.Sprintf("Recv on rank %d (%s) from rank %d of %q", c.Rank(), e.Host, left(c), c.Name())
	if !strings.Contains(err.Error(), place) {
		t.Errorf("error %q does not say %q", err, place)
	}
	_, err = s.Wait()
	t.must(err)
}

func errorHandler(t *T, c *mpi.Comm) {
	d, err := c.Dup(nil)
	t.must(err)
	own := errors.New("mine")
	calls := 0
	d.SetErrhandler(func(at *mpi.Comm, err *mpi.Error) error {
		calls++
		want(t, "the name begins", strings.HasPrefix(at.Name(), d.Name()), true)
		return fmt.Errorf("%w: %w", own, err)
	})
	err = mpi.Send(d, []int{1}, d.Size(), 0)
	want(t, "the handler's error is returned", errors.Is(err, own), true)
	wantError(t, "with the library's", err, mpi.ErrRank)
	r := mpi.Isend(d, []int{1}, d.Size(), 0)
	_, err = r.Wait()
	want(t, "the handler's error is returned", errors.Is(err, own), true)
	_, err = r.Wait()
	want(t, "and again", errors.Is(err, own), true)
	want(t, "calls", calls, 2)
	e, err := d.Dup(nil) // inherits
	t.must(err)
	want(t, "inherited", errors.Is(mpi.Send(e, []int{1}, e.Size(), 0), own), true)
	want(t, "calls", calls, 3)
	wantError(t, "the parent's handler", mpi.Send(c, []int{1}, c.Size(), 0), mpi.ErrRank)
	want(t, "calls", calls, 3)
}
