package main

import (
	"maps"

	"github.com/fitmpi/fitmpi/mpi"
)

// merge is the operation (mpi.Op) that combines counts. It makes new maps: what acc holds is not
// its own to change.
func merge(acc, in []map[string]int) {
	for i := range acc {
		sum := make(map[string]int, len(acc[i])+len(in[i]))
		maps.Copy(sum, acc[i])
		for w, n := range in[i] {
			sum[w] += n
		}
		acc[i] = sum
	}
}

// reduce gives rank 0 the tally of all ranks.
func reduce(world *mpi.Comm, t tally) (tally, error) {
	all := []map[string]int{nil}
	// The order of ranks does not matter, so the library is free to choose one.
	err := mpi.Reduce(world, []map[string]int{t.counts}, all, mpi.Commutative(merge), 0)
	if err != nil {
		return t, err
	}
	totals := []int64{t.words, t.bytes}
	err = mpi.Reduce(world, totals, totals, mpi.Sum, 0)
	return tally{counts: all[0], words: totals[0], bytes: totals[1]}, err
}
