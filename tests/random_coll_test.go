package tests

import (
	"fmt"
	"slices"

	"github.com/fitmpi/fitmpi/mpi"
)

// The collectives of random programs: one entry each, with its sequential model.

// randomColl is one collective for element type T.
type randomColl[T any] struct {
	name    string
	reduces bool                            // takes an operation
	inPlace bool                            // one buffer: what goes in lies in what comes out
	in, out func(s *randomShape, r int) int // elements that rank r gives and gets
	model   func(m *sequential[T]) []T      // what m.rank gets; nil if its buffer is left as it is
	start   func(a *collArgs[T]) *mpi.Request
	call    func(a *collArgs[T]) error // the blocking form
}

// collArgs are what a rank passes.
type collArgs[T any] struct {
	*randomShape
	c       *mpi.Comm
	rank    int
	in, out []T
	op      mpi.Op[T]
}

// sequential is what a sequential execution knows: what all ranks give.
type sequential[T any] struct {
	*randomShape
	rank int
	in   [][]T
	op   mpi.Op[T]
	at   func(code int64) T
}

// fold combines what the first n ranks give, in the order of ranks.
func (m *sequential[T]) fold(n int) []T {
	acc := slices.Clone(m.in[0])
	for _, in := range m.in[1:n] {
		m.op(acc, in)
	}
	return acc
}

// place puts pieces where l says; between them nothing is written.
func (m *sequential[T]) place(l blockLayout, piece func(r int) []T) []T {
	out := make([]T, l.len)
	for i := range out {
		out[i] = m.at(noCode)
	}
	for r := range l.counts {
		copy(out[l.displs[r]:l.displs[r]+l.counts[r]], piece(r))
	}
	return out
}

// blockLayout is where the blocks of the ranks lie in a buffer.
type blockLayout struct {
	counts, displs []int
	len            int
}

// blockOf is the piece of b that is rank r's.
func blockOf[T any](b []T, l blockLayout, r int) []T { return b[l.displs[r] : l.displs[r]+l.counts[r]] }

// drawLayout leaves gaps between the blocks.
func drawLayout(counts []int, d *dice) blockLayout {
	l := blockLayout{counts: counts}
	for _, n := range counts {
		l.len += d.IntN(3)
		l.displs = append(l.displs, l.len)
		l.len += n
	}
	l.len += d.IntN(3)
	return l
}

// randomShape is the lengths and the root of a collective.
type randomShape struct {
	size, n, root int
	even          blockLayout   // n for each rank
	uneven        blockLayout   // of different lengths
	sends, gets   []blockLayout // of each rank, one block for each rank: gets[r].counts[q] = sends[q].counts[r]
}

func drawShape(d *dice, most int) *randomShape { return drawShapeOf(d, d.length(most/2)) }

// drawShapeOf draws blocks of n elements, where all are equally long, and of up to n+1.
func drawShapeOf(d *dice, n int) *randomShape {
	s := &randomShape{size: d.size, n: n, root: d.rank()}
	vary := func() int { return d.IntN(2) * d.IntN(s.n+2) }
	even, uneven := make([]int, s.size), make([]int, s.size)
	for r := range even {
		even[r], uneven[r] = s.n, vary()
	}
	s.even = blockLayout{counts: even, len: s.n * s.size}
	for r := range s.size {
		s.even.displs = append(s.even.displs, r*s.n)
	}
	s.uneven = drawLayout(uneven, d)
	matrix := make([][]int, s.size)
	for r := range matrix {
		for range s.size {
			matrix[r] = append(matrix[r], vary())
		}
		s.sends = append(s.sends, drawLayout(matrix[r], d))
	}
	for r := range matrix {
		var column []int
		for q := range matrix {
			column = append(column, matrix[q][r])
		}
		s.gets = append(s.gets, drawLayout(column, d))
	}
	return s
}

// Lengths of buffers.
func lenNone(*randomShape, int) int         { return 0 }
func lenOne(s *randomShape, _ int) int      { return s.n }
func lenEach(s *randomShape, _ int) int     { return s.even.len }
func lenOwnPart(s *randomShape, r int) int  { return s.uneven.counts[r] }
func lenAllParts(s *randomShape, _ int) int { return s.uneven.len }
func lenPacked(s *randomShape, _ int) (n int) {
	for _, k := range s.uneven.counts {
		n += k
	}
	return n
}
func lenToEach(s *randomShape, r int) int   { return s.sends[r].len }
func lenFromEach(s *randomShape, r int) int { return s.gets[r].len }

// rootOnly is n at the root and nothing elsewhere.
func rootOnly(n func(*randomShape, int) int) func(*randomShape, int) int {
	return func(s *randomShape, r int) int {
		if r != s.root {
			return 0
		}
		return n(s, r)
	}
}

// randomColls is the table.
func randomColls[T any]() []randomColl[T] {
	type args = collArgs[T]
	type model = sequential[T]
	return []randomColl[T]{
		{
			name: "Barrier", in: lenNone, out: lenNone,
			model: func(*model) []T { return nil },
			start: func(a *args) *mpi.Request { return mpi.Ibarrier(a.c) },
			call:  func(a *args) error { return mpi.Barrier(a.c) },
		}, {
			name: "Bcast", in: rootOnly(lenOne), out: lenOne, inPlace: true,
			model: func(m *model) []T { return m.in[m.root] },
			start: func(a *args) *mpi.Request { return mpi.Ibcast(a.c, a.out, a.root) },
			call:  func(a *args) error { return mpi.Bcast(a.c, a.out, a.root) },
		}, {
			name: "Gather", in: lenOne, out: rootOnly(lenEach),
			model: func(m *model) []T {
				if m.rank != m.root {
					return nil
				}
				return slices.Concat(m.in...)
			},
			start: func(a *args) *mpi.Request { return mpi.Igather(a.c, a.in, a.out, a.root) },
			call:  func(a *args) error { return mpi.Gather(a.c, a.in, a.out, a.root) },
		}, {
			name: "Gatherv", in: lenOwnPart, out: rootOnly(lenAllParts),
			model: func(m *model) []T {
				if m.rank != m.root {
					return nil
				}
				return m.place(m.uneven, func(r int) []T { return m.in[r] })
			},
			start: func(a *args) *mpi.Request {
				return mpi.Igatherv(a.c, a.in, a.out, a.uneven.counts, a.uneven.displs, a.root)
			},
			call: func(a *args) error { return mpi.Gatherv(a.c, a.in, a.out, a.uneven.counts, a.uneven.displs, a.root) },
		}, {
			name: "Scatter", in: rootOnly(lenEach), out: lenOne,
			model: func(m *model) []T { return blockOf(m.in[m.root], m.even, m.rank) },
			start: func(a *args) *mpi.Request { return mpi.Iscatter(a.c, a.in, a.out, a.root) },
			call:  func(a *args) error { return mpi.Scatter(a.c, a.in, a.out, a.root) },
		}, {
			name: "Scatterv", in: rootOnly(lenAllParts), out: lenOwnPart,
			model: func(m *model) []T { return blockOf(m.in[m.root], m.uneven, m.rank) },
			start: func(a *args) *mpi.Request {
				return mpi.Iscatterv(a.c, a.in, a.uneven.counts, a.uneven.displs, a.out, a.root)
			},
			call: func(a *args) error { return mpi.Scatterv(a.c, a.in, a.uneven.counts, a.uneven.displs, a.out, a.root) },
		}, {
			name: "Allgather", in: lenOne, out: lenEach,
			model: func(m *model) []T { return slices.Concat(m.in...) },
			start: func(a *args) *mpi.Request { return mpi.Iallgather(a.c, a.in, a.out) },
			call:  func(a *args) error { return mpi.Allgather(a.c, a.in, a.out) },
		}, {
			name: "Allgatherv", in: lenOwnPart, out: lenAllParts,
			model: func(m *model) []T { return m.place(m.uneven, func(r int) []T { return m.in[r] }) },
			start: func(a *args) *mpi.Request {
				return mpi.Iallgatherv(a.c, a.in, a.out, a.uneven.counts, a.uneven.displs)
			},
			call: func(a *args) error { return mpi.Allgatherv(a.c, a.in, a.out, a.uneven.counts, a.uneven.displs) },
		}, {
			name: "Alltoall", in: lenEach, out: lenEach,
			model: func(m *model) []T {
				return m.place(m.even, func(r int) []T { return blockOf(m.in[r], m.even, m.rank) })
			},
			start: func(a *args) *mpi.Request { return mpi.Ialltoall(a.c, a.in, a.out) },
			call:  func(a *args) error { return mpi.Alltoall(a.c, a.in, a.out) },
		}, {
			name: "Alltoallv", in: lenToEach, out: lenFromEach,
			model: func(m *model) []T {
				return m.place(m.gets[m.rank], func(r int) []T { return blockOf(m.in[r], m.sends[r], m.rank) })
			},
			start: func(a *args) *mpi.Request {
				to, from := a.sends[a.rank], a.gets[a.rank]
				return mpi.Ialltoallv(a.c, a.in, to.counts, to.displs, a.out, from.counts, from.displs)
			},
			call: func(a *args) error {
				to, from := a.sends[a.rank], a.gets[a.rank]
				return mpi.Alltoallv(a.c, a.in, to.counts, to.displs, a.out, from.counts, from.displs)
			},
		}, {
			name: "Reduce", reduces: true, in: lenOne, out: rootOnly(lenOne),
			model: func(m *model) []T {
				if m.rank != m.root {
					return nil
				}
				return m.fold(m.size)
			},
			start: func(a *args) *mpi.Request { return mpi.Ireduce(a.c, a.in, a.out, a.op, a.root) },
			call:  func(a *args) error { return mpi.Reduce(a.c, a.in, a.out, a.op, a.root) },
		}, {
			name: "Allreduce", reduces: true, in: lenOne, out: lenOne,
			model: func(m *model) []T { return m.fold(m.size) },
			start: func(a *args) *mpi.Request { return mpi.Iallreduce(a.c, a.in, a.out, a.op) },
			call:  func(a *args) error { return mpi.Allreduce(a.c, a.in, a.out, a.op) },
		}, {
			name: "Scan", reduces: true, in: lenOne, out: lenOne,
			model: func(m *model) []T { return m.fold(m.rank + 1) },
			start: func(a *args) *mpi.Request { return mpi.Iscan(a.c, a.in, a.out, a.op) },
			call:  func(a *args) error { return mpi.Scan(a.c, a.in, a.out, a.op) },
		}, {
			name: "Exscan", reduces: true, in: lenOne, out: lenOne,
			model: func(m *model) []T {
				if m.rank == 0 {
					return nil
				}
				return m.fold(m.rank)
			},
			start: func(a *args) *mpi.Request { return mpi.Iexscan(a.c, a.in, a.out, a.op) },
			call:  func(a *args) error { return mpi.Exscan(a.c, a.in, a.out, a.op) },
		}, {
			name: "ReduceScatterBlock", reduces: true, in: lenEach, out: lenOne,
			model: func(m *model) []T { return blockOf(m.fold(m.size), m.even, m.rank) },
			start: func(a *args) *mpi.Request { return mpi.IreduceScatterBlock(a.c, a.in, a.out, a.op) },
			call:  func(a *args) error { return mpi.ReduceScatterBlock(a.c, a.in, a.out, a.op) },
		}, {
			name: "ReduceScatter", reduces: true, in: lenPacked, out: lenOwnPart,
			model: func(m *model) []T {
				at := 0
				for _, n := range m.uneven.counts[:m.rank] {
					at += n
				}
				return m.fold(m.size)[at : at+m.uneven.counts[m.rank]]
			},
			start: func(a *args) *mpi.Request {
				return mpi.IreduceScatter(a.c, a.in, a.out, a.uneven.counts, a.op)
			},
			call: func(a *args) error { return mpi.ReduceScatter(a.c, a.in, a.out, a.uneven.counts, a.op) },
		}, {
			name: "persistent Allreduce", reduces: true, in: lenOne, out: lenOne,
			model: func(m *model) []T { return m.fold(m.size) },
			start: func(a *args) *mpi.Request { return startNow(mpi.AllreduceInit(a.c, a.in, a.out, a.op)) },
			call: func(a *args) error {
				_, err := startNow(mpi.AllreduceInit(a.c, a.in, a.out, a.op)).Wait()
				return err
			},
		}, {
			name: "persistent Alltoallv", in: lenToEach, out: lenFromEach,
			model: func(m *model) []T {
				return m.place(m.gets[m.rank], func(r int) []T { return blockOf(m.in[r], m.sends[r], m.rank) })
			},
			start: func(a *args) *mpi.Request { return startNow(alltoallvInit(a)) },
			call: func(a *args) error {
				_, err := startNow(alltoallvInit(a)).Wait()
				return err
			},
		},
	}
}

// startNow starts a persistent request.
func startNow(r *mpi.Request) *mpi.Request {
	if err := r.Start(); err != nil {
		panic(err)
	}
	return r
}

func alltoallvInit[T any](a *collArgs[T]) *mpi.Request {
	to, from := a.sends[a.rank], a.gets[a.rank]
	return mpi.AlltoallvInit(a.c, a.in, to.counts, to.displs, a.out, from.counts, from.displs)
}

// collectivesOf makes operations of the table for one element type.
func collectivesOf[T any](e *randomElem[T]) (ops []randomOp) {
	for _, k := range randomColls[T]() {
		if k.reduces && len(e.ops) == 0 {
			continue
		}
		ops = append(ops, randomOp{name: k.name + " of " + e.name, draw: func(d *dice) (string, func(*strand)) {
			s, id, blocking := drawShape(d, e.most), d.number(), d.chance(2)
			var red randomReduction[T]
			if k.reduces {
				red = e.ops[d.IntN(len(e.ops))]
			}
			return fmt.Sprintf("%s of %d, root %d, blocking %t", red.name, s.n, s.root, blocking), func(x *strand) {
				perform(x, e, &k, s, red.op, id, blocking)
			}
		}})
	}
	return ops
}

// perform is one rank's part in a collective.
func perform[T any](x *strand, e *randomElem[T], k *randomColl[T], s *randomShape, op mpi.Op[T], id int, blocking bool) {
	me := x.c.Rank()
	m := &sequential[T]{randomShape: s, rank: me, op: op, at: e.at}
	for r := range s.size {
		m.in = append(m.in, e.vector(k.in(s, r), codeOf(id, r)))
	}
	a := &collArgs[T]{randomShape: s, c: x.c, rank: me, in: slices.Clone(m.in[me]), out: e.blank(k.out(s, me)), op: op}
	if k.inPlace {
		copy(a.out, a.in)
	}
	verify := func(mpi.Status) {
		want := k.model(m)
		if want == nil {
			want = e.blank(len(a.out))
		}
		compare(x, e, "the result", a.out, want)
		compare(x, e, "the input", a.in, m.in[me])
	}
	if blocking {
		x.must(k.call(a))
		verify(mpi.Status{})
		return
	}
	x.leave(k.start(a), verify)
}
