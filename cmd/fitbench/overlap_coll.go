//go:build linux

package main

import "github.com/fitmpi/fitmpi/mpi"

// collectives are the nonblocking collectives of package mpi. The size is of what one
// rank contributes, of ialltoall and iscatter to each rank; reductions are sums of
// float64. The root is rank 0, which is also the rank that reports.
func collectives() []overlapCase {
	return []overlapCase{
		{name: "ibarrier", bare: true, prepare: ibarrier},
		{name: "ibcast", prepare: ibcast},
		{name: "ireduce", prepare: reduction(func(c *mpi.Comm, in, out []float64) *mpi.Request {
			return mpi.Ireduce(c, in, out, mpi.Sum, 0)
		})},
		{name: "iallreduce", prepare: reduction(func(c *mpi.Comm, in, out []float64) *mpi.Request {
			return mpi.Iallreduce(c, in, out, mpi.Sum)
		})},
		{name: "iscan", prepare: reduction(func(c *mpi.Comm, in, out []float64) *mpi.Request {
			return mpi.Iscan(c, in, out, mpi.Sum)
		})},
		{name: "iexscan", prepare: reduction(func(c *mpi.Comm, in, out []float64) *mpi.Request {
			return mpi.Iexscan(c, in, out, mpi.Sum)
		})},
		{name: "igather", prepare: movement(one, all, func(m *mover) *mpi.Request {
			return mpi.Igather(m.c, m.in, m.out, 0)
		})},
		{name: "igatherv", prepare: movement(one, all, func(m *mover) *mpi.Request {
			return mpi.Igatherv(m.c, m.in, m.out, m.counts, nil, 0)
		})},
		{name: "iscatter", prepare: movement(all, one, func(m *mover) *mpi.Request {
			return mpi.Iscatter(m.c, m.in, m.out, 0)
		})},
		{name: "iscatterv", prepare: movement(all, one, func(m *mover) *mpi.Request {
			return mpi.Iscatterv(m.c, m.in, m.counts, nil, m.out, 0)
		})},
		{name: "iallgather", prepare: movement(one, all, func(m *mover) *mpi.Request {
			return mpi.Iallgather(m.c, m.in, m.out)
		})},
		{name: "iallgatherv", prepare: movement(one, all, func(m *mover) *mpi.Request {
			return mpi.Iallgatherv(m.c, m.in, m.out, m.counts, nil)
		})},
		{name: "ialltoall", prepare: movement(all, all, func(m *mover) *mpi.Request {
			return mpi.Ialltoall(m.c, m.in, m.out)
		})},
		{name: "ialltoallv", prepare: movement(all, all, func(m *mover) *mpi.Request {
			return mpi.Ialltoallv(m.c, m.in, m.counts, nil, m.out, m.counts, nil)
		})},
	}
}

func ibarrier(e *env, _ int) func() []*mpi.Request {
	return single(func() *mpi.Request { return mpi.Ibarrier(e.world) })
}

func ibcast(e *env, size int) func() []*mpi.Request {
	b := buffer(size)
	return single(func() *mpi.Request { return mpi.Ibcast(e.world, b, 0) })
}

// reduction is an operation on float64 numbers, at least one.
func reduction(start func(c *mpi.Comm, in, out []float64) *mpi.Request) func(*env, int) func() []*mpi.Request {
	return func(e *env, size int) func() []*mpi.Request {
		in, out := words(max(size/8, 1)), words(max(size/8, 1))
		return single(func() *mpi.Request { return start(e.world, in, out) })
	}
}

// mover is an operation that moves bytes, at one rank.
type mover struct {
	c       *mpi.Comm
	in, out []byte
	counts  []int // bytes of each rank
}

// one and all are how many blocks a buffer holds: one, or one for each rank.
func one(int) int       { return 1 }
func all(ranks int) int { return ranks }

// movement is an operation on blocks of size bytes.
func movement(in, out func(ranks int) int, start func(m *mover) *mpi.Request) func(*env, int) func() []*mpi.Request {
	return func(e *env, size int) func() []*mpi.Request {
		m := &mover{e.world, buffer(size * in(e.ranks)), buffer(size * out(e.ranks)), make([]int, e.ranks)}
		for r := range m.counts {
			m.counts[r] = size
		}
		return single(func() *mpi.Request { return start(m) })
	}
}

// single puts the one request of an operation into a slice that it reuses.
func single(start func() *mpi.Request) func() []*mpi.Request {
	requests := make([]*mpi.Request, 1)
	return func() []*mpi.Request {
		requests[0] = start()
		return requests
	}
}
