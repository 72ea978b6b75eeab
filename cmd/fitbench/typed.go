//go:build linux

package main

import (
	"cmp"
	"slices"

	"github.com/fitmpi/fitmpi/mpi"
)

// typeCases are Allreduce by type of element (a number, a struct, a value that must be serialised)
// and by operation: predefined, a user's over slices, and a user's of two values (MPI.NET's
// comparison). prepare makes the buffers of size bytes, and returns the call.
var typeCases = []collective{
	{"float64-sum", prepareTyped(words, mpi.Sum[float64])},
	{"float64-user", prepareTyped(words, mpi.Commutative(sumWords))},
	{"float64-of-two", prepareTyped(words, mpi.Commutative(mpi.OpOf(sumOfTwo)))},
	{"struct-user", prepareTyped(cells, mpi.Commutative(sumCells))},
	{"struct-of-two", prepareTyped(cells, mpi.Commutative(mpi.OpOf(cellOfTwo)))},
	{"object-of-two", prepareObject},
}

// types measures each case at every rank, each repetition after a Barrier.
func types(e *env) error {
	if err := e.checkWords(); err != nil {
		return err
	}
	chosen, err := choose(e, typeCases, func(c collective) string { return c.name })
	if err != nil {
		return err
	}
	for _, c := range chosen {
		for _, size := range e.sizes() {
			if _, err := e.timeCollective(c.name, size, e.ofCollective(size), c.prepare(e, size)); err != nil {
				return err
			}
		}
	}
	return nil
}

// prepareTyped reduces as many elements of 8 bytes as are size bytes; fill makes them.
func prepareTyped[T any](fill func(n int) []T, op mpi.Op[T]) func(*env, int) func() error {
	return func(e *env, size int) func() error {
		in, out := fill(size/8), fill(size/8)
		return func() error { return mpi.Allreduce(e.world, in, out, op) }
	}
}

// prepareObject reduces one value with size bytes of float64s in it, which gob serialises.
func prepareObject(e *env, size int) func() error {
	v, op := sample{"temperature", words(size / 8)}, mpi.Commutative(mpi.OpOf(sampleOfTwo))
	return func() error {
		_, err := mpi.AllreduceValue(e.world, v, op)
		return err
	}
}

// sumWords is a sum that the library does not know.
func sumWords(acc, in []float64) {
	for i := range acc {
		acc[i] += in[i]
	}
}

func sumOfTwo(x, y float64) float64 { return x + y }

// sumCells adds charges and keeps the highest index.
func sumCells(acc, in []cell) {
	for i := range acc {
		acc[i] = cellOfTwo(acc[i], in[i])
	}
}

func cellOfTwo(x, y cell) cell { return cell{x.Charge + y.Charge, max(x.Index, y.Index)} }

// sampleOfTwo adds the values, and changes neither sample.
func sampleOfTwo(x, y sample) sample {
	sum := sample{cmp.Or(x.Name, y.Name), slices.Clone(x.Values)}
	for i := range min(len(sum.Values), len(y.Values)) {
		sum.Values[i] += y.Values[i]
	}
	return sum
}
