package tests

import "github.com/fitmpi/fitmpi/mpi"

// interColls is the table of collectives over intercommunicators.
func interColls[T any]() []interColl[T] {
	type part = interPart[T]
	shares := func(p *part) pieces[T] { return p.own(p.shares[p.mine].counts[p.me]) }
	rows := func(p *part) pieces[T] {
		l := p.rows[p.mine][p.me]
		return pieces[T]{l, func(j, round int) []T { return p.gives(p.mine, p.me, j, round, l.counts[j]) }}
	}
	cols := func(p *part) pieces[T] {
		l := p.cols[p.mine][p.me]
		return pieces[T]{l, func(i, round int) []T { return p.gives(1-p.mine, i, p.me, round, l.counts[i]) }}
	}
	gathered := func(p *part) pieces[T] { return p.rooted(p.theirs, nothing) }
	gathers := func(p *part) pieces[T] { return p.rooted(nothing, func() pieces[T] { return shares(p) }) }
	scatters := func(p *part) pieces[T] {
		return p.rooted(func() pieces[T] {
			l := p.shares[1-p.side]
			return pieces[T]{l, func(j, round int) []T { return p.gives(p.side, p.root, j, round, l.counts[j]) }}
		}, nothing)
	}
	scattered := func(p *part) pieces[T] {
		n := p.shares[p.mine].counts[p.me]
		return p.rooted(nothing, func() pieces[T] {
			return one(n, func(_, round int) []T { return p.gives(p.side, p.root, p.me, round, n) })
		})
	}
	all := func(p *part) pieces[T] { return p.own(p.total) }
	mine := func(p *part) pieces[T] {
		lo := 0
		for _, n := range p.parts[p.mine][:p.me] {
			lo += n
		}
		return p.fold(p.total, lo, lo+p.parts[p.mine][p.me])
	}
	bcast := func(p *part, from, into []T) []T {
		if p.rootArg() == mpi.Root {
			return from
		}
		return into
	}
	counts := func(p *part) ([]int, []int) { return p.shares[1-p.mine].counts, p.shares[1-p.mine].displs }
	return []interColl[T]{
		{"Barrier", false, false, func(*part) pieces[T] { return nothing[T]() }, func(*part) pieces[T] { return nothing[T]() },
			func(p *part, _, _ []T) form {
				return form{
					block: func() error { return mpi.Barrier(p.c) },
					start: func() *mpi.Request { return mpi.Ibarrier(p.c) },
					init:  func() *mpi.Request { return mpi.BarrierInit(p.c) },
				}
			}},
		{"Bcast", false, false,
			func(p *part) pieces[T] {
				return p.rooted(func() pieces[T] { return p.own(p.total) }, nothing)
			},
			func(p *part) pieces[T] {
				return p.rooted(nothing, func() pieces[T] {
					return one(p.total, func(_, round int) []T { return p.gives(p.side, p.root, 0, round, p.total) })
				})
			},
			func(p *part, from, into []T) form {
				buf := bcast(p, from, into)
				return form{
					block: func() error { return mpi.Bcast(p.c, buf, p.rootArg()) },
					start: func() *mpi.Request { return mpi.Ibcast(p.c, buf, p.rootArg()) },
					init:  func() *mpi.Request { return mpi.BcastInit(p.c, buf, p.rootArg()) },
				}
			}},
		{"Gather", false, false, gathers, gathered, func(p *part, from, into []T) form {
			return form{
				block: func() error { return mpi.Gather(p.c, from, into, p.rootArg()) },
				start: func() *mpi.Request { return mpi.Igather(p.c, from, into, p.rootArg()) },
				init:  func() *mpi.Request { return mpi.GatherInit(p.c, from, into, p.rootArg()) },
			}
		}},
		{"Gatherv", true, false, gathers, gathered, func(p *part, from, into []T) form {
			n, at := counts(p)
			return form{
				block: func() error { return mpi.Gatherv(p.c, from, into, n, at, p.rootArg()) },
				start: func() *mpi.Request { return mpi.Igatherv(p.c, from, into, n, at, p.rootArg()) },
				init:  func() *mpi.Request { return mpi.GathervInit(p.c, from, into, n, at, p.rootArg()) },
			}
		}},
		{"Scatter", false, false, scatters, scattered, func(p *part, from, into []T) form {
			return form{
				block: func() error { return mpi.Scatter(p.c, from, into, p.rootArg()) },
				start: func() *mpi.Request { return mpi.Iscatter(p.c, from, into, p.rootArg()) },
				init:  func() *mpi.Request { return mpi.ScatterInit(p.c, from, into, p.rootArg()) },
			}
		}},
		{"Scatterv", true, false, scatters, scattered, func(p *part, from, into []T) form {
			n, at := counts(p)
			return form{
				block: func() error { return mpi.Scatterv(p.c, from, n, at, into, p.rootArg()) },
				start: func() *mpi.Request { return mpi.Iscatterv(p.c, from, n, at, into, p.rootArg()) },
				init:  func() *mpi.Request { return mpi.ScattervInit(p.c, from, n, at, into, p.rootArg()) },
			}
		}},
		{"Allgather", false, false, shares, (*part).theirs, func(p *part, from, into []T) form {
			return form{
				block: func() error { return mpi.Allgather(p.c, from, into) },
				start: func() *mpi.Request { return mpi.Iallgather(p.c, from, into) },
				init:  func() *mpi.Request { return mpi.AllgatherInit(p.c, from, into) },
			}
		}},
		{"Allgatherv", true, false, shares, (*part).theirs, func(p *part, from, into []T) form {
			n, at := counts(p)
			return form{
				block: func() error { return mpi.Allgatherv(p.c, from, into, n, at) },
				start: func() *mpi.Request { return mpi.Iallgatherv(p.c, from, into, n, at) },
				init:  func() *mpi.Request { return mpi.AllgathervInit(p.c, from, into, n, at) },
			}
		}},
		{"Alltoall", false, false, rows, cols, func(p *part, from, into []T) form {
			return form{
				block: func() error { return mpi.Alltoall(p.c, from, into) },
				start: func() *mpi.Request { return mpi.Ialltoall(p.c, from, into) },
				init:  func() *mpi.Request { return mpi.AlltoallInit(p.c, from, into) },
			}
		}},
		{"Alltoallv", true, false, rows, cols, func(p *part, from, into []T) form {
			s, r := p.rows[p.mine][p.me], p.cols[p.mine][p.me]
			return form{
				block: func() error { return mpi.Alltoallv(p.c, from, s.counts, s.displs, into, r.counts, r.displs) },
				start: func() *mpi.Request {
					return mpi.Ialltoallv(p.c, from, s.counts, s.displs, into, r.counts, r.displs)
				},
				init: func() *mpi.Request {
					return mpi.AlltoallvInit(p.c, from, s.counts, s.displs, into, r.counts, r.displs)
				},
			}
		}},
		{"Alltoallw", true, false, rows, cols, nil},
		{"Reduce", false, true,
			func(p *part) pieces[T] { return p.rooted(nothing, func() pieces[T] { return all(p) }) },
			func(p *part) pieces[T] {
				return p.rooted(func() pieces[T] { return p.fold(p.total, 0, p.total) }, nothing)
			},
			func(p *part, from, into []T) form {
				return form{
					block: func() error { return mpi.Reduce(p.c, from, into, p.op, p.rootArg()) },
					start: func() *mpi.Request { return mpi.Ireduce(p.c, from, into, p.op, p.rootArg()) },
					init:  func() *mpi.Request { return mpi.ReduceInit(p.c, from, into, p.op, p.rootArg()) },
				}
			}},
		{"Allreduce", false, true, all, func(p *part) pieces[T] { return p.fold(p.total, 0, p.total) },
			func(p *part, from, into []T) form {
				return form{
					block: func() error { return mpi.Allreduce(p.c, from, into, p.op) },
					start: func() *mpi.Request { return mpi.Iallreduce(p.c, from, into, p.op) },
					init:  func() *mpi.Request { return mpi.AllreduceInit(p.c, from, into, p.op) },
				}
			}},
		{"ReduceScatterBlock", false, true, all, mine, func(p *part, from, into []T) form {
			return form{
				block: func() error { return mpi.ReduceScatterBlock(p.c, from, into, p.op) },
				start: func() *mpi.Request { return mpi.IreduceScatterBlock(p.c, from, into, p.op) },
				init:  func() *mpi.Request { return mpi.ReduceScatterBlockInit(p.c, from, into, p.op) },
			}
		}},
		{"ReduceScatter", true, true, all, mine, func(p *part, from, into []T) form {
			n := p.parts[p.mine]
			return form{
				block: func() error { return mpi.ReduceScatter(p.c, from, into, n, p.op) },
				start: func() *mpi.Request { return mpi.IreduceScatter(p.c, from, into, n, p.op) },
				init:  func() *mpi.Request { return mpi.ReduceScatterInit(p.c, from, into, n, p.op) },
			}
		}},
	}
}
