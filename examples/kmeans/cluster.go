package main

import (
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

// cluster is the computation of one rank. It returns what all ranks have found, and how long this
// one has waited for sums after it had nothing more to compute.
func cluster(world *mpi.Comm, o options) (r *result, waited time.Duration, err error) {
	rank, ranks := world.Rank(), world.Size()
	b := newBlock(o, rank*o.points/ranks, (rank+1)*o.points/ranks)
	r = &result{centres: o.firstCentres(), sizes: make([]int, o.clusters)}
	mine, all := make([][]float64, o.batches), make([][]float64, o.batches)
	for i := range o.batches {
		mine[i], all[i] = o.newTally(), o.newTally()
	}
	sums := make([]*mpi.Request, o.batches)
	for over := false; !over; over = r.move(o, all[0]) {
		for i := range o.batches {
			n := len(b.cluster)
			b.assign(i*n/o.batches, (i+1)*n/o.batches, r.centres, mine[i])
			sums[i] = mpi.Iallreduce(world, mine[i], all[i], mpi.Sum)
		}
		began := time.Now()
		if _, err := mpi.WaitAll(sums...); err != nil {
			return nil, 0, err
		}
		waited += time.Since(began)
		for _, t := range all[1:] {
			for i, v := range t {
				all[0][i] += v
			}
		}
	}
	return r, waited, nil
}
