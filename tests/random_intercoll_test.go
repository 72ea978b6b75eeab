package tests

import (
	"fmt"
	"slices"

	"github.com/fitmpi/fitmpi/mpi"
)

// Collectives of random programs over intercommunicators: what each group gets is what the other
// one gives.

// interShape is the lengths of a collective and its root.
type interShape struct {
	*randomGroups
	n          [2]int           // of the blocks that a group gives, where all are equally long
	shares     [2]blockLayout   // a block for each rank of the group
	rows, cols [2][]blockLayout // of each rank of the group: what it gives to each of the others, and gets from them
	parts      [2][]int         // of the elements of a reduction, which are total
	total      int
	side, root int // the root's group, and its rank there
}

func drawInterShape(d *dice, g *randomGroups, most int, vary bool) *interShape {
	side := d.IntN(2)
	s := &interShape{randomGroups: g, side: side, root: d.IntN(len(g.of[side])), n: [2]int{d.length(most), d.length(most)}}
	layout := func(n, blocks int) blockLayout {
		if !vary {
			return packedBlocks(slices.Repeat([]int{n}, blocks))
		}
		counts := make([]int, blocks)
		for i := range counts {
			counts[i] = d.IntN(2) * d.IntN(n+2)
		}
		return drawLayout(counts, d)
	}
	sizes := [2]int{len(g.of[0]), len(g.of[1])}
	s.total = (1 + d.IntN(max(1, most/(sizes[0]*sizes[1])))) * sizes[0] * sizes[1]
	for k := range 2 {
		s.shares[k] = layout(s.n[k], sizes[k])
		for range sizes[k] {
			s.rows[k] = append(s.rows[k], layout(s.n[k], sizes[1-k]))
		}
		s.parts[k] = slices.Repeat([]int{s.total / sizes[k]}, sizes[k])
		for range sizes[k] {
			if a, b := d.IntN(sizes[k]), d.IntN(sizes[k]); vary {
				m := d.IntN(s.parts[k][a] + 1)
				s.parts[k][a] -= m
				s.parts[k][b] += m
			}
		}
	}
	for k := range 2 {
		for i := range sizes[k] {
			var counts []int
			for _, row := range s.rows[1-k] {
				counts = append(counts, row.counts[i])
			}
			if vary {
				s.cols[k] = append(s.cols[k], drawLayout(counts, d))
			} else {
				s.cols[k] = append(s.cols[k], packedBlocks(counts))
			}
		}
	}
	return s
}

// interPart is one rank's part in a collective.
type interPart[T any] struct {
	*interShape
	e        *randomElem[T]
	c        *mpi.Comm
	mine, me int // its group, and its rank there
	id       int
	op       mpi.Op[T]
}

// gives is what a rank of a group gives as its j-th block in a round.
func (p *interPart[T]) gives(side, rank, j, round, n int) []T {
	return p.e.vector(n, codeOf(p.id, p.of[side][rank])+int64(j)<<24+int64(round)<<30)
}

// rootArg is the root argument.
func (p *interPart[T]) rootArg() int {
	switch {
	case p.mine != p.side:
		return p.root
	case p.me == p.root:
		return mpi.Root
	}
	return mpi.ProcNull
}

// one is a buffer of a single block.
func one[T any](n int, piece func(i, round int) []T) pieces[T] {
	return pieces[T]{packedBlocks([]int{n}), piece}
}

// own is this rank's buffer of one block; theirs has a block of each rank of the other group.
func (p *interPart[T]) own(n int) pieces[T] {
	return one(n, func(_, round int) []T { return p.gives(p.mine, p.me, 0, round, n) })
}

func (p *interPart[T]) theirs() pieces[T] {
	l := p.shares[1-p.mine]
	return pieces[T]{l, func(i, round int) []T { return p.gives(1-p.mine, i, 0, round, l.counts[i]) }}
}

// fold is a part of what the ranks of the other group give, combined in their order.
func (p *interPart[T]) fold(n, lo, hi int) pieces[T] {
	return one(hi-lo, func(_, round int) []T {
		acc := p.gives(1-p.mine, 0, 0, round, n)
		for i := 1; i < len(p.of[1-p.mine]); i++ {
			p.op(acc, p.gives(1-p.mine, i, 0, round, n))
		}
		return acc[lo:hi]
	})
}

// rooted is a buffer at the root, one at the ranks of the other group, and none elsewhere.
func (p *interPart[T]) rooted(root, others func() pieces[T]) pieces[T] {
	switch p.rootArg() {
	case mpi.ProcNull:
		return pieces[T]{}
	case mpi.Root:
		return root()
	default:
		return others()
	}
}

// interColl is a collective, with what a rank gives and gets; bind is nil for the one that takes
// datatypes.
type interColl[T any] struct {
	name          string
	vary, reduces bool
	out, in       func(p *interPart[T]) pieces[T]
	bind          func(p *interPart[T], from, into []T) form
}

func nothing[T any]() pieces[T] { return pieces[T]{} }

// interMakerOf makes collectives of one element type.
func interMakerOf[T any](e *randomElem[T]) interMaker {
	return func(d *dice, g *randomGroups) (string, func(*strand)) {
		kinds := slices.DeleteFunc(interColls[T](), func(k interColl[T]) bool {
			return k.reduces && len(e.ops) == 0 || k.bind == nil && e.leaves == nil
		})
		k := kinds[d.IntN(len(kinds))]
		s, id, way, seed := drawInterShape(d, g, e.most/8, k.vary), d.number(), drawWay(d), d.Uint64()
		var red randomReduction[T]
		if k.reduces {
			red = e.ops[d.IntN(len(e.ops))]
		}
		return fmt.Sprintf("%s of %s %s, %v and %d, root %d of group %d, way %d", k.name, e.name, red.name, s.n, s.total, s.root, s.side, way), func(x *strand) {
			p := &interPart[T]{interShape: s, e: e, c: x.c, mine: x.side, me: x.c.Rank(), id: id, op: red.op}
			if k.bind == nil {
				x.runForm(typedForm(x, x.c, e, mapperOf(e, seed, p.of[p.mine][p.me]), alltoallw[T](), k.out(p), k.in(p)), way)
				return
			}
			x.runForm(flatForm(x, e, k.out(p), k.in(p), func(from, into []T) form {
				f := k.bind(p, from, into)
				f.name = k.name
				return f
			}), way)
		}
	}
}
