package tests

import (
	"fmt"

	"github.com/fitmpi/fitmpi/mpi"
)

// form is one collective over one element type and size, in all its forms, with the operands of any
// number of rounds.
type form struct {
	name  string
	block func() error
	start func() *mpi.Request
	init  func() *mpi.Request
	set   func(round int)              // sets the operands of a round and spoils the results of the last
	check func(what string, round int) // compares the results with those of a naive computation
}

// formed is an element type that has forms.
type formed interface {
	forms(t *T, c *mpi.Comm, n, root int, inPlace bool) []form
}

// operand is what rank r gives in a round.
func (o of[V]) operand(round, r, n int) []V { return o.fill(r+13*round, n) }

// operands is what all ranks give, count(r) elements of rank r at displs[r] of total.
func (o of[V]) operands(round int, counts, displs []int, total int) []V {
	all := make([]V, total)
	for r := range counts {
		copy(all[displs[r]:], o.operand(round, r, counts[r]))
	}
	return all
}

// fold combines what ranks 0 to last give, in their order.
func (o of[V]) fold(round, last, n int) []V {
	ranks := make([]int, last+1)
	for r := range ranks {
		ranks[r] = r
	}
	return o.foldOf(round, ranks, n)
}

// foldOf combines what the given ranks give, in that order.
func (o of[V]) foldOf(round int, ranks []int, n int) []V {
	acc := o.operand(round, ranks[0], n)
	for _, r := range ranks[1:] {
		for i, v := range o.operand(round, r, n) {
			acc[i] = o.add(acc[i], v)
		}
	}
	return acc
}

// layout is a v form's: rank r has n+r elements, rank 1 none, and gaps of two elements lie before
// each block.
func layout(p, n int) (counts, displs []int, total int) {
	counts, displs = make([]int, p), make([]int, p)
	for r := range p {
		if r != 1 {
			counts[r] = n + r
		}
		displs[r] = total + 2
		total = displs[r] + counts[r]
	}
	return counts, displs, total
}

// even is the layout of equal blocks.
func even(p, n int) (counts, displs []int, total int) {
	counts, displs = make([]int, p), make([]int, p)
	for r := range p {
		counts[r], displs[r] = n, r*n
	}
	return counts, displs, p * n
}

// forms is every collective with blocks of n elements, rooted at root. In place, in and out are the
// same slice where the standard allows MPI_IN_PLACE.
func (o of[V]) forms(t *T, c *mpi.Comm, n, root int, inPlace bool) []form {
	fs := []form{
		{"Barrier", func() error { return mpi.Barrier(c) }, func() *mpi.Request { return mpi.Ibarrier(c) },
			func() *mpi.Request { return mpi.BarrierInit(c) }, func(int) {}, func(string, int) {}},
		o.bcastForm(t, c, n, root),
	}
	for _, v := range []bool{false, true} {
		fs = append(fs, o.gatherForm(t, c, n, root, v, inPlace), o.scatterForm(t, c, n, root, v, inPlace),
			o.allgatherForm(t, c, n, v, inPlace), o.alltoallForm(t, c, n, v, inPlace), o.reduceScatterForm(t, c, n, v, inPlace))
	}
	return append(fs, o.reductionForms(t, c, n, root, inPlace)...)
}

func (o of[V]) bcastForm(t *T, c *mpi.Comm, n, root int) form {
	buf := make([]V, n)
	return form{"Bcast",
		func() error { return mpi.Bcast(c, buf, root) },
		func() *mpi.Request { return mpi.Ibcast(c, buf, root) },
		func() *mpi.Request { return mpi.BcastInit(c, buf, root) },
		func(k int) {
			clear(buf)
			if c.Rank() == root {
				copy(buf, o.operand(k, root, n))
			}
		},
		func(what string, k int) { o.check(t, what, n, buf, o.operand(k, root, n)) }}
}

// sizesOf is the layout of the plain or the v form.
func sizesOf(p, n int, v bool) (counts, displs []int, total int) {
	if v {
		return layout(p, n)
	}
	return even(p, n)
}

func (o of[V]) gatherForm(t *T, c *mpi.Comm, n, root int, v, inPlace bool) form {
	me := c.Rank()
	counts, displs, total := sizesOf(c.Size(), n, v)
	in, out := make([]V, counts[me]), make([]V, total)
	if me != root {
		out = nil
	} else if inPlace {
		in = out[displs[me] : displs[me]+counts[me]]
	}
	f := form{"Gather",
		func() error { return mpi.Gather(c, in, out, root) },
		func() *mpi.Request { return mpi.Igather(c, in, out, root) },
		func() *mpi.Request { return mpi.GatherInit(c, in, out, root) },
		func(k int) { clear(out); copy(in, o.operand(k, me, len(in))) },
		func(what string, k int) {
			if me == root {
				o.check(t, what, n, out, o.operands(k, counts, displs, total))
			}
		}}
	if v {
		f.name = "Gatherv"
		f.block = func() error { return mpi.Gatherv(c, in, out, counts, displs, root) }
		f.start = func() *mpi.Request { return mpi.Igatherv(c, in, out, counts, displs, root) }
		f.init = func() *mpi.Request { return mpi.GathervInit(c, in, out, counts, displs, root) }
	}
	return f
}

func (o of[V]) scatterForm(t *T, c *mpi.Comm, n, root int, v, inPlace bool) form {
	me := c.Rank()
	counts, displs, total := sizesOf(c.Size(), n, v)
	in, out := make([]V, total), make([]V, counts[me])
	if me != root {
		in = nil
	} else if inPlace {
		out = in[displs[me] : displs[me]+counts[me]]
	}
	f := form{"Scatter",
		func() error { return mpi.Scatter(c, in, out, root) },
		func() *mpi.Request { return mpi.Iscatter(c, in, out, root) },
		func() *mpi.Request { return mpi.ScatterInit(c, in, out, root) },
		func(k int) {
			clear(out)
			copy(in, o.operands(k, counts, displs, total))
		},
		func(what string, k int) { o.check(t, what, n, out, o.operand(k, me, len(out))) }}
	if v {
		f.name = "Scatterv"
		f.block = func() error { return mpi.Scatterv(c, in, counts, displs, out, root) }
		f.start = func() *mpi.Request { return mpi.Iscatterv(c, in, counts, displs, out, root) }
		f.init = func() *mpi.Request { return mpi.ScattervInit(c, in, counts, displs, out, root) }
	}
	return f
}

func (o of[V]) allgatherForm(t *T, c *mpi.Comm, n int, v, inPlace bool) form {
	me := c.Rank()
	counts, displs, total := sizesOf(c.Size(), n, v)
	in, out := make([]V, counts[me]), make([]V, total)
	if inPlace {
		in = out[displs[me] : displs[me]+counts[me]]
	}
	f := form{"Allgather",
		func() error { return mpi.Allgather(c, in, out) },
		func() *mpi.Request { return mpi.Iallgather(c, in, out) },
		func() *mpi.Request { return mpi.AllgatherInit(c, in, out) },
		func(k int) { clear(out); copy(in, o.operand(k, me, len(in))) },
		func(what string, k int) { o.check(t, what, n, out, o.operands(k, counts, displs, total)) }}
	if v {
		f.name = "Allgatherv"
		f.block = func() error { return mpi.Allgatherv(c, in, out, counts, displs) }
		f.start = func() *mpi.Request { return mpi.Iallgatherv(c, in, out, counts, displs) }
		f.init = func() *mpi.Request { return mpi.AllgathervInit(c, in, out, counts, displs) }
	}
	return f
}

// alltoallForm: from rank r to s goes what rank r+10*s gives; in the v form n+r+s elements, none if
// r+s is 1.
func (o of[V]) alltoallForm(t *T, c *mpi.Comm, n int, v, inPlace bool) form {
	p, me := c.Size(), c.Rank()
	counts, displs, total := even(p, n)
	if v {
		total = 0
		for r := range p {
			if counts[r] = 0; r+me != 1 {
				counts[r] = n + r + me
			}
			displs[r] = total
			total += counts[r]
		}
	}
	in, out := make([]V, total), make([]V, total)
	if inPlace {
		in = out
	}
	f := form{"Alltoall",
		func() error { return mpi.Alltoall(c, in, out) },
		func() *mpi.Request { return mpi.Ialltoall(c, in, out) },
		func() *mpi.Request { return mpi.AlltoallInit(c, in, out) },
		func(k int) {
			clear(out)
			for r := range p {
				copy(in[displs[r]:], o.operand(k, me+10*r, counts[r]))
			}
		},
		func(what string, k int) {
			for r := range p {
				o.check(t, fmt.Sprint(what, " from ", r), n, out[displs[r]:displs[r]+counts[r]], o.operand(k, r+10*me, counts[r]))
			}
		}}
	if v {
		f.name = "Alltoallv"
		f.block = func() error { return mpi.Alltoallv(c, in, counts, displs, out, counts, nil) }
		f.start = func() *mpi.Request { return mpi.Ialltoallv(c, in, counts, displs, out, counts, nil) }
		f.init = func() *mpi.Request { return mpi.AlltoallvInit(c, in, counts, displs, out, counts, nil) }
	}
	return f
}

func (o of[V]) reduceScatterForm(t *T, c *mpi.Comm, n int, v, inPlace bool) form {
	p, me := c.Size(), c.Rank()
	counts, displs, total := even(p, n)
	if v {
		counts, _, _ = layout(p, n)
		total = 0
		for r, k := range counts {
			displs[r] = total
			total += k
		}
	}
	in, out := make([]V, total), make([]V, counts[me])
	if inPlace {
		out = in[:counts[me]]
	}
	f := form{"ReduceScatterBlock",
		func() error { return mpi.ReduceScatterBlock(c, in, out, o.op) },
		func() *mpi.Request { return mpi.IreduceScatterBlock(c, in, out, o.op) },
		func() *mpi.Request { return mpi.ReduceScatterBlockInit(c, in, out, o.op) },
		func(k int) { clear(out); copy(in, o.operand(k, me, total)) },
		func(what string, k int) {
			o.check(t, what, n, out, o.fold(k, p-1, total)[displs[me]:displs[me]+counts[me]])
		}}
	if v {
		f.name = "ReduceScatter"
		f.block = func() error { return mpi.ReduceScatter(c, in, out, counts, o.op) }
		f.start = func() *mpi.Request { return mpi.IreduceScatter(c, in, out, counts, o.op) }
		f.init = func() *mpi.Request { return mpi.ReduceScatterInit(c, in, out, counts, o.op) }
	}
	return f
}

func (o of[V]) reductionForms(t *T, c *mpi.Comm, n, root int, inPlace bool) []form {
	p, me := c.Size(), c.Rank()
	type operands struct{ in, out []V }
	fresh := func() *operands {
		b := &operands{make([]V, n), make([]V, n)}
		if inPlace {
			b.in = b.out
		}
		return b
	}
	set := func(b *operands) func(int) {
		return func(k int) { clear(b.out); copy(b.in, o.operand(k, me, n)) }
	}
	rb, ab, sb, eb := fresh(), fresh(), fresh(), fresh()
	return []form{
		{"Reduce",
			func() error { return mpi.Reduce(c, rb.in, rb.out, o.op, root) },
			func() *mpi.Request { return mpi.Ireduce(c, rb.in, rb.out, o.op, root) },
			func() *mpi.Request { return mpi.ReduceInit(c, rb.in, rb.out, o.op, root) },
			set(rb), func(what string, k int) {
				if me == root {
					o.check(t, what, n, rb.out, o.fold(k, p-1, n))
				}
			}},
		{"Allreduce",
			func() error { return mpi.Allreduce(c, ab.in, ab.out, o.op) },
			func() *mpi.Request { return mpi.Iallreduce(c, ab.in, ab.out, o.op) },
			func() *mpi.Request { return mpi.AllreduceInit(c, ab.in, ab.out, o.op) },
			set(ab), func(what string, k int) { o.check(t, what, n, ab.out, o.fold(k, p-1, n)) }},
		{"Scan",
			func() error { return mpi.Scan(c, sb.in, sb.out, o.op) },
			func() *mpi.Request { return mpi.Iscan(c, sb.in, sb.out, o.op) },
			func() *mpi.Request { return mpi.ScanInit(c, sb.in, sb.out, o.op) },
			set(sb), func(what string, k int) { o.check(t, what, n, sb.out, o.fold(k, me, n)) }},
		{"Exscan",
			func() error { return mpi.Exscan(c, eb.in, eb.out, o.op) },
			func() *mpi.Request { return mpi.Iexscan(c, eb.in, eb.out, o.op) },
			func() *mpi.Request { return mpi.ExscanInit(c, eb.in, eb.out, o.op) },
			set(eb), func(what string, k int) {
				if me > 0 {
					o.check(t, what, n, eb.out, o.fold(k, me-1, n))
				}
			}},
	}
}
