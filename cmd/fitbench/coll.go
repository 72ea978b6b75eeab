//go:build linux

package main

import (
	"cmp"
	"os"
	"strings"

	"github.com/fitmpi/fitmpi/internal/bench"
	"github.com/fitmpi/fitmpi/mpi"
)

// collective is one case of test coll.
type collective struct {
	name string
	// prepare makes this rank's buffers for blocks of size bytes, and returns the call.
	prepare func(e *env, size int) func() error
}

// collectiveCases are all blocking collectives. The root is rank 0; sums are of float64s; the forms
// with counts (gatherv and so on) get equal ones, so that they compare with those without.
func collectiveCases() []collective {
	return []collective{
		{"barrier", prepareBarrier},
		{"bcast", prepareBcast},
		{"reduce", prepareReduce},
		{"allreduce", prepareSum(mpi.Allreduce[float64])},
		{"reduce-scatter", prepareReduceScatter},
		{"reduce-scatter-block", prepareReduceScatterBlock},
		{"scan", prepareSum(mpi.Scan[float64])},
		{"exscan", prepareSum(mpi.Exscan[float64])},
		{"gather", prepareGather},
		{"gatherv", prepareGatherv},
		{"scatter", prepareScatter},
		{"scatterv", prepareScatterv},
		{"allgather", prepareAllgather},
		{"allgatherv", prepareAllgatherv},
		{"alltoall", prepareAlltoall},
		{"alltoallv", prepareAlltoallv},
	}
}

// blockingCollectives measures each blocking collective: each repetition after a Barrier, then many
// in a row. A rank that a Barrier lets go early waits for those that it lets go late, more so
// where ranks share cores; a program that calls one collective after the other pays for a row.
func blockingCollectives(e *env) error {
	if err := e.checkWords(); err != nil {
		return err
	}
	chosen, err := choose(e, collectiveCases(), func(c collective) string { return c.name })
	if err != nil {
		return err
	}
	for _, c := range chosen {
		c.name += forcedAlgorithm(c.name)
		sizes := e.sizes()
		if strings.HasPrefix(c.name, "barrier") {
			sizes = []int{0}
		}
		for _, size := range sizes {
			call, n := c.prepare(e, size), e.ofCollective(size)
			took, err := e.timeCollective(c.name, size, n, call)
			if err != nil {
				return err
			}
			if err := e.timeRow(c.name, size, took, n, call); err != nil {
				return err
			}
		}
	}
	return nil
}

// forcedAlgorithm is what to add to the name of a case to show the algorithm that
// FITMPI_COLL, which the library has checked, forces for it.
func forcedAlgorithm(name string) string {
	if name == "reduce-scatter-block" || name == "allgatherv" { // share the algorithms of another, unlike the other v forms
		name = strings.TrimSuffix(strings.TrimSuffix(name, "-block"), "v")
	}
	for pair := range strings.SplitSeq(os.Getenv("FITMPI_COLL"), ",") {
		if kind, alg, _ := strings.Cut(pair, "="); kind == name && alg != "auto" {
			return " by " + alg
		}
	}
	return ""
}

// ofCollective is how often a collective with size bytes is repeated.
func (e *env) ofCollective(size int) int {
	return cmp.Or(e.opt.iterations, max(e.iterations(size)/5, 5))
}

// timeCollective measures n repetitions of one collective, each after a Barrier, and reports the
// slowest rank's. took is the median of this rank's, in microseconds.
func (e *env) timeCollective(name string, size, n int, call func() error) (took float64, err error) {
	warmup := e.warmupBefore(n)
	own := make([]float64, 0, n)
	for i := range warmup + n {
		if err := mpi.Barrier(e.world); err != nil {
			return 0, err
		}
		start := now()
		if err := call(); err != nil {
			return 0, err
		}
		if i >= warmup {
			own = append(own, micros(start))
		}
	}
	xs, err := e.slowest(own)
	if err != nil {
		return 0, err
	}
	e.report(name, size, "time", "us", xs)
	return bench.Summarise(own, false).Median, nil
}

// A row lasts about rowMicros, but has perRow repetitions at most for each that is timed alone:
// short ones are over in a part of a time slice, and long ones take as long anyway.
const (
	rowMicros = 200e3
	perRow    = 10
)

// timeRow measures repetitions of one collective in a row, and reports what one took on the average
// at the rank where all took longest. took is how long one takes at rank 0, in microseconds.
func (e *env) timeRow(name string, size int, took float64, n int, call func() error) error {
	count := []int{min(max(int(rowMicros/max(took, 1)), 2), perRow*n)}
	if err := mpi.Bcast(e.world, count, 0); err != nil {
		return err
	}
	if err := mpi.Barrier(e.world); err != nil {
		return err
	}
	start := now()
	for range count[0] {
		if err := call(); err != nil {
			return err
		}
	}
	xs, err := e.slowest([]float64{micros(start) / float64(count[0])})
	if err != nil {
		return err
	}
	e.report(name, size, "in-a-row", "us", xs)
	return nil
}

// atRoot is a buffer at rank 0, nil elsewhere.
func (e *env) atRoot(n int) []byte {
	if e.rank != 0 {
		return nil
	}
	return buffer(n)
}

// blocks are counts and displacements of one block of size bytes for each rank.
func (e *env) blocks(size int) (counts, displs []int) {
	for r := range e.ranks {
		counts, displs = append(counts, size), append(displs, r*size)
	}
	return counts, displs
}

func prepareBarrier(e *env, _ int) func() error {
	return func() error { return mpi.Barrier(e.world) }
}

func prepareBcast(e *env, size int) func() error {
	buf := buffer(size)
	return func() error { return mpi.Bcast(e.world, buf, 0) }
}

func prepareReduce(e *env, size int) func() error {
	in, out := words(size/8), words(size/8)
	return func() error { return mpi.Reduce(e.world, in, out, mpi.Sum[float64], 0) }
}

// prepareSum prepares a reduction whose every rank gets a result.
func prepareSum(sum func(*mpi.Comm, []float64, []float64, mpi.Op[float64]) error) func(*env, int) func() error {
	return func(e *env, size int) func() error {
		in, out := words(size/8), words(size/8)
		return func() error { return sum(e.world, in, out, mpi.Sum[float64]) }
	}
}

// prepareReduceScatter deals out blocks of size bytes.
func prepareReduceScatter(e *env, size int) func() error {
	in, out := words(size/8*e.ranks), words(size/8)
	counts, _ := e.blocks(size / 8)
	return func() error { return mpi.ReduceScatter(e.world, in, out, counts, mpi.Sum[float64]) }
}

func prepareReduceScatterBlock(e *env, size int) func() error {
	in, out := words(size/8*e.ranks), words(size/8)
	return func() error { return mpi.ReduceScatterBlock(e.world, in, out, mpi.Sum[float64]) }
}

func prepareGather(e *env, size int) func() error {
	in, out := buffer(size), e.atRoot(size*e.ranks)
	return func() error { return mpi.Gather(e.world, in, out, 0) }
}

func prepareGatherv(e *env, size int) func() error {
	in, out := buffer(size), e.atRoot(size*e.ranks)
	counts, displs := e.blocks(size)
	return func() error { return mpi.Gatherv(e.world, in, out, counts, displs, 0) }
}

func prepareScatter(e *env, size int) func() error {
	in, out := e.atRoot(size*e.ranks), buffer(size)
	return func() error { return mpi.Scatter(e.world, in, out, 0) }
}

func prepareScatterv(e *env, size int) func() error {
	in, out := e.atRoot(size*e.ranks), buffer(size)
	counts, displs := e.blocks(size)
	return func() error { return mpi.Scatterv(e.world, in, counts, displs, out, 0) }
}

func prepareAllgather(e *env, size int) func() error {
	in, out := buffer(size), buffer(size*e.ranks)
	return func() error { return mpi.Allgather(e.world, in, out) }
}

func prepareAllgatherv(e *env, size int) func() error {
	in, out := buffer(size), buffer(size*e.ranks)
	counts, displs := e.blocks(size)
	return func() error { return mpi.Allgatherv(e.world, in, out, counts, displs) }
}

func prepareAlltoall(e *env, size int) func() error {
	in, out := buffer(size*e.ranks), buffer(size*e.ranks)
	return func() error { return mpi.Alltoall(e.world, in, out) }
}

func prepareAlltoallv(e *env, size int) func() error {
	in, out := buffer(size*e.ranks), buffer(size*e.ranks)
	counts, displs := e.blocks(size)
	return func() error { return mpi.Alltoallv(e.world, in, counts, displs, out, counts, displs) }
}
