package tests

import (
	"fmt"
	"slices"

	"github.com/fitmpi/fitmpi/mpi"
)

// Buffers with layouts in random programs: both ends of a message have the same signature, and each
// a layout of its own.

// mapLevels is how deep datatypes nest.
const mapLevels = 3

// laidMost are the elements of one value of a datatype that are worth their time.
func laidMost[T any](e *randomElem[T]) int { return min(e.most, 20_000) }

var laidMakers = []letterMaker{laidLetterOf(&randomInts), laidLetterOf(&randomBytes), laidLetterOf(&randomPairs)}

// layoutOps are messages and collectives with layouts.
var layoutOps = slices.Concat(
	lettersOf(laidMakers),
	laidCollectivesOf(&randomInts), laidCollectivesOf(&randomPairs),
	laidReductionsOf(&randomInts), laidReductionsOf(&randomPairs),
	typedAlltoallOf(&randomInts), typedAlltoallOf(&randomBytes), typedAlltoallOf(&randomPairs),
)

func laidLetterOf[T any](e *randomElem[T]) letterMaker {
	small := *e
	small.most = laidMost(e)
	return letterMakerOf(&small, true)
}

// laying says whether a buffer has a layout, which its rank draws from the seed.
type laying struct {
	laid, more bool // more: there is room for more than arrives
	seed       uint64
}

func (l laying) String() string {
	if l.laid {
		return "laid out "
	}
	return ""
}

func drawLaying(d *dice, may bool) laying {
	if !may {
		return laying{}
	}
	return laying{laid: !d.chance(4), seed: d.Uint64()}
}

// lay is a buffer that holds elements, and nothing between them, with its datatype.
func lay[T any](x *strand, e *randomElem[T], l laying, elems []T) (*mpi.Datatype, []T) {
	if !l.laid {
		return nil, elems
	}
	g := mapperOf(e, l.seed, 0)
	n := len(elems)
	if l.more {
		n += 1 + g.IntN(5)
	}
	m := g.draw(n, mapLevels)
	x.checkMaps(g)
	b := e.blank(m.elements(g.size, 1))
	put(b, &m, g.size, elems)
	return m.t, b
}

// checkMaps compares what all datatypes that were drawn say of themselves with the model.
func (x *strand) checkMaps(g *mapper) {
	for _, m := range g.made {
		x.must(m.t.Err())
		if lb, extent := m.t.Extent(); lb != m.lb || extent != m.extent() {
			x.failf("%v begins at %d and has extent %d, want %d and %d", m.t, lb, extent, m.lb, m.extent())
		}
		if lb, _ := m.t.TrueExtent(); len(m.at) > 0 && lb != slices.Min(m.at) {
			x.failf("the data of %v begin at %d, want %d", m.t, lb, slices.Min(m.at))
		}
	}
}

// elements are those of a buffer that so many values just fit in.
func (m *randomMap) elements(size, values int) int {
	if len(m.at) == 0 || values == 0 {
		return 0
	}
	return ((values-1)*m.extent()+slices.Max(m.at))/size + 1
}

// put puts elements where the first value of a map has them.
func put[T any](b []T, m *randomMap, size int, elems []T) {
	for i, v := range elems {
		b[m.at[i]/size] = v
	}
}

// layBlocks draws a map for each block, one after the other: the types are shifted to where they
// are in a buffer of n elements.
func layBlocks(x *strand, g *mapper, counts []int) (types []*mpi.Datatype, maps []randomMap, n int) {
	for _, k := range counts {
		m := g.draw(k, mapLevels-1)
		at := []int{(n + g.IntN(3)) * g.size}
		if m = copies(mpi.Hindexed([]int{1}, at, m.t), m, at); k == 0 && g.IntN(2) == 0 {
			m.t = nil // which is no data
		}
		types, maps, n = append(types, m.t), append(maps, m), max(n, m.elements(g.size, 1))
	}
	x.checkMaps(g)
	return types, maps, n
}

// laidCollectivesOf makes operations of the collectives that take layouts. Each block is a number
// of values, of n elements.
func laidCollectivesOf[T any](e *randomElem[T]) (ops []randomOp) {
	models := randomColls[int64]()
	for i, k := range randomColls[T]() {
		if k.reduces || k.name == "Barrier" {
			continue
		}
		ops = append(ops, randomOp{name: k.name + " of layouts of " + e.name, draw: func(d *dice) (string, func(*strand)) {
			s, n, id, blocking, seed := drawShapeOf(d, 1), d.length(laidMost(e)/8), d.number(), d.chance(2), d.Uint64()
			return fmt.Sprintf("values of %d, root %d, blocking %t", n, s.root, blocking), func(x *strand) {
				performLaid(x, e, &k, &models[i], s, n, id, blocking, seed)
			}
		}})
	}
	return ops
}

// performLaid is perform where elements are values of datatypes, of n elements each. The model
// moves the codes of values.
func performLaid[T any](x *strand, e *randomElem[T], k *randomColl[T], model *randomColl[int64], s *randomShape, n, id int, blocking bool, seed uint64) {
	me := x.c.Rank()
	m := &sequential[int64]{randomShape: s, rank: me, at: randomInts.at}
	for r := range s.size {
		m.in = append(m.in, randomInts.vector(model.in(s, r), codeOf(id, r)))
	}
	g := mapperOf(e, seed, me)
	send, recv := g.draw(n, mapLevels), g.draw(n, mapLevels)
	x.checkMaps(g)
	in := values(e, g, &send, n, m.in[me])
	switch k.name { // a buffer of this rank's block alone is one value
	case "Gatherv", "Allgatherv":
		send.t = mpi.Contiguous(len(m.in[me]), send.t)
	case "Scatterv":
		recv.t = mpi.Contiguous(model.out(s, me), recv.t)
	}
	a := &collArgs[T]{randomShape: s, c: x.c.WithTypes(send.t, recv.t), rank: me, in: slices.Clone(in)}
	nothing := randomInts.blank(model.out(s, me))
	if a.out = values(e, g, &recv, n, nothing); k.inPlace && me == s.root {
		recv, a.out = send, slices.Clone(in)
	}
	verify := func(mpi.Status) {
		codes := model.model(m)
		if codes == nil {
			codes = nothing
		}
		compare(x, e, fmt.Sprintf("the result in %v", recv.t), a.out, values(e, g, &recv, n, codes))
		compare(x, e, fmt.Sprintf("the input in %v", send.t), a.in, in)
	}
	if blocking {
		x.must(k.call(a))
		verify(mpi.Status{})
		return
	}
	x.leave(k.start(a), verify)
}

// laidReductionsOf is laidCollectivesOf of the reductions, which work on elements.
func laidReductionsOf[T any](e *randomElem[T]) (ops []randomOp) {
	for _, k := range randomColls[T]() {
		if !k.reduces || len(e.ops) == 0 {
			continue
		}
		ops = append(ops, randomOp{name: k.name + " of layouts of " + e.name, draw: func(d *dice) (string, func(*strand)) {
			s, n, id, blocking, seed := drawShapeOf(d, 1), d.length(laidMost(e)/8), d.number(), d.chance(2), d.Uint64()
			red := e.ops[d.IntN(len(e.ops))]
			return fmt.Sprintf("%s of values of %d, root %d, blocking %t", red.name, n, s.root, blocking), func(x *strand) {
				reduceLaid(x, e, &k, s, n, red.op, id, blocking, seed)
			}
		}})
	}
	return ops
}

// reduceLaid is perform where the blocks of s are of values of datatypes, of n elements each.
func reduceLaid[T any](x *strand, e *randomElem[T], k *randomColl[T], s *randomShape, n int, op mpi.Op[T], id int, blocking bool, seed uint64) {
	me, elems := x.c.Rank(), s.times(n)
	m := &sequential[T]{randomShape: elems, rank: me, op: op, at: e.at}
	for r := range s.size {
		m.in = append(m.in, e.vector(k.in(elems, r), codeOf(id, r)))
	}
	g := mapperOf(e, seed, me)
	send, recv := g.draw(n, mapLevels), g.draw(n, mapLevels)
	x.checkMaps(g)
	in := spreadOut(e, g, &send, n, m.in[me])
	nothing := e.blank(k.out(elems, me))
	a := &collArgs[T]{randomShape: s, c: x.c.WithTypes(send.t, recv.t), rank: me, op: op,
		in: slices.Clone(in), out: spreadOut(e, g, &recv, n, nothing)}
	verify := func(mpi.Status) {
		want := k.model(m)
		if want == nil {
			want = nothing
		}
		compare(x, e, fmt.Sprintf("the result in %v", recv.t), a.out, spreadOut(e, g, &recv, n, want))
		compare(x, e, fmt.Sprintf("the input in %v", send.t), a.in, in)
	}
	if blocking {
		x.must(k.call(a))
		verify(mpi.Status{})
		return
	}
	x.leave(k.start(a), verify)
}

// times is s of blocks n times as long.
func (s *randomShape) times(n int) *randomShape {
	scale := func(l blockLayout) blockLayout {
		return blockLayout{scaled(l.counts, n), scaled(l.displs, n), l.len * n}
	}
	return &randomShape{size: s.size, n: s.n * n, root: s.root, even: scale(s.even), uneven: scale(s.uneven)}
}

// spreadOut is a buffer of values of n elements each, which follow each other at the extent of
// their map.
func spreadOut[T any](e *randomElem[T], g *mapper, m *randomMap, n int, elems []T) []T {
	if n == 0 {
		return nil
	}
	b := e.blank(m.elements(g.size, len(elems)/n))
	for v := range len(elems) / n {
		put(b[min(v*m.extent()/g.size, len(b)):], m, g.size, elems[v*n:(v+1)*n])
	}
	return b
}

// values is a buffer of values of n elements each, which follow each other at the extent of their
// map: one for each code, which is noCode where nothing is.
func values[T any](e *randomElem[T], g *mapper, m *randomMap, n int, codes []int64) []T {
	const count = 1<<32 - 1 // the part of a code that counts elements
	b := e.blank(m.elements(g.size, len(codes)))
	for v, code := range codes {
		if code != noCode {
			put(b[min(v*m.extent()/g.size, len(b)):], m, g.size, e.vector(n, code&^count+code&count*int64(n)))
		}
	}
	return b
}

// typedAlltoallOf exchanges blocks of any lengths, each with layouts of its own at both ends.
func typedAlltoallOf[T any](e *randomElem[T]) []randomOp {
	return []randomOp{{name: "Alltoallw of " + e.name, draw: func(d *dice) (string, func(*strand)) {
		s, id, way, seed := drawShapeOf(d, d.length(laidMost(e)/8)), d.number(), drawWay(d), d.Uint64()
		return fmt.Sprintf("up to %d, way %d", s.n+1, way), func(x *strand) {
			me := x.c.Rank()
			piece := func(from, to, round int) []T {
				return e.vector(s.sends[from].counts[to], codeOf(id, from)+int64(to)<<24+int64(round)<<30)
			}
			x.runForm(typedForm(x, x.c, e, mapperOf(e, seed, me), alltoallw[T](),
				pieces[T]{s.sends[me], func(r, round int) []T { return piece(me, r, round) }},
				pieces[T]{s.gets[me], func(r, round int) []T { return piece(r, me, round) }}), way)
		}
	}}}
}
