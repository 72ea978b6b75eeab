package tests

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fitmpi/fitmpi/mpi"
)

// Topologies and neighbourhood collectives of random programs. The model knows nothing of the
// library's inquiries: all ranks draw which ranks are whose neighbours.

// randomTopology is the neighbours of each rank of a communicator with a topology, by its rank
// there.
type randomTopology struct {
	what                  string
	grid                  bool
	sources, destinations [][]int
	tag                   int // drawn last in the communicator
	make                  func(c *mpi.Comm) (*mpi.Comm, error)
}

// from is the block that a rank gets from its j-th source: of which rank, and which of those that
// it sends.
func (p *randomTopology) from(rank, j int) block {
	switch s := p.sources[rank][j]; {
	case s == mpi.ProcNull:
		return block{s, 0}
	case p.grid:
		return block{s, j ^ 1}
	default:
		earlier := 0 // edges from there to here
		for _, r := range p.sources[rank][:j] {
			if r == s {
				earlier++
			}
		}
		return block{s, nth(p.destinations[s], rank, earlier)}
	}
}

// randomTopologies draw topologies.
var randomTopologies = []func(d *dice) *randomTopology{drawGrid, drawGraph, drawAdjacent, drawScattered}

func drawGrid(d *dice) *randomTopology {
	var dims []int
	var periods []bool
	for left := d.size; len(dims) < 3 && !d.chance(4); left /= dims[len(dims)-1] {
		dims, periods = append(dims, 1+d.IntN(left)), append(periods, d.chance(2))
	}
	p := &randomTopology{grid: true, what: fmt.Sprint("a grid of ", dims, periods)}
	for r := range product(dims) {
		var near []int
		for dim := range dims {
			near = append(near, besideInGrid(dims, periods, r, dim, -1), besideInGrid(dims, periods, r, dim, 1))
		}
		p.sources = append(p.sources, near)
	}
	p.destinations = p.sources
	reorder := d.chance(2)
	p.make = func(c *mpi.Comm) (*mpi.Comm, error) { return c.CartCreate(dims, periods, reorder) }
	return p
}

// besideInGrid is the rank that is one step away.
func besideInGrid(dims []int, periods []bool, rank, dim, step int) int {
	at := coordsOf(dims, rank)
	if at[dim] += step; at[dim] < 0 || at[dim] == dims[dim] {
		if !periods[dim] {
			return mpi.ProcNull
		}
		at[dim] = (at[dim] + dims[dim]) % dims[dim]
	}
	r := 0
	for i, k := range at {
		r = r*dims[i] + k
	}
	return r
}

// drawGraph draws a graph that has each edge both ways.
func drawGraph(d *dice) *randomTopology {
	near := make([][]int, 1+d.IntN(d.size))
	for range d.IntN(3 * len(near)) {
		a, b := d.IntN(len(near)), d.IntN(len(near))
		if near[a] = append(near[a], b); a != b {
			near[b] = append(near[b], a)
		}
	}
	var index, edges []int
	for _, list := range near {
		d.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		edges = append(edges, list...)
		index = append(index, len(edges))
	}
	reorder := d.chance(2)
	return &randomTopology{what: fmt.Sprint("a graph of ", near), sources: near, destinations: near,
		make: func(c *mpi.Comm) (*mpi.Comm, error) { return c.GraphCreate(index, edges, reorder) }}
}

// drawAdjacent draws a graph of which each rank knows its own edges, in any order.
func drawAdjacent(d *dice) *randomTopology {
	p := &randomTopology{sources: make([][]int, d.size), destinations: make([][]int, d.size)}
	for range d.IntN(4 * d.size) {
		a, b := d.rank(), d.rank()
		p.destinations[a] = slices.Insert(p.destinations[a], d.IntN(len(p.destinations[a])+1), b)
		p.sources[b] = slices.Insert(p.sources[b], d.IntN(len(p.sources[b])+1), a)
	}
	reorder := d.chance(2)
	p.what = fmt.Sprint("a graph by its ends, sources ", p.sources, ", destinations ", p.destinations)
	p.make = func(c *mpi.Comm) (*mpi.Comm, error) {
		return c.DistGraphCreateAdjacent(p.sources[c.Rank()], mpi.Unweighted, p.destinations[c.Rank()], mpi.Unweighted, reorder)
	}
	return p
}

// drawScattered draws a graph of which any rank may know any edges.
func drawScattered(d *dice) *randomTopology {
	edges, weighted, reorder := randomGraph(d.Rand, d.size), d.chance(2), d.chance(2)
	p := &randomTopology{what: fmt.Sprint("a graph of ", edges)}
	for r := range d.size {
		sources, _, destinations, _ := listsOf(edges, r)
		p.sources, p.destinations = append(p.sources, sources), append(p.destinations, destinations)
	}
	p.make = func(c *mpi.Comm) (*mpi.Comm, error) { return scattered(c, edges, weighted, reorder) }
	return p
}

// neighbourOps make a topology and use it; what is not complete when it is freed completes later.
var neighbourOps = []randomOp{{name: "neighbours", draw: func(d *dice) (string, func(*strand)) {
	p, dup := randomTopologies[d.IntN(len(randomTopologies))](d), d.chance(4)
	var what strings.Builder
	fmt.Fprintf(&what, "%s, copied %t", p.what, dup)
	var runs []func(x *strand, g *mpi.Comm)
	for range 1 + d.IntN(4) {
		w, run := neighbourMakers[d.IntN(len(neighbourMakers))](d, p)
		what.WriteString("\n  " + w)
		runs = append(runs, run)
	}
	return what.String(), func(x *strand) {
		g, err := p.make(x.c)
		x.must(err)
		if g == nil {
			return
		}
		if dup {
			first := g
			g, err = g.Dup(nil)
			x.must(err)
			x.must(first.Free())
		}
		if g.Size() != len(p.sources) {
			x.failf("%v has %d ranks, want %d", g, g.Size(), len(p.sources))
		}
		for _, run := range runs {
			run(x, g)
		}
		x.must(g.Free())
	}
}}}

// neighbourMaker draws a collective on a topology.
type neighbourMaker func(d *dice, p *randomTopology) (what string, run func(x *strand, g *mpi.Comm))

var neighbourMakers = []neighbourMaker{
	neighbourMakerOf(&randomInts), neighbourMakerOf(&randomBytes), neighbourMakerOf(&randomPairs),
	neighbourMakerOf(&randomStrings), neighbourMakerOf(&randomRecords), besideNeighbours,
}

// besideNeighbours is anything that goes on in the communicator beside.
func besideNeighbours(d *dice, p *randomTopology) (string, func(*strand, *mpi.Comm)) {
	s := d.inner(len(p.sources), &p.tag)
	return s.what, func(x *strand, g *mpi.Comm) { x.on(g, func() { s.run(x) }) }
}

// neighbourBlocks are the lengths of what goes along the edges.
type neighbourBlocks struct {
	sends, gets []blockLayout // of each rank
	same        bool          // a rank sends the same to all
}

// drawNeighbourBlocks draws them: of n elements, or of lengths that vary by rank, or by edge.
func drawNeighbourBlocks(d *dice, p *randomTopology, n int, vary, same bool) *neighbourBlocks {
	b := &neighbourBlocks{same: same}
	length := func(otherwise int) int {
		if !vary {
			return n
		}
		if same && otherwise >= 0 {
			return otherwise
		}
		return d.IntN(2) * d.IntN(n+2)
	}
	place := packedBlocks
	if vary {
		place = func(counts []int) blockLayout { return drawLayout(counts, d) }
	}
	own := make([]int, len(p.sources)) // of each rank, where it sends the same to all
	for r := range own {
		own[r] = length(-1)
	}
	for r, list := range p.destinations {
		var counts []int
		for range list {
			counts = append(counts, length(own[r]))
		}
		b.sends = append(b.sends, place(counts))
	}
	for r, list := range p.sources {
		var counts []int
		for j := range list {
			n := length(-1) // of ProcNull any length will do
			if f := p.from(r, j); f.rank != mpi.ProcNull {
				n = b.sends[f.rank].counts[f.i]
			}
			counts = append(counts, n)
		}
		b.gets = append(b.gets, place(counts))
	}
	if same { // and gives it once
		for r := range b.sends {
			b.sends[r] = packedBlocks([]int{own[r]})
		}
	}
	return b
}

// neighbourMakerOf makes collectives of one element type.
func neighbourMakerOf[T any](e *randomElem[T]) neighbourMaker {
	return func(d *dice, p *randomTopology) (string, func(*strand, *mpi.Comm)) {
		kinds := neighbourColls[T]()
		if e.leaves == nil {
			kinds = slices.DeleteFunc(kinds, func(k neighbourColl[T]) bool { return k.bind == nil })
		}
		k := kinds[d.IntN(len(kinds))]
		n := d.length(e.most / 16)
		b := drawNeighbourBlocks(d, p, n, k.vary, k.same)
		id, way, seed := d.number(), drawWay(d), d.Uint64()
		return fmt.Sprintf("%s of %d %s, way %d", k.name, n, e.name, way), func(x *strand, g *mpi.Comm) {
			me := g.Rank()
			piece := func(f block, n, round int) []T {
				if f.rank == mpi.ProcNull {
					return nil
				}
				if k.same {
					f.i = 0
				}
				return e.vector(n, codeOf(id, f.rank)+int64(f.i)<<24+int64(round)<<30)
			}
			out := pieces[T]{b.sends[me], func(i, round int) []T { return piece(block{me, i}, b.sends[me].counts[i], round) }}
			in := pieces[T]{b.gets[me], func(j, round int) []T { return piece(p.from(me, j), b.gets[me].counts[j], round) }}
			if k.bind == nil {
				x.runForm(typedForm(x, g, e, mapperOf(e, seed, me), neighborAlltoallw[T](), out, in), way)
				return
			}
			x.runForm(flatForm(x, e, out, in, func(from, into []T) form {
				return k.bind(g, from, out.blockLayout, into, in.blockLayout)
			}), way)
		}
	}
}

// neighbourColl is one of the collectives; bind is nil for the one that takes datatypes.
type neighbourColl[T any] struct {
	name       string
	vary, same bool
	bind       func(g *mpi.Comm, from []T, out blockLayout, into []T, in blockLayout) form
}

func neighbourColls[T any]() []neighbourColl[T] {
	return []neighbourColl[T]{
		{"NeighborAllgather", false, true, func(g *mpi.Comm, from []T, _ blockLayout, into []T, _ blockLayout) form {
			return form{
				name:  "NeighborAllgather",
				block: func() error { return mpi.NeighborAllgather(g, from, into) },
				start: func() *mpi.Request { return mpi.IneighborAllgather(g, from, into) },
				init:  func() *mpi.Request { return mpi.NeighborAllgatherInit(g, from, into) },
			}
		}},
		{"NeighborAllgatherv", true, true, func(g *mpi.Comm, from []T, _ blockLayout, into []T, in blockLayout) form {
			return form{
				name:  "NeighborAllgatherv",
				block: func() error { return mpi.NeighborAllgatherv(g, from, into, in.counts, in.displs) },
				start: func() *mpi.Request { return mpi.IneighborAllgatherv(g, from, into, in.counts, in.displs) },
				init:  func() *mpi.Request { return mpi.NeighborAllgathervInit(g, from, into, in.counts, in.displs) },
			}
		}},
		{"NeighborAlltoall", false, false, func(g *mpi.Comm, from []T, _ blockLayout, into []T, _ blockLayout) form {
			return form{
				name:  "NeighborAlltoall",
				block: func() error { return mpi.NeighborAlltoall(g, from, into) },
				start: func() *mpi.Request { return mpi.IneighborAlltoall(g, from, into) },
				init:  func() *mpi.Request { return mpi.NeighborAlltoallInit(g, from, into) },
			}
		}},
		{"NeighborAlltoallv", true, false, func(g *mpi.Comm, from []T, out blockLayout, into []T, in blockLayout) form {
			return form{
				name: "NeighborAlltoallv",
				block: func() error {
					return mpi.NeighborAlltoallv(g, from, out.counts, out.displs, into, in.counts, in.displs)
				},
				start: func() *mpi.Request {
					return mpi.IneighborAlltoallv(g, from, out.counts, out.displs, into, in.counts, in.displs)
				},
				init: func() *mpi.Request {
					return mpi.NeighborAlltoallvInit(g, from, out.counts, out.displs, into, in.counts, in.displs)
				},
			}
		}},
		{"NeighborAlltoallw", true, false, nil},
	}
}
