package tests

import (
	"fmt"

	"github.com/fitmpi/fitmpi/mpi"
)

var collectiveFormCases = []testCase{
	{name: "collective form/blocking", section: "6.1",
		sentence: "Every collective gives what a naive computation from all operands gives, and its nonblocking form gives the same.",
		run:      func(t *T, c *mpi.Comm) { formsOf(t, c, false) }},
	{name: "collective form/in place", section: "6.2.1",
		sentence: "The in place option: the output buffer is the input buffer too; here in and out are the same slice.",
		run:      func(t *T, c *mpi.Comm) { formsOf(t, c, true) }},
	{name: "collective form/between groups", section: "6.2.3", min: 2,
		sentence: "If comm is an intercommunicator, data goes from one group to the other: from or to the root, which gives MPI_ROOT while " +
			"the others of its group give MPI_PROC_NULL; in the others each group gets what the other one gives.",
		run: interCollectives},
	{name: "collective form/between groups, persistent", section: "6.13", min: 2,
		sentence: "Persistent collectives are defined for intercommunicators as the blocking ones are.",
		run:      interPersistent},
	{name: "collective form/between groups, outstanding", section: "6.12", min: 2,
		sentence: "Nonblocking collectives over an intercommunicator can be outstanding together, beside collectives of other communicators.",
		run:      interOutstanding},
	{name: "collective form/between groups, arguments", section: "6.2.3", min: 2,
		sentence: "The root argument is MPI_ROOT, MPI_PROC_NULL or a rank of the other group; scans are not defined for intercommunicators.",
		run:      interCollectiveErrors},
	{name: "collective form/reduce-scatter arguments", section: "6.10",
		sentence: "The counts say how the result is dealt out, and must fit the buffers.",
		run:      reduceScatterArguments},
}

func formsOf(t *T, c *mpi.Comm, inPlace bool) {
	for _, f := range someForms(t, c, c.Size()/2, inPlace) {
		f.set(0)
		t.must(f.block(), f.name)
		f.check(f.name, 0)
		f.set(1)
		_, err := f.start().Wait()
		t.must(err, "I"+f.name)
		f.check("I"+f.name, 1)
	}
}

func reduceScatterArguments(t *T, c *mpi.Comm) {
	p := c.Size()
	in, out, counts := make([]int64, 2*p), make([]int64, 2), make([]int, p)
	for r := range counts {
		counts[r] = 2
	}
	wantError(t, "too few counts", mpi.ReduceScatter(c, in, out, counts[1:], mpi.Sum), mpi.ErrCount, "ReduceScatter", fmt.Sprint(p-1, " counts"))
	wantError(t, "short in", mpi.ReduceScatter(c, in[1:], out, counts, mpi.Sum), mpi.ErrCount, "in holds")
	wantError(t, "short out", mpi.ReduceScatter(c, in, out[1:], counts, mpi.Sum), mpi.ErrCount, "out holds 1 elements, need 2")
	wantError(t, "no operation", mpi.ReduceScatterBlock(c, in, out, nil), mpi.ErrOp, "ReduceScatterBlock")
	counts[0] = -1
	wantError(t, "a negative count", mpi.ReduceScatter(c, in, out, counts, mpi.Sum), mpi.ErrCount)
	if p > 1 {
		wantError(t, "uneven blocks", mpi.ReduceScatterBlock(c, in[1:], out, mpi.Sum), mpi.ErrCount, "multiple of")
	}
	_, err := mpi.IreduceScatter(c, in, out, nil, mpi.Sum).Wait()
	wantError(t, "nil counts", err, mpi.ErrCount, "IreduceScatter")
}
