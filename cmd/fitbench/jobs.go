//go:build linux

package main

import (
	"fmt"

	"github.com/fitmpi/fitmpi/mpi"
)

// jobTests are the tests of whole jobs, and of what the interface costs.
func jobTests() []test {
	return []test{
		{"coll", "each blocking collective, the slowest rank's time", 1, collSizes, blockingCollectives},
		{"scale", "a ring of all ranks; what a rank occupies and how long it takes to start", 2, []int{8}, scale},
		{"penalty", "what typed messages and objects cost beside bytes given to the engine", 2, penaltySizes, penalty},
		{"logp", "the parameters of the extended LogP model", 2, logpSizes, logp},
	}
}

// Sizes of the tests above, in bytes.
var (
	collSizes    = []int{8, 1 << 10, 16 << 10, 64 << 10, 1 << 20}
	penaltySizes = []int{8, 1 << 10, 64 << 10, 1 << 20}
	logpSizes    = []int{8, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20}
)

// checkWords says that a size is no whole number of words of 8 bytes, such as a float64.
func (e *env) checkWords() error {
	for _, size := range e.sizes() {
		if size%8 != 0 {
			return fmt.Errorf("test %s: size %d: give multiples of 8, the size of a float64", e.test, size)
		}
	}
	return nil
}

// warmupBefore is how many repetitions come before n measured ones.
func (e *env) warmupBefore(n int) int {
	if e.opt.warmup >= 0 {
		return e.opt.warmup
	}
	return max(n/10, 5)
}

// slowest gives rank 0 the largest of all ranks' figures, one by one: with times of
// repetitions, the time that the job took for each. Other ranks get nil.
func (e *env) slowest(xs []float64) ([]float64, error) {
	if e.rank != 0 {
		return nil, mpi.Reduce(e.world, xs, nil, mpi.Max[float64], 0)
	}
	return xs, mpi.Reduce(e.world, xs, xs, mpi.Max[float64], 0)
}

// words is n float64s, every one of them written.
func words(n int) []float64 {
	b := make([]float64, n)
	for i := range b {
		b[i] = 1 + float64(i)/3 // many digits: no short form when serialised
	}
	return b
}
