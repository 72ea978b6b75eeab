package tests

import (
	"math/rand/v2"
	"reflect"
	"slices"

	"github.com/fitmpi/fitmpi/mpi"
)

// Random datatypes, with a model of what MPI 4.1, chapter 5, says of each: where its elements lie,
// and its bounds.

// randomMap is a Datatype, and what it should be.
type randomMap struct {
	t      *mpi.Datatype
	at     []int // bytes from the origin to each element, in the order in which they travel; none is negative
	lb, ub int   // bytes; all elements lie between, so that copies an extent apart do not overlap
	marked bool  // bounds were set, by Resized or for an array: those of what is made of it follow from these alone
}

func (m *randomMap) extent() int { return m.ub - m.lb }

// mapper draws maps of elements of one type. Those of as many elements have the same signature.
type mapper struct {
	*rand.Rand
	size   int             // bytes of an element
	leaves []*mpi.Datatype // types of one element
	made   []randomMap     // all that were drawn, and their parts
}

// mapperOf draws from a seed of all ranks what this rank has for itself.
func mapperOf[T any](e *randomElem[T], seed uint64, rank int) *mapper {
	return &mapper{Rand: rand.New(rand.NewPCG(seed, uint64(rank))), size: int(reflect.TypeFor[T]().Size()), leaves: e.leaves}
}

// makers make a map of k values of another one. Those that need the bounds of that to begin at 0
// say so.
var makers = []struct {
	make func(g *mapper, k int, u randomMap) randomMap
	zero bool
}{
	{make: (*mapper).contiguous},
	{make: (*mapper).vector},
	{make: (*mapper).backwards},
	{make: (*mapper).indexed},
	{make: (*mapper).indexed}, // twice, for it is four constructors
	{make: (*mapper).subarray, zero: true},
	{make: (*mapper).darray, zero: true},
	{make: (*mapper).columns, zero: true},
}

// draw makes a map of n elements of up to so many levels.
func (g *mapper) draw(n, levels int) randomMap {
	m := g.drawAny(n, levels)
	g.made = append(g.made, m)
	return m
}

func (g *mapper) drawAny(n, levels int) randomMap {
	leaf := randomMap{t: g.leaves[g.IntN(len(g.leaves))], at: []int{0}, ub: g.size}
	switch {
	case n == 0:
		return randomMap{t: mpi.Contiguous(0, leaf.t)}
	case n == 1 && levels == 0:
		return leaf
	case levels == 0:
		return g.contiguous(n, leaf)
	}
	switch g.IntN(8) {
	case 0:
		return g.resized(g.draw(n, levels-1))
	case 1:
		m := g.draw(n, levels-1)
		m.t = m.t.Dup()
		return m
	case 2, 3:
		return g.structOf(n, levels)
	}
	k := g.divisor(n)
	u := g.draw(n/k, levels-1)
	for {
		if m := makers[g.IntN(len(makers))]; u.lb == 0 || !m.zero {
			return m.make(g, k, u)
		}
	}
}

// divisor is any one of n's.
func (g *mapper) divisor(n int) int {
	var all []int
	for k := 1; k <= n && k <= 5000; k++ {
		if n%k == 0 {
			all = append(all, k)
		}
	}
	return all[g.IntN(len(all))]
}

// copies is the map of values of u at displacements in bytes, of which there is at least one.
func copies(t *mpi.Datatype, u randomMap, displs []int) randomMap {
	m := randomMap{t: t, lb: slices.Min(displs) + u.lb, ub: slices.Max(displs) + u.ub, marked: u.marked}
	for _, d := range displs {
		for _, at := range u.at {
			m.at = append(m.at, d+at)
		}
	}
	return m
}

func (g *mapper) contiguous(k int, u randomMap) randomMap {
	displs := make([]int, k)
	for i := range displs {
		displs[i] = i * u.extent()
	}
	return copies(mpi.Contiguous(k, u.t), u, displs)
}

func (g *mapper) vector(k int, u randomMap) randomMap {
	per := g.divisor(k)
	stride := per + g.IntN(3)
	if g.IntN(2) == 0 {
		return copies(mpi.Vector(k/per, per, stride, u.t), u, strided(k/per, per, stride*u.extent(), u))
	}
	step := stride*u.extent() + g.IntN(3)*g.size
	return copies(mpi.Hvector(k/per, per, step, u.t), u, strided(k/per, per, step, u))
}

// strided are the displacements of count blocks of per values, step bytes apart.
func strided(count, per, step int, u randomMap) (displs []int) {
	for i := range count {
		for j := range per {
			displs = append(displs, i*step+j*u.extent())
		}
	}
	return displs
}

// backwards is a vector of negative stride, moved to where it is behind the origin.
func (g *mapper) backwards(k int, u randomMap) randomMap {
	per := g.divisor(k)
	stride := -(per + g.IntN(2))
	v := copies(mpi.Vector(k/per, per, stride, u.t), u, strided(k/per, per, stride*u.extent(), u))
	first := -(k/per - 1) * stride * u.extent()
	return copies(mpi.Hindexed([]int{1}, []int{first}, v.t), v, []int{first})
}

// indexed is blocks of values in any order, by any of the four constructors.
func (g *mapper) indexed(k int, u randomMap) randomMap {
	var lens []int
	if per := g.divisor(k); g.IntN(2) == 0 {
		lens = slices.Repeat([]int{per}, k/per)
	} else {
		for left := k; left > 0; left -= lens[len(lens)-1] {
			lens = append(lens, g.IntN(left+1))
		}
	}
	unit, gap := u.extent(), 1
	if g.IntN(2) == 0 {
		unit, gap = 1, g.size
	}
	per := u.extent() / unit // units of a value
	displs, end := make([]int, len(lens)), 0
	for _, i := range g.Perm(len(lens)) {
		displs[i] = end + g.IntN(3)*gap
		end = displs[i] + lens[i]*per
	}
	var each []int
	for i, n := range lens {
		for j := range n {
			each = append(each, (displs[i]+j*per)*unit)
		}
	}
	return copies(indexedType(lens, displs, unit == 1, u.t), u, each)
}

func indexedType(lens, displs []int, inBytes bool, t *mpi.Datatype) *mpi.Datatype {
	switch even := slices.Max(lens) == slices.Min(lens); {
	case even && inBytes:
		return mpi.HindexedBlock(lens[0], displs, t)
	case even:
		return mpi.IndexedBlock(lens[0], displs, t)
	case inBytes:
		return mpi.Hindexed(lens, displs, t)
	default:
		return mpi.Indexed(lens, displs, t)
	}
}

// structOf is up to three blocks of different maps, which lie in any order.
func (g *mapper) structOf(n, levels int) randomMap {
	var blocks []randomMap
	var lens []int
	var types []*mpi.Datatype
	for left := n; left > 0; {
		part := left
		if len(lens) < 2 {
			part = 1 + g.IntN(left)
		}
		k := g.divisor(part)
		u := g.draw(part/k, levels-1)
		blocks = append(blocks, copies(nil, u, strided(1, k, 0, u)))
		lens, types = append(lens, k), append(types, u.t)
		left -= part
	}
	displs, end := make([]int, len(blocks)), 0
	for _, i := range g.Perm(len(blocks)) {
		displs[i] = end - blocks[i].lb + g.IntN(3)*g.size
		end = displs[i] + blocks[i].ub
	}
	for i, u := range blocks {
		blocks[i] = copies(nil, u, displs[i:i+1])
	}
	return g.joined(mpi.Struct(lens, displs, types), blocks)
}

// joined is a struct of blocks. If some of these have bounds that were set, the others have no
// influence on its bounds (MPI 4.1, section 5.1.6): then it gets new ones, around all.
func (g *mapper) joined(t *mpi.Datatype, blocks []randomMap) randomMap {
	bounds := func(of func(randomMap) bool) (m randomMap) {
		for _, u := range blocks {
			if m.at = append(m.at, u.at...); of(u) {
				if m.t == nil {
					m.t, m.lb, m.ub = t, u.lb, u.ub
				}
				m.lb, m.ub, m.marked = min(m.lb, u.lb), max(m.ub, u.ub), m.marked || u.marked
			}
		}
		return m
	}
	all := bounds(func(randomMap) bool { return true })
	if !all.marked {
		return all
	}
	m := bounds(func(u randomMap) bool { return u.marked })
	g.made = append(g.made, m)
	if m.lb != all.lb || m.ub != all.ub {
		all.t = mpi.Resized(t, all.lb, all.extent())
	}
	return all
}

// resized has other bounds, between which the elements still are.
func (g *mapper) resized(m randomMap) randomMap {
	m.lb = slices.Min(m.at) - g.IntN(3)*g.size
	m.ub = slices.Max(m.at) + (1+g.IntN(3))*g.size
	m.t, m.marked = mpi.Resized(m.t, m.lb, m.ub-m.lb), true
	return m
}

// subarray is a part of an array of up to three dimensions, in either order.
func (g *mapper) subarray(k int, u randomMap) randomMap {
	dims := 1 + g.IntN(3)
	sizes, subs, starts := make([]int, dims), make([]int, dims), make([]int, dims)
	left := k
	for d := range dims {
		subs[d] = left
		if d < dims-1 {
			subs[d] = g.divisor(left)
		}
		left /= subs[d]
		sizes[d] = subs[d] + g.IntN(3)
		starts[d] = g.IntN(sizes[d] - subs[d] + 1)
	}
	order := mpi.OrderC
	if g.IntN(2) == 0 {
		order = mpi.OrderFortran
	}
	displs := []int{0}
	for i := range sizes { // from the dimension that moves slowest on
		d := i
		if order == mpi.OrderFortran {
			d = len(sizes) - 1 - i
		}
		var finer []int
		for _, at := range displs {
			for j := range subs[d] {
				finer = append(finer, at*sizes[d]+(starts[d]+j)*u.extent())
			}
		}
		displs = finer
	}
	m := copies(mpi.Subarray(sizes, subs, starts, order, u.t), u, displs)
	m.lb, m.ub, m.marked = 0, product(sizes)*u.extent(), true
	return m
}

// darray is what one of some processes has of a vector that is dealt out in blocks.
func (g *mapper) darray(k int, u randomMap) randomMap {
	block, procs := 1+g.IntN(k), 1+g.IntN(3)
	rank := g.IntN(procs)
	at := func(j int) int { return (j/block*procs+rank)*block + j%block }
	displs := make([]int, k)
	for j := range displs {
		displs[j] = at(j) * u.extent()
	}
	size := at(k-1) + 1 + g.IntN(at(k)-at(k-1)) // up to where the process would have one more
	m := copies(mpi.Darray(procs, rank, []int{size}, []mpi.Distribution{mpi.DistributeCyclic}, []int{block}, []int{procs}, mpi.OrderC, u.t), u, displs)
	m.lb, m.ub, m.marked = 0, size*u.extent(), true
	return m
}

// columns are some of a matrix, one after the other: values that begin before the one before them
// ends.
func (g *mapper) columns(k int, u randomMap) randomMap {
	cols := g.divisor(k)
	rows, width := k/cols, cols+g.IntN(3)
	column := mpi.Resized(mpi.Vector(rows, 1, width, u.t), 0, u.extent())
	var displs []int
	for c := range cols {
		for r := range rows {
			displs = append(displs, (r*width+c)*u.extent())
		}
	}
	m := copies(mpi.Resized(mpi.Contiguous(cols, column), 0, rows*width*u.extent()), u, displs)
	m.lb, m.ub, m.marked = 0, rows*width*u.extent(), true
	return m
}
