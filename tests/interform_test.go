package tests

import (
	"fmt"
	"slices"

	"github.com/fitmpi/fitmpi/mpi"
)

// groups is what a rank knows of an intercommunicator that joinHalves made of the even and the odd
// ranks of a communicator.
type groups struct {
	c     *mpi.Comm
	me    int   // rank in the communicator below, which names operands
	there []int // those of the remote ranks
	side  int   // of this rank: 0 or 1
	root  int   // rank argument of rooted collectives
	from  int   // the root, in the communicator below
}

// groupsOf chooses a root: of the given side, with that number in its group.
func groupsOf(c, inter *mpi.Comm, side, root int) groups {
	g := groups{c: inter, me: c.Rank(), side: c.Rank() % 2, root: root, from: 2*root + side}
	for r := range inter.RemoteSize() {
		g.there = append(g.there, far(c, r))
	}
	switch {
	case g.me == g.from:
		g.root = mpi.Root
	case g.side == side:
		g.root = mpi.ProcNull
	}
	return g
}

func (g groups) isRoot() bool { return g.root == mpi.Root }

// away says whether the root is in the other group.
func (g groups) away() bool { return g.root >= 0 }

// interFormed is an element type that has forms over intercommunicators.
type interFormed interface {
	interForms(t *T, g groups, n int) []form
}

// interForms is every collective over an intercommunicator.
func (o of[V]) interForms(t *T, g groups, n int) []form {
	c := g.c
	fs := []form{
		{"Barrier", func() error { return mpi.Barrier(c) }, func() *mpi.Request { return mpi.Ibarrier(c) },
			func() *mpi.Request { return mpi.BarrierInit(c) }, func(int) {}, func(string, int) {}},
		o.interBcast(t, g, n), o.interAllreduce(t, g, n), o.interReduce(t, g, n),
	}
	for _, v := range []bool{false, true} {
		fs = append(fs, o.interGather(t, g, n, v), o.interScatter(t, g, n, v), o.interAllgather(t, g, n, v),
			o.interAlltoall(t, g, n, v), o.interReduceScatter(t, g, n, v))
	}
	return fs
}

func (o of[V]) interBcast(t *T, g groups, n int) form {
	buf := make([]V, n)
	return form{"Bcast",
		func() error { return mpi.Bcast(g.c, buf, g.root) },
		func() *mpi.Request { return mpi.Ibcast(g.c, buf, g.root) },
		func() *mpi.Request { return mpi.BcastInit(g.c, buf, g.root) },
		func(k int) { copy(buf, o.operand(k, g.me, n)) },
		func(what string, k int) {
			from := g.me // no group but the other gets anything
			if g.away() {
				from = g.from
			}
			o.check(t, what, n, buf, o.operand(k, from, n))
		}}
}

// lengths are those of the blocks of the remote ranks: equal, or in the v form of each rank's own.
func (g groups) lengths(n int, v bool) (counts, displs []int, total int) {
	for _, r := range g.there {
		counts, displs = append(counts, length(r, n, v)), append(displs, total)
		total += length(r, n, v)
	}
	return counts, displs, total
}

func length(rank, n int, v bool) int {
	switch {
	case !v:
		return n
	case rank == 1:
		return 0
	}
	return n + rank
}

// theirs is what the remote ranks give, one after the other.
func (o of[V]) theirs(g groups, k int, counts []int) []V {
	var all []V
	for i, r := range g.there {
		all = append(all, o.operand(k, r, counts[i])...)
	}
	return all
}

func (o of[V]) interGather(t *T, g groups, n int, v bool) form {
	counts, displs, total := g.lengths(n, v)
	var in, out []V
	if g.isRoot() {
		out = make([]V, total)
	} else if g.away() {
		in = make([]V, length(g.me, n, v))
	}
	f := form{"Gather",
		func() error { return mpi.Gather(g.c, in, out, g.root) },
		func() *mpi.Request { return mpi.Igather(g.c, in, out, g.root) },
		func() *mpi.Request { return mpi.GatherInit(g.c, in, out, g.root) },
		func(k int) { clear(out); copy(in, o.operand(k, g.me, len(in))) },
		func(what string, k int) {
			if g.isRoot() {
				o.check(t, what, n, out, o.theirs(g, k, counts))
			}
		}}
	if v {
		f.name = "Gatherv"
		f.block = func() error { return mpi.Gatherv(g.c, in, out, counts, displs, g.root) }
		f.start = func() *mpi.Request { return mpi.Igatherv(g.c, in, out, counts, displs, g.root) }
		f.init = func() *mpi.Request { return mpi.GathervInit(g.c, in, out, counts, nil, g.root) }
	}
	return f
}

func (o of[V]) interScatter(t *T, g groups, n int, v bool) form {
	counts, displs, total := g.lengths(n, v)
	var in, out []V
	if g.isRoot() {
		in = make([]V, total)
	} else if g.away() {
		out = make([]V, length(g.me, n, v))
	}
	f := form{"Scatter",
		func() error { return mpi.Scatter(g.c, in, out, g.root) },
		func() *mpi.Request { return mpi.Iscatter(g.c, in, out, g.root) },
		func() *mpi.Request { return mpi.ScatterInit(g.c, in, out, g.root) },
		func(k int) { clear(out); copy(in, o.theirs(g, k, counts)) },
		func(what string, k int) { o.check(t, what, n, out, o.operand(k, g.me, len(out))) }}
	if v {
		f.name = "Scatterv"
		f.block = func() error { return mpi.Scatterv(g.c, in, counts, displs, out, g.root) }
		f.start = func() *mpi.Request { return mpi.Iscatterv(g.c, in, counts, displs, out, g.root) }
		f.init = func() *mpi.Request { return mpi.ScattervInit(g.c, in, counts, nil, out, g.root) }
	}
	return f
}

// interAllgather: the blocks of the second group are longer by two.
func (o of[V]) interAllgather(t *T, g groups, n int, v bool) form {
	counts, displs, total := g.lengths(n+2*(1-g.side), v)
	in, out := make([]V, length(g.me, n+2*g.side, v)), make([]V, total)
	f := form{"Allgather",
		func() error { return mpi.Allgather(g.c, in, out) },
		func() *mpi.Request { return mpi.Iallgather(g.c, in, out) },
		func() *mpi.Request { return mpi.AllgatherInit(g.c, in, out) },
		func(k int) { clear(out); copy(in, o.operand(k, g.me, len(in))) },
		func(what string, k int) { o.check(t, what, n, out, o.theirs(g, k, counts)) }}
	if v {
		f.name = "Allgatherv"
		f.block = func() error { return mpi.Allgatherv(g.c, in, out, counts, displs) }
		f.start = func() *mpi.Request { return mpi.Iallgatherv(g.c, in, out, counts, displs) }
		f.init = func() *mpi.Request { return mpi.AllgathervInit(g.c, in, out, counts, nil) }
	}
	return f
}

// interAlltoall: from rank r to s goes what rank r+10*s gives; the blocks of the second group are
// longer by two. In the v form each pair has a length of its own.
func (o of[V]) interAlltoall(t *T, g groups, n int, v bool) form {
	between := func(sender int) (counts []int, total int) {
		for _, r := range g.there {
			m := n + 2*sender
			if v {
				m = length(r+g.me, n, v)
			}
			counts = append(counts, m)
			total += m
		}
		return counts, total
	}
	sc, sent := between(g.side)
	rc, come := between(1 - g.side)
	in, out := make([]V, sent), make([]V, come)
	blocks := func(counts []int, whose func(r int) []V) (all []V) {
		for i, r := range g.there {
			all = append(all, whose(r)[:counts[i]]...)
		}
		return all
	}
	most := max(slices.Max(sc), slices.Max(rc))
	f := form{"Alltoall",
		func() error { return mpi.Alltoall(g.c, in, out) },
		func() *mpi.Request { return mpi.Ialltoall(g.c, in, out) },
		func() *mpi.Request { return mpi.AlltoallInit(g.c, in, out) },
		func(k int) {
			clear(out)
			copy(in, blocks(sc, func(r int) []V { return o.operand(k, g.me+10*r, most) }))
		},
		func(what string, k int) {
			o.check(t, what, n, out, blocks(rc, func(r int) []V { return o.operand(k, r+10*g.me, most) }))
		}}
	if v {
		f.name = "Alltoallv"
		f.block = func() error { return mpi.Alltoallv(g.c, in, sc, nil, out, rc, nil) }
		f.start = func() *mpi.Request { return mpi.Ialltoallv(g.c, in, sc, nil, out, rc, nil) }
		f.init = func() *mpi.Request { return mpi.AlltoallvInit(g.c, in, sc, nil, out, rc, nil) }
	}
	return f
}

func (o of[V]) interReduce(t *T, g groups, n int) form {
	var in, out []V
	if g.isRoot() {
		out = make([]V, n)
	} else if g.away() {
		in = make([]V, n)
	}
	return form{"Reduce",
		func() error { return mpi.Reduce(g.c, in, out, o.op, g.root) },
		func() *mpi.Request { return mpi.Ireduce(g.c, in, out, o.op, g.root) },
		func() *mpi.Request { return mpi.ReduceInit(g.c, in, out, o.op, g.root) },
		func(k int) { clear(out); copy(in, o.operand(k, g.me, len(in))) },
		func(what string, k int) {
			if g.isRoot() {
				o.check(t, what, n, out, o.foldOf(k, g.there, n))
			}
		}}
}

func (o of[V]) interAllreduce(t *T, g groups, n int) form {
	in, out := make([]V, n), make([]V, n)
	return form{"Allreduce",
		func() error { return mpi.Allreduce(g.c, in, out, o.op) },
		func() *mpi.Request { return mpi.Iallreduce(g.c, in, out, o.op) },
		func() *mpi.Request { return mpi.AllreduceInit(g.c, in, out, o.op) },
		func(k int) { clear(out); copy(in, o.operand(k, g.me, n)) },
		func(what string, k int) {
			o.check(t, what, n, out, o.foldOf(k, g.there, n))
			o.check(t, what+": the input", n, in, o.operand(k, g.me, n))
		}}
}

func (o of[V]) interReduceScatter(t *T, g groups, n int, v bool) form {
	p, q, me := g.c.Size(), g.c.RemoteSize(), g.c.Rank()
	total := n * p * q
	counts, _, _ := even(p, n*q)
	if v { // all but the last get two less, and the first of many nothing
		for r := range p - 1 {
			d := min(2, counts[r])
			if r == 0 && p > 2 {
				d = counts[0]
			}
			counts[r], counts[p-1] = counts[r]-d, counts[p-1]+d
		}
	}
	lo := 0
	for _, k := range counts[:me] {
		lo += k
	}
	in, out := make([]V, total), make([]V, counts[me])
	f := form{"ReduceScatterBlock",
		func() error { return mpi.ReduceScatterBlock(g.c, in, out, o.op) },
		func() *mpi.Request { return mpi.IreduceScatterBlock(g.c, in, out, o.op) },
		func() *mpi.Request { return mpi.ReduceScatterBlockInit(g.c, in, out, o.op) },
		func(k int) { clear(out); copy(in, o.operand(k, g.me, total)) },
		func(what string, k int) { o.check(t, what, n, out, o.foldOf(k, g.there, total)[lo:lo+counts[me]]) }}
	if v {
		f.name = "ReduceScatter"
		f.block = func() error { return mpi.ReduceScatter(g.c, in, out, counts, o.op) }
		f.start = func() *mpi.Request { return mpi.IreduceScatter(g.c, in, out, counts, o.op) }
		f.init = func() *mpi.Request { return mpi.ReduceScatterInit(g.c, in, out, counts, o.op) }
	}
	return f
}

// eachInterForm runs f for collectives of several element types and sizes with roots in both
// groups.
func eachInterForm(t *T, c, inter *mpi.Comm, f func(form)) {
	names := []string{"matrix", "string"}
	if t.World {
		names = append(names, "float64", "map")
	}
	for _, root := range []struct{ side, at int }{{1, 0}, {0, (c.Size() - 1) / 2}} {
		for _, name := range names {
			for _, n := range []int{0, 5, 1000} {
				if n > 5 && name != "matrix" {
					continue
				}
				for _, x := range elementKinds[name].(interFormed).interForms(t, groupsOf(c, inter, root.side, root.at), n) {
					f(x)
				}
			}
		}
	}
}

func interCollectives(t *T, c *mpi.Comm) {
	eachInterForm(t, c, joinHalves(t, c), func(f form) {
		f.set(0)
		t.must(f.block(), f.name)
		f.check(f.name+" between groups", 0)
	})
}

func interPersistent(t *T, c *mpi.Comm) {
	eachInterForm(t, c, joinHalves(t, c), func(f form) {
		r := f.init()
		for k := range 2 {
			f.set(k)
			t.must(r.Start(), f.name+"Init")
			_, err := r.Wait()
			t.must(err, f.name+"Init")
			f.check(fmt.Sprint(f.name, "Init between groups, round ", k), k)
		}
	})
}

// interOutstanding keeps every nonblocking collective between the groups pending at once, beside
// others of the communicators around, and completes them in an order of each rank's own.
func interOutstanding(t *T, c *mpi.Comm) {
	inter := joinHalves(t, c)
	var fs []form
	var rs []*mpi.Request
	eachInterForm(t, c, inter, func(f form) {
		f.set(len(fs))
		fs, rs = append(fs, f), append(rs, f.start())
	})
	merged, err := inter.Merge(c.Rank()%2 == 1)
	t.must(err, "Merge beside collectives")
	sum := []int{0}
	t.must(mpi.Allreduce(merged, []int{1}, sum, mpi.Sum))
	want(t, "the sum in the merged communicator", sum[0], c.Size())
	for i := range rs {
		at := (i + c.Rank()*len(rs)/c.Size()) % len(rs)
		_, err := rs[at].Wait()
		t.must(err, "I"+fs[at].name)
	}
	for i, f := range fs {
		f.check("I"+f.name+" between groups", i)
	}
}

func interCollectiveErrors(t *T, c *mpi.Comm) {
	inter := joinHalves(t, c)
	b := make([]int64, 4)
	wantError(t, "Scan", mpi.Scan(inter, b, b, mpi.Sum), mpi.ErrComm, "Scan", "not defined", "Merge")
	wantError(t, "Exscan", mpi.Exscan(inter, b, b, mpi.Sum), mpi.ErrComm, "Exscan", "not defined")
	wantError(t, "ScanInit", mpi.ScanInit(inter, b, b, mpi.Sum).Start(), mpi.ErrComm, "ScanInit")
	for _, root := range []int{inter.RemoteSize(), mpi.AnySource, -7} {
		wantError(t, "a root that does not exist", mpi.Bcast(inter, b, root), mpi.ErrRoot, fmt.Sprint("root ", root), "other group", "ProcNull")
	}
	for _, root := range []int{mpi.Root, mpi.ProcNull} {
		wantError(t, "Root in one group", mpi.Bcast(c, b, root), mpi.ErrRoot, "need 0 to")
	}
	odd := make([]int64, 2*inter.RemoteSize()+1)
	wantError(t, "no operation", mpi.Reduce(inter, b, b, nil, mpi.Root), mpi.ErrOp)
	wantError(t, "counts", mpi.Gatherv(inter, nil, odd, make([]int, inter.RemoteSize()+1), nil, mpi.Root), mpi.ErrCount, "counts for")
	if inter.RemoteSize() > 1 {
		wantError(t, "Gather", mpi.Gather(inter, nil, odd, mpi.Root), mpi.ErrCount, "out holds", "remote ranks")
		wantError(t, "Scatter", mpi.Scatter(inter, odd, nil, mpi.Root), mpi.ErrCount, "in holds", "remote ranks")
		wantError(t, "Allgather", mpi.Allgather(inter, b, odd), mpi.ErrCount, "out holds", "remote ranks")
		wantError(t, "Alltoall", mpi.Alltoall(inter, odd, odd), mpi.ErrCount, "in holds", "remote ranks")
	}
	var none *mpi.Comm
	wantError(t, "Reduce over nil", mpi.Reduce(none, b, b, mpi.Sum, 0), mpi.ErrComm, "nil")
	wantError(t, "Exscan over nil", mpi.Exscan(none, b, b, mpi.Sum), mpi.ErrComm, "nil")
	t.must(mpi.Barrier(inter), "what follows errors of arguments")
}
