package main

import (
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

// newShare is this rank's block of the points.
func newShare(world *mpi.Comm, o options) *block {
	rank, ranks := world.Rank(), world.Size()
	return newBlock(o, rank*o.points/ranks, (rank+1)*o.points/ranks)
}

// cluster is the computation of one rank, which has the points of b. It returns what all ranks have
// found, and how long this one has waited for sums after it had nothing more to compute. Without
// overlap it waits for the sum of each batch before it goes on with the next.
func cluster(world *mpi.Comm, b *block, overlap bool) (r *result, waited time.Duration, err error) {
	o := b.options
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
			if !overlap {
				began := time.Now()
				if _, err := sums[i].Wait(); err != nil {
					return nil, 0, err
				}
				waited += time.Since(began)
			}
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
