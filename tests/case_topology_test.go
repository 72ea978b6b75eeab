package tests

import (
	"context"
	"fmt"
	"slices"

	"github.com/fitmpi/fitmpi/mpi"
)

var topologyCases = []testCase{
	{name: "topology/dims", section: "8.5.2",
		sentence: "The dimensions are set to be as close to each other as possible, and entries that are given are not modified.",
		run:      dimsCreate},
	{name: "topology/cart", section: "8.5.1",
		sentence: "A communicator with a Cartesian topology is made; ranks beyond the size of the grid get none. Ranks are numbered row by row.",
		run:      cartGrids},
	{name: "topology/cart without dimensions", section: "8.5.1",
		sentence: "If ndims is zero then a zero-dimensional Cartesian topology is created: of one rank.",
		run:      cartZero},
	{name: "topology/cart arguments", section: "8.5.1",
		sentence: "It is erroneous to give a grid that is larger than the group, and out-of-range coordinates in dimensions that are not periodic.",
		run:      cartArguments},
	{name: "topology/cart shift", section: "8.5.6",
		sentence: "Source and destination may be given to a send-receive; where a dimension that is not periodic ends they are MPI_PROC_NULL.",
		run:      cartShift},
	{name: "topology/cart sub", section: "8.5.7",
		sentence: "The communicator is partitioned into subgrids of the dimensions that remain, each with its own communicator.",
		run:      cartSub},
	{name: "topology/maps", section: "8.5.8",
		sentence: "The map functions give the rank that the calling process has after reordering, or MPI_UNDEFINED.",
		run:      topologyMaps},
	{name: "topology/reorder", section: "8.5.1",
		sentence: "With reorder the ranks may be numbered anew: each member of the old group has at most one place, and no more edges go between hosts.",
		run:      topologyReorder},
	{name: "topology/kept", section: "7.4.2",
		sentence: "MPI_COMM_DUP duplicates the communicator with its topology; a communicator made otherwise has none.",
		run:      topologyKept},
	{name: "topology/own context", section: "8.5.1",
		sentence: "The function returns a handle to a new communicator: its messages never meet those of the old one.",
		run:      topologyContext},
	{name: "topology/graph", section: "8.5.3",
		sentence: "The i-th entry of index stores the total number of neighbours of the first i nodes; edges lists their neighbours.",
		run:      graphs},
	{name: "topology/graph arguments", section: "8.5.3",
		sentence: "It is erroneous to give a graph that is larger than the group.",
		run:      graphArguments},
	{name: "topology/dist graph adjacent", section: "8.5.4",
		sentence: "Each process passes all information about its incoming and outgoing edges in the virtual distributed graph topology.",
		run:      func(t *T, c *mpi.Comm) { distGraphs(t, c, adjacent) }},
	{name: "topology/dist graph", section: "8.5.4",
		sentence: "Each process may give edges of any other: the graph is made of the edges that all give, with their multiplicity.",
		run:      func(t *T, c *mpi.Comm) { distGraphs(t, c, scattered) }},
	{name: "topology/dist graph arguments", section: "8.5.4",
		sentence: "Every edge is given at both its ends, and all edges have weights or none has: what is wrong at one rank fails at all.",
		run:      distGraphArguments},
	{name: "topology/inquiry", section: "8.5.5",
		sentence: "The topology inquiry functions need a communicator with the topology that they are about.",
		run:      topologyInquiry},
}

func dimsCreate(t *T, c *mpi.Comm) {
	dims, err := mpi.DimsCreate(6, []int{0, 3, 0})
	t.must(err)
	wantSlice(t, "6 in [0 3 0]", dims, []int{2, 3, 1})
	for _, bad := range []struct {
		n    int
		dims []int
	}{{7, []int{0, 3, 0}}, {0, []int{0}}, {4, []int{-1, 0}}, {4, []int{2}}} {
		_, err := mpi.DimsCreate(bad.n, bad.dims)
		wantError(t, fmt.Sprint("DimsCreate of ", bad.n, " in ", bad.dims), err, mpi.ErrDims, "DimsCreate")
	}
	dims, err = mpi.DimsCreate(c.Size(), make([]int, 2))
	t.must(err)
	want(t, "the product", dims[0]*dims[1], c.Size())
}

// eachGrid calls f for grids of up to size places, each periodic in some dimensions.
func eachGrid(size int, f func(dims []int, periods []bool)) {
	shapes := [][]int{{size}, {max(size-1, 1)}, {1, size, 1}}
	for d := 2; d <= size; d++ {
		shapes = append(shapes, []int{d, size / d})
	}
	if size >= 4 {
		shapes = append(shapes, []int{1, 2, 2})
	}
	for i, dims := range shapes {
		for bits := range 1 << len(dims) {
			if (bits+i)%3 == 2 && len(dims) == 3 { // half of them are enough
				continue
			}
			periods := make([]bool, len(dims))
			for k := range dims {
				periods[k] = bits>>k&1 == 1
			}
			f(dims, periods)
		}
	}
}

func product(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// coordsOf are the coordinates of a rank in a grid: by counting up to it.
func coordsOf(dims []int, rank int) []int {
	c := make([]int, len(dims))
	for range rank {
		for i := len(dims) - 1; i >= 0; i-- {
			if c[i]++; c[i] < dims[i] {
				break
			}
			c[i] = 0
		}
	}
	return c
}

// cartOf makes a grid, without reordering.
func cartOf(t *T, c *mpi.Comm, dims []int, periods []bool) *mpi.Comm {
	g, err := c.CartCreate(dims, periods, false)
	t.must(err, "CartCreate", dims, periods)
	want(t, fmt.Sprint("a communicator is there in ", dims), g != nil, c.Rank() < product(dims))
	return g
}

func cartGrids(t *T, c *mpi.Comm) {
	eachGrid(c.Size(), func(dims []int, periods []bool) {
		what := fmt.Sprint(dims, periods)
		g := cartOf(t, c, dims, periods)
		if g == nil {
			return
		}
		want(t, what+" kind", g.TopoTest(), mpi.Cart)
		want(t, what+" size", g.Size(), product(dims))
		want(t, what+" rank", g.Rank(), c.Rank())
		n, err := g.CartdimGet()
		t.must(err)
		want(t, what+" dimensions", n, len(dims))
		d, p, mine, err := g.CartGet()
		t.must(err)
		wantSlice(t, what+" dims", d, dims)
		wantSlice(t, what+" periods", p, periods)
		wantSlice(t, what+" coords", mine, coordsOf(dims, g.Rank()))
		for r := range g.Size() {
			at, err := g.CartCoords(r)
			t.must(err)
			wantSlice(t, what+" coords of a rank", at, coordsOf(dims, r))
			for i, periodic := range periods {
				if periodic {
					at[i] += (r - 1) * dims[i]
				}
			}
			back, err := g.CartRank(at)
			t.must(err)
			want(t, fmt.Sprint(what, " rank at ", at), back, r)
		}
		d[0], p[0], mine[0] = 99, !p[0], 99 // what CartGet returns is the caller's
		_, _, mine, err = g.CartGet()
		t.must(err)
		wantSlice(t, what+" coords", mine, coordsOf(dims, g.Rank()))
	})
	g, err := c.CartCreate([]int{c.Size()}, nil, false)
	t.must(err)
	_, periods, _, err := g.CartGet()
	t.must(err)
	wantSlice(t, "periods that were not given", periods, []bool{false})
}

func cartZero(t *T, c *mpi.Comm) {
	g := cartOf(t, c, nil, nil)
	if g == nil {
		return
	}
	want(t, "kind", g.TopoTest(), mpi.Cart)
	want(t, "size", g.Size(), 1)
	n, err := g.CartdimGet()
	t.must(err)
	want(t, "dimensions", n, 0)
	dims, periods, coords, err := g.CartGet()
	t.must(err)
	want(t, "entries", len(dims)+len(periods)+len(coords), 0)
	r, err := g.CartRank(nil)
	t.must(err)
	want(t, "the rank at no coordinates", r, 0)
	coords, err = g.CartCoords(0)
	t.must(err)
	want(t, "coordinates", len(coords), 0)
	_, _, err = g.CartShift(0, 1)
	wantError(t, "a shift", err, mpi.ErrDims, "dimension 0 of a grid of 0 dimensions")
	s, err := g.CartSub(nil)
	t.must(err)
	n, err = s.CartdimGet()
	t.must(err)
	want(t, "dimensions of its subgrid", n, 0)
}

func cartArguments(t *T, c *mpi.Comm) {
	for _, dims := range [][]int{{c.Size() + 1}, {c.Size(), 2}, {1 << 40, 1 << 40}, {0}, {1, -1}} {
		_, err := c.CartCreate(dims, make([]bool, len(dims)), false)
		wantError(t, fmt.Sprint("CartCreate ", dims), err, mpi.ErrDims)
		_, err = c.CartMap(dims, make([]bool, len(dims)))
		wantError(t, fmt.Sprint("CartMap ", dims), err, mpi.ErrDims)
	}
	_, err := c.CartCreate([]int{1}, []bool{true, true}, false)
	wantError(t, "CartCreate", err, mpi.ErrDims, "1 dimensions, but 2 say")
	g := cartOf(t, c, []int{c.Size(), 1}, []bool{false, true})
	for _, coords := range [][]int{{c.Size(), 0}, {-1, 5}} {
		_, err := g.CartRank(coords)
		wantError(t, "CartRank", err, mpi.ErrArg, fmt.Sprint("coordinates ", coords))
	}
	_, err = g.CartRank([]int{0})
	wantError(t, "CartRank", err, mpi.ErrDims, "1 coordinates for 2 dimensions")
	for _, r := range []int{-1, c.Size(), mpi.ProcNull} {
		_, err := g.CartCoords(r)
		wantError(t, "CartCoords", err, mpi.ErrRank, fmt.Sprintf("rank %d: need 0 to %d", r, c.Size()-1))
	}
	for _, dim := range []int{-1, 2} {
		_, _, err := g.CartShift(dim, 1)
		wantError(t, "CartShift", err, mpi.ErrDims, fmt.Sprintf("dimension %d of a grid of 2", dim))
	}
	_, err = g.CartSub([]bool{true})
	wantError(t, "CartSub", err, mpi.ErrDims, "1 entries for 2 dimensions")
	t.must(g.Free())
	_, _, err = g.CartShift(0, 1)
	wantError(t, "CartShift after Free", err, mpi.ErrComm, "freed")
}

// cartShift sends ranks along every dimension, by every displacement that is of interest, and
// compares with coordinates.
func cartShift(t *T, c *mpi.Comm) {
	eachGrid(c.Size(), func(dims []int, periods []bool) {
		g := cartOf(t, c, dims, periods)
		if g == nil {
			return
		}
		for dim, d := range dims {
			for disp := -d - 1; disp <= d+1; disp++ {
				what := fmt.Sprint(dims, periods, " shifted by ", disp, " along ", dim)
				source, dest, err := g.CartShift(dim, disp)
				t.must(err, what)
				want(t, what+": dest", dest, shiftOf(dims, periods, g.Rank(), dim, disp))
				want(t, what+": source", source, shiftOf(dims, periods, g.Rank(), dim, -disp))
				in := []int{-7}
				_, err = mpi.Sendrecv(g, []int{g.Rank()}, dest, 1, in, source, 1)
				t.must(err, what)
				if source == mpi.ProcNull {
					source = -7
				}
				want(t, what+": what came", in[0], source)
			}
		}
	})
}

// shiftOf finds the rank by its coordinates among all.
func shiftOf(dims []int, periods []bool, rank, dim, disp int) int {
	to := coordsOf(dims, rank)
	to[dim] += disp
	for periods[dim] && to[dim] < 0 {
		to[dim] += dims[dim]
	}
	if periods[dim] {
		to[dim] %= dims[dim]
	}
	for r := range product(dims) {
		if slices.Equal(coordsOf(dims, r), to) {
			return r
		}
	}
	return mpi.ProcNull
}

func cartSub(t *T, c *mpi.Comm) {
	eachGrid(c.Size(), func(dims []int, periods []bool) {
		g := cartOf(t, c, dims, periods)
		if g == nil {
			return
		}
		for bits := range 1 << len(dims) {
			remain := make([]bool, len(dims))
			var keptDims, keptCoords []int
			var keptPeriods []bool
			for i := range dims {
				if remain[i] = bits>>i&1 == 1; remain[i] {
					keptDims, keptPeriods = append(keptDims, dims[i]), append(keptPeriods, periods[i])
					keptCoords = append(keptCoords, coordsOf(dims, g.Rank())[i])
				}
			}
			what := fmt.Sprint(dims, " of which remain ", remain)
			s, err := g.CartSub(remain)
			t.must(err, what)
			d, p, at, err := s.CartGet()
			t.must(err, what)
			wantSlice(t, what+": dims", d, keptDims)
			wantSlice(t, what+": periods", p, keptPeriods)
			wantSlice(t, what+": coords", at, keptCoords)
			// All of the subgrid agree in the other coordinates: their ranks say so.
			all := make([]int, s.Size())
			t.must(mpi.Allgather(s, []int{g.Rank()}, all))
			for r, old := range all {
				wantSlice(t, what+": coords of a rank", coordsOf(keptDims, r), pick(coordsOf(dims, old), remain))
				wantSlice(t, what+": the other coords", pick(coordsOf(dims, old), not(remain)), pick(coordsOf(dims, g.Rank()), not(remain)))
			}
		}
	})
}

func pick(c []int, which []bool) (p []int) {
	for i, w := range which {
		if w {
			p = append(p, c[i])
		}
	}
	return p
}

func not(b []bool) []bool {
	n := make([]bool, len(b))
	for i := range b {
		n[i] = !b[i]
	}
	return n
}

// topologyMaps: what the map functions say is what the create functions do; every place is taken
// once.
func topologyMaps(t *T, c *mpi.Comm) {
	check := func(what string, size, mapped int, g *mpi.Comm) {
		at := mpi.Undefined
		if g != nil {
			at = g.Rank()
		}
		want(t, what+": the mapped rank", mapped, at)
		all := make([]int, c.Size())
		t.must(mpi.Allgather(c, []int{mapped}, all))
		for r := range size {
			want(t, fmt.Sprint(what, ": ", r, " is among ", all), slices.Contains(all, r), true)
		}
		want(t, what+": ranks without a place", len(slices.DeleteFunc(all, func(r int) bool { return r != mpi.Undefined })), c.Size()-size)
	}
	eachGrid(c.Size(), func(dims []int, periods []bool) {
		mapped, err := c.CartMap(dims, periods)
		t.must(err)
		g, err := c.CartCreate(dims, periods, true)
		t.must(err)
		check(fmt.Sprint("cart ", dims), product(dims), mapped, g)
	})
	index, edges := ringGraph(max(c.Size()-1, 1))
	mapped, err := c.GraphMap(index, edges)
	t.must(err)
	g, err := c.GraphCreate(index, edges, true)
	t.must(err)
	check("graph", len(index), mapped, g)
}

func topologyKept(t *T, c *mpi.Comm) {
	want(t, "of the parent", c.TopoTest(), mpi.Undefined)
	g := cartOf(t, c, []int{c.Size()}, []bool{true})
	d, err := g.Dup(nil)
	t.must(err)
	want(t, "of a duplicate", d.TopoTest(), mpi.Cart)
	_, periods, coords, err := d.CartGet()
	t.must(err)
	wantSlice(t, "periods", periods, []bool{true})
	wantSlice(t, "coords", coords, []int{c.Rank()})
	out := make([]int, 2)
	t.must(mpi.NeighborAllgather(d, []int{c.Rank()}, out))
	wantSlice(t, "neighbours", out, []int{left(c), right(c)})
	ctx, cancel := context.WithTimeout(context.Background(), failsafe)
	defer cancel()
	want(t, "with a context", g.WithContext(ctx).TopoTest(), mpi.Cart)
	s, err := g.Split(0, 0)
	t.must(err)
	want(t, "of a split", s.TopoTest(), mpi.Undefined)
}

func topologyContext(t *T, c *mpi.Comm) {
	g := cartOf(t, c, []int{c.Size()}, nil)
	r := mpi.Isend(c, []int{1}, right(c), 3)
	q := mpi.Isend(g, []int{2}, right(c), 3)
	in := []int{0}
	_, err := mpi.Recv(g, in, mpi.AnySource, mpi.AnyTag)
	t.must(err)
	want(t, "the message on the grid", in[0], 2)
	_, err = mpi.Recv(c, in, mpi.AnySource, mpi.AnyTag)
	t.must(err)
	want(t, "the message on the parent", in[0], 1)
	_, err = mpi.WaitAll(r, q)
	t.must(err)
}

// topologyInquiry: each kind of communicator refuses what is of another kind.
func topologyInquiry(t *T, c *mpi.Comm) {
	cart := cartOf(t, c, []int{c.Size()}, nil)
	index, edges := ringGraph(c.Size())
	graph, err := c.GraphCreate(index, edges, false)
	t.must(err)
	dist, err := c.DistGraphCreate(nil, nil, nil, nil, false)
	t.must(err)
	for _, g := range []*mpi.Comm{c, cart, graph, dist} {
		of := map[mpi.Topology][]error{}
		_, e := g.CartdimGet()
		of[mpi.Cart] = append(of[mpi.Cart], e)
		_, _, _, e = g.CartGet()
		of[mpi.Cart] = append(of[mpi.Cart], e)
		_, e = g.CartRank([]int{0})
		of[mpi.Cart] = append(of[mpi.Cart], e)
		_, e = g.CartCoords(0)
		of[mpi.Cart] = append(of[mpi.Cart], e)
		_, _, e = g.CartShift(0, 1)
		of[mpi.Cart] = append(of[mpi.Cart], e)
		_, e = g.CartSub([]bool{true})
		of[mpi.Cart] = append(of[mpi.Cart], e)
		_, _, e = g.GraphdimsGet()
		of[mpi.Graph] = append(of[mpi.Graph], e)
		_, _, e = g.GraphGet()
		of[mpi.Graph] = append(of[mpi.Graph], e)
		_, e = g.GraphNeighborsCount(0)
		of[mpi.Graph] = append(of[mpi.Graph], e)
		_, e = g.GraphNeighbors(0)
		of[mpi.Graph] = append(of[mpi.Graph], e)
		_, _, _, e = g.DistGraphNeighborsCount()
		of[mpi.DistGraph] = append(of[mpi.DistGraph], e)
		_, _, _, _, e = g.DistGraphNeighbors()
		of[mpi.DistGraph] = append(of[mpi.DistGraph], e)
		for kind, errs := range of {
			for i, err := range errs {
				if kind == g.TopoTest() {
					t.must(err)
					continue
				}
				what := fmt.Sprintf("question %d about %v of a communicator with %v", i, kind, g.TopoTest())
				wantError(t, what, err, mpi.ErrTopology, "has "+g.TopoTest().String(), "needs "+kind.String())
			}
		}
	}
}
