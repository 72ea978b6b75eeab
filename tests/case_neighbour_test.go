package tests

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

var neighbourCases = []testCase{
	{name: "neighbour/grids", section: "8.6",
		sentence: "In a Cartesian topology the neighbours are, for each dimension in order, the one in the negative direction, then the one in the positive.",
		run: func(t *T, c *mpi.Comm) {
			eachGrid(c.Size(), func(dims []int, periods []bool) {
				// All periodic, or every other dimension: that has all there is.
				for i, p := range periods {
					if (p != periods[0]) != (i%2 == 1) && slices.Contains(periods, false) {
						return
					}
				}
				onNeighbours(t, cartOf(t, c, dims, periods), len(dims) == 3, fmt.Sprint("grid ", dims, periods))
			})
		}},
	{name: "neighbour/grid without dimensions", section: "8.6",
		sentence: "A rank without neighbours neither sends nor receives.",
		run: func(t *T, c *mpi.Comm) {
			onNeighbours(t, cartOf(t, c, nil, nil), false, "grid without dimensions")
		}},
	{name: "neighbour/short periods", section: "8.6",
		sentence: "What is sent in the negative direction is received from the positive one, also where both neighbours are one process.",
		max:      2, run: shortPeriods},
	{name: "neighbour/null process", section: "8.6",
		sentence: "If a neighbour is MPI_PROC_NULL then its part of the receive buffer is not updated.",
		run:      neighbourNull},
	{name: "neighbour/graphs", section: "8.6",
		sentence: "In a graph topology the neighbours are sources and destinations alike, in the order of the graph.",
		run: func(t *T, c *mpi.Comm) {
			for n := 1; n <= c.Size(); n++ {
				index, edges := ringGraph(n)
				g, err := c.GraphCreate(index, edges, false)
				t.must(err)
				onNeighbours(t, g, n == c.Size(), fmt.Sprintf("graph of %d", n))
			}
		}},
	{name: "neighbour/distributed graphs", section: "8.6",
		sentence: "In a distributed graph the sequence of neighbours is that of MPI_DIST_GRAPH_NEIGHBORS; edges may be repeated.",
		run: func(t *T, c *mpi.Comm) {
			rng, seed := sharedRand(t, c)
			for k := range 3 {
				edges := randomGraph(rng, c.Size())
				create := adjacent
				if k == 1 {
					create = scattered
				}
				g, err := create(c, edges, false, k == 2)
				t.must(err, "graph", k, "seed", seed)
				onNeighbours(t, g, true, fmt.Sprintf("graph %d of -seed=%d", k, seed))
			}
		}},
	{name: "neighbour/far blocks", section: "8.6",
		sentence: "The amount of data is bounded by memory only.",
		world:    true, dear: true, max: 3, run: farNeighbours},
	{name: "neighbour/one way", section: "8.6",
		sentence: "A process may be only a source or only a destination.",
		run:      oneWay},
	{name: "neighbour/many at once", section: "8.7",
		sentence: "Nonblocking and persistent neighbourhood collectives may be under way together, and complete in any order.",
		run:      neighboursAtOnce},
	{name: "neighbour/arguments", section: "8.6",
		sentence: "A neighbourhood collective needs a communicator with a topology, and buffers for all neighbours.",
		run:      neighbourArguments},
}

// neighbourly is what onNeighbours runs on each element type.
type neighbourly interface {
	neighbours(t *T, g *mpi.Comm, near neighbourhood, n int, what string)
}

// onNeighbours runs all neighbourhood collectives over element types and sizes, many of them if it
// is to be thorough; g is nil where there is no rank.
func onNeighbours(t *T, g *mpi.Comm, thorough bool, what string) {
	if g == nil {
		return
	}
	near := neighbourhoodOf(t, g)
	sizes, names := []int{7}, []string{"string"}
	if thorough && t.World {
		sizes, names = []int{0, 1, 7, 1024}, []string{"int8", "struct", "string", "map"}
	}
	for _, n := range sizes {
		elementKinds["float64"].(neighbourly).neighbours(t, g, near, n, what)
	}
	for _, name := range names {
		elementKinds[name].(neighbourly).neighbours(t, g, near, 3, what+" of "+name)
	}
}

// block is a block of a rank: of what it sends to its i-th destination.
type block struct{ rank, i int }

// neighbourhood is what the topology says, and the reference: which block of which rank comes from
// each source.
type neighbourhood struct {
	destinations []int
	from         []block // of each source; rank is ProcNull if there is none
}

// neighbourhoodOf asks for the neighbours in the way of each topology, and all ranks for their
// destinations.
func neighbourhoodOf(t *T, g *mpi.Comm) (near neighbourhood) {
	sources := neighboursOf(t, g, &near)
	counts := make([]int, g.Size())
	t.must(mpi.Allgather(g, []int{len(near.destinations)}, counts))
	flat := make([]int, sumOfCounts(counts))
	t.must(mpi.Allgatherv(g, near.destinations, flat, counts, nil))
	all := make([][]int, g.Size())
	for r, n := range counts {
		all[r], flat = flat[:n], flat[n:]
	}
	seen := map[int]int{}
	for j, s := range sources {
		b := block{s, j ^ 1} // on a grid
		if g.TopoTest() != mpi.Cart {
			b.i = nth(all[s], g.Rank(), seen[s])
			seen[s]++
		}
		near.from = append(near.from, b)
	}
	return near
}

func neighboursOf(t *T, g *mpi.Comm, near *neighbourhood) (sources []int) {
	var err error
	switch g.TopoTest() {
	case mpi.Cart:
		n, err := g.CartdimGet()
		t.must(err)
		for dim := range n {
			minus, plus, err := g.CartShift(dim, 1)
			t.must(err)
			sources = append(sources, minus, plus)
		}
		near.destinations = sources
	case mpi.Graph:
		sources, err = g.GraphNeighbors(g.Rank())
		near.destinations = sources
	default:
		sources, _, near.destinations, _, err = g.DistGraphNeighbors()
	}
	t.must(err)
	return sources
}

// sumOf is how many there are in all.
func sumOfCounts(counts []int) (sum int) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

// nth is where a list has x for the n-th time.
func nth(list []int, x, n int) int {
	for i, v := range list {
		if v == x {
			if n == 0 {
				return i
			}
			n--
		}
	}
	return -1
}

// block gives the elements of a block in a round.
func (o of[V]) block(b block, round, n int) []V {
	return o.fill(b.rank+10*b.i+100*round, n)
}

// runForms runs a collective in its blocking form, its nonblocking form, and three times in its
// persistent form.
func runForms(t *T, f form, what string) {
	what = f.name + " on " + what
	round := 0
	once := func(form string, run func() error) {
		f.set(round)
		t.must(run(), form, what)
		f.check(form+what, round)
		round++
	}
	once("", f.block)
	once("I", func() error { return second(f.start().Wait()) })
	p := f.init()
	for range 3 {
		once("persistent ", func() error {
			t.must(p.Start(), "Start", what)
			return second(p.Wait())
		})
	}
}

// neighbours compares the four collectives with the reference.
func (o of[V]) neighbours(t *T, g *mpi.Comm, near neighbourhood, n int, what string) {
	runForms(t, o.neighborAllgather(t, g, near, n), what)
	runForms(t, o.neighborAllgatherv(t, g, near, n), what)
	runForms(t, o.neighborAlltoall(t, g, near, n), what)
	runForms(t, o.neighborAlltoallv(t, g, near, n), what)
}

func (o of[V]) neighborAllgather(t *T, g *mpi.Comm, near neighbourhood, n int) form {
	in, out := make([]V, n), make([]V, n*len(near.from))
	return form{"NeighborAllgather",
		func() error { return mpi.NeighborAllgather(g, in, out) },
		func() *mpi.Request { return mpi.IneighborAllgather(g, in, out) },
		func() *mpi.Request { return mpi.NeighborAllgatherInit(g, in, out) },
		func(round int) { copy(in, o.block(block{g.Rank(), 0}, round, n)); clear(out) },
		func(what string, round int) {
			var wanted []V
			for _, b := range near.from {
				wanted = append(wanted, o.expect(block{b.rank, 0}, round, n)...)
			}
			o.check(t, what, n, out, wanted)
		}}
}

// expect is what must come from a source: nothing from ProcNull.
func (o of[V]) expect(b block, round, n int) []V {
	if b.rank == mpi.ProcNull {
		return make([]V, n)
	}
	return o.block(b, round, n)
}

// neighborAllgatherv: rank r gives n+r elements, rank 1 none; blocks are apart, the last one first.
func (o of[V]) neighborAllgatherv(t *T, g *mpi.Comm, near neighbourhood, n int) form {
	count := func(r int) int {
		if r == 1 {
			return 0
		}
		return n + max(r, 0)
	}
	counts, displs, total := make([]int, len(near.from)), make([]int, len(near.from)), 1
	for j := len(counts) - 1; j >= 0; j-- {
		counts[j], displs[j] = count(near.from[j].rank), total
		total += counts[j] + 1
	}
	in, out := make([]V, count(g.Rank())), make([]V, total)
	return form{"NeighborAllgatherv",
		func() error { return mpi.NeighborAllgatherv(g, in, out, counts, displs) },
		func() *mpi.Request { return mpi.IneighborAllgatherv(g, in, out, counts, displs) },
		func() *mpi.Request { return mpi.NeighborAllgathervInit(g, in, out, counts, displs) },
		func(round int) { copy(in, o.block(block{g.Rank(), 0}, round, len(in))); clear(out) },
		func(what string, round int) {
			wanted := make([]V, total)
			for j, b := range near.from {
				copy(wanted[displs[j]:], o.expect(block{b.rank, 0}, round, counts[j]))
			}
			o.check(t, what, n, out, wanted)
		}}
}

func (o of[V]) neighborAlltoall(t *T, g *mpi.Comm, near neighbourhood, n int) form {
	in, out := make([]V, n*len(near.destinations)), make([]V, n*len(near.from))
	return form{"NeighborAlltoall",
		func() error { return mpi.NeighborAlltoall(g, in, out) },
		func() *mpi.Request { return mpi.IneighborAlltoall(g, in, out) },
		func() *mpi.Request { return mpi.NeighborAlltoallInit(g, in, out) },
		func(round int) {
			for i := range near.destinations {
				copy(in[i*n:], o.block(block{g.Rank(), i}, round, n))
			}
			clear(out)
		},
		func(what string, round int) {
			var wanted []V
			for _, b := range near.from {
				wanted = append(wanted, o.expect(b, round, n)...)
			}
			o.check(t, what, n, out, wanted)
		}}
}

// neighborAlltoallv: block i of rank r has n+(r+2i)%3 elements, or none; what is sent is packed,
// what is received apart.
func (o of[V]) neighborAlltoallv(t *T, g *mpi.Comm, near neighbourhood, n int) form {
	count := func(b block) int {
		if (b.rank+b.i)%4 == 3 {
			return 0
		}
		return n + max(b.rank+2*b.i, 0)%3
	}
	sc, rc := make([]int, len(near.destinations)), make([]int, len(near.from))
	rd, total := make([]int, len(near.from)), 1
	for i := range sc {
		sc[i] = count(block{g.Rank(), i})
	}
	for j := len(rc) - 1; j >= 0; j-- {
		rc[j], rd[j] = count(near.from[j]), total
		total += rc[j] + 1
	}
	in, out := make([]V, sumOfCounts(sc)), make([]V, total)
	return form{"NeighborAlltoallv",
		func() error { return mpi.NeighborAlltoallv(g, in, sc, nil, out, rc, rd) },
		func() *mpi.Request { return mpi.IneighborAlltoallv(g, in, sc, nil, out, rc, rd) },
		func() *mpi.Request { return mpi.NeighborAlltoallvInit(g, in, sc, nil, out, rc, rd) },
		func(round int) {
			at := in
			for i, k := range sc {
				copy(at, o.block(block{g.Rank(), i}, round, k))
				at = at[k:]
			}
			clear(out)
		},
		func(what string, round int) {
			wanted := make([]V, total)
			for j, b := range near.from {
				copy(wanted[rd[j]:], o.expect(b, round, rc[j]))
			}
			o.check(t, what, n, out, wanted)
		}}
}

func farNeighbours(t *T, c *mpi.Comm) {
	g := cartOf(t, c, []int{1, c.Size()}, []bool{true, true})
	near := neighbourhoodOf(t, g)
	names := []string{"float64", "int8"}
	if raceEnabled { // those of one byte are on the way of shorter messages
		names = names[:1]
	}
	for _, name := range names {
		elementKinds[name].(neighbourly).neighbours(t, g, near, farSize, "a ring of "+name)
	}
}

// shortPeriods says in numbers what the reference says in general.
func shortPeriods(t *T, c *mpi.Comm) {
	n, me := c.Size(), c.Rank()
	g := cartOf(t, c, []int{1, n}, []bool{true, true})
	in, out := []int{10*me + 0, 10*me + 1, 10*me + 2, 10*me + 3}, make([]int, 4)
	t.must(mpi.NeighborAlltoall(g, in, out))
	other := n - 1 - me // itself, or the other one
	wantSlice(t, "what came", out, []int{10*me + 1, 10*me + 0, 10*other + 3, 10*other + 2})
	counts := []int{1, 2, 3, 4} // of different lengths: a mix-up would not even fit
	send, recv := make([]int, 10), make([]int, 10)
	for i := range send {
		send[i] = 100*me + i
	}
	t.must(mpi.NeighborAlltoallv(g, send, counts, nil, recv, []int{2, 1, 4, 3}, nil))
	wantSlice(t, "what came", recv, []int{100*me + 1, 100*me + 2, 100 * me,
		100*other + 6, 100*other + 7, 100*other + 8, 100*other + 9, 100*other + 3, 100*other + 4, 100*other + 5})
}

// neighbourNull: the blocks of ProcNull keep what they hold, values and objects alike.
func neighbourNull(t *T, c *mpi.Comm) {
	g := cartOf(t, c, []int{c.Size()}, []bool{false})
	first, last := c.Rank() == 0, c.Rank() == c.Size()-1
	for round := range 2 {
		out, words := []int{-1, -2, -3, -4}, []string{"before", "after"}
		if round == 0 {
			t.must(mpi.NeighborAllgather(g, []int{c.Rank(), 7}, out))
			t.must(mpi.NeighborAllgather(g, []string{fmt.Sprint(c.Rank())}, words))
		} else {
			t.must(mpi.NeighborAlltoall(g, []int{c.Rank(), 7, c.Rank(), 7}, out))
			t.must(mpi.NeighborAlltoall(g, []string{fmt.Sprint(c.Rank()), fmt.Sprint(c.Rank())}, words))
		}
		wanted, wantedWords := []int{c.Rank() - 1, 7, c.Rank() + 1, 7}, []string{fmt.Sprint(c.Rank() - 1), fmt.Sprint(c.Rank() + 1)}
		if first {
			copy(wanted, []int{-1, -2})
			wantedWords[0] = "before"
		}
		if last {
			copy(wanted[2:], []int{-3, -4})
			wantedWords[1] = "after"
		}
		wantSlice(t, "numbers", out, wanted)
		wantSlice(t, "words", words, wantedWords)
	}
}

// oneWay: rank 0 sends to all, itself not among them; no rank sends to it.
func oneWay(t *T, c *mpi.Comm) {
	var sources, destinations []int
	if c.Rank() == 0 {
		for r := 1; r < c.Size(); r++ {
			destinations = append(destinations, r)
		}
	} else {
		sources = []int{0}
	}
	g, err := c.DistGraphCreateAdjacent(sources, mpi.Unweighted, destinations, mpi.Unweighted, false)
	t.must(err)
	if c.Rank() == 0 {
		t.must(mpi.NeighborAllgather(g, []int{3, 4}, nil))
		t.must(mpi.NeighborAlltoall(g, make([]string, 2*len(destinations)), nil))
		return
	}
	out, words := make([]int, 2), []string{"a", "b"}
	t.must(mpi.NeighborAllgather(g, nil, out))
	wantSlice(t, "what came", out, []int{3, 4})
	t.must(mpi.NeighborAlltoall(g, nil, words))
	wantSlice(t, "what came", words, []string{"", ""})
}

// neighboursAtOnce: eight collectives of all kinds are started in one order and completed in
// another.
func neighboursAtOnce(t *T, c *mpi.Comm) {
	g := cartOf(t, c, []int{c.Size(), 1}, []bool{true, true})
	near := neighbourhoodOf(t, g)
	o := elementKinds["float64"].(of[float64])
	var forms []form
	var rs []*mpi.Request
	for k := range 8 {
		n := []int{5, 3000}[k%2]
		forms = append(forms, []func(*T, *mpi.Comm, neighbourhood, int) form{
			o.neighborAllgather, o.neighborAlltoall, o.neighborAllgatherv, o.neighborAlltoallv}[k/2](t, g, near, n))
		forms[k].set(k)
		if k%3 == 0 {
			r := forms[k].init()
			t.must(r.Start())
			rs = append(rs, r)
		} else {
			rs = append(rs, forms[k].start())
		}
	}
	for k, f := range slices.Backward(forms) {
		t.must(second(rs[k].Wait()), f.name, k)
		f.check(f.name, k)
	}
}

func neighbourArguments(t *T, c *mpi.Comm) {
	b := make([]int, 4)
	for _, err := range []error{
		mpi.NeighborAllgather(c, b, b), mpi.NeighborAllgatherv(c, b, b, nil, nil), mpi.NeighborAlltoall(c, b, b),
		mpi.NeighborAlltoallv(c, b, nil, nil, b, nil, nil), second(mpi.IneighborAllgather(c, b, b).Wait()),
		second(mpi.NeighborAlltoallInit(c, b, b).Wait()),
	} {
		wantError(t, "without a topology", err, mpi.ErrTopology, "no topology", "CartCreate")
	}
	g := cartOf(t, c, []int{c.Size()}, []bool{true})
	two := []int{1, 1}
	wantError(t, "short out", mpi.NeighborAllgather(g, b, b), mpi.ErrCount, "out holds 4 elements, need 8")
	wantError(t, "odd in", mpi.NeighborAlltoall(g, b[:3], b), mpi.ErrCount, "in holds 3 elements: need a multiple of 2, the number of destinations")
	wantError(t, "short out", mpi.NeighborAlltoall(g, b, b[:3]), mpi.ErrCount, "out holds 3 elements, need 4")
	wantError(t, "counts", mpi.NeighborAllgatherv(g, b, b, []int{1}, nil), mpi.ErrCount, "1 counts for 2 sources")
	wantError(t, "counts", mpi.NeighborAlltoallv(g, b, []int{1, 1, 1}, nil, b, two, nil), mpi.ErrCount, "3 counts for 2 destinations")
	wantError(t, "displacements", mpi.NeighborAlltoallv(g, b, two, []int{0}, b, two, nil), mpi.ErrArg, "1 displacements for 2 destinations")
	wantError(t, "a block", mpi.NeighborAllgatherv(g, b, b, []int{1, 5}, nil), mpi.ErrCount, "the block of source 1 is the 5 elements from out[1] on")
	wantError(t, "a block", mpi.NeighborAlltoallv(g, b, []int{-1, 1}, nil, b, two, nil), mpi.ErrCount, "the count of destination 0 is -1")
	wantError(t, "a type", mpi.NeighborAllgather(g, []chan int{nil}, make([]chan int, 2)), mpi.ErrType, "chan int")

	// A rank that is not its own neighbour, in a graph that is not symmetric: an error, where
	// messages would be waited for.
	if c.Size() > 1 {
		index := slices.Repeat([]int{1}, c.Size())
		d, err := c.GraphCreate(index, []int{1}, false)
		t.must(err)
		wantError(t, "an asymmetric graph", mpi.NeighborAllgather(d, b[:1], b), mpi.ErrTopology, "edges one way")
	}
	d, err := g.Dup(nil) // lengths that differ end what may be done on it
	t.must(err)
	err = mpi.NeighborAlltoallv(d, b[:2], two, nil, b, []int{2, 2}, nil)
	wantError(t, "different lengths", err, mpi.ErrTruncate, "different lengths")
	t.must(mpi.Barrier(c), "the communicator works afterwards")
}

// TestNeighboursOfNine runs the cases of topologies on nine ranks, which make grids of three by
// three.
func TestNeighboursOfNine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := newOutcomes(9)
	ctx, cancel := context.WithTimeout(t.Context(), 2*failsafe)
	defer cancel()
	err := mpi.RunThreadsContext(ctx, 9, func(_ context.Context, world *mpi.Comm) error {
		world.SetErrhandler(mpi.ErrorsReturn)
		for _, tc := range slices.Concat(topologyCases, neighbourCases) {
			if tc.max > 0 {
				continue
			}
			rt := &T{Rank: world.Rank(), Size: 9, Policy: "assist", Dir: dir}
			o.begin(world.Rank(), tc.name)
			ok := rt.runCase(tc, world)
			o.add(world.Rank(), result{Case: tc.name, Kind: "nine", Failures: rt.failures})
			if !ok {
				return fmt.Errorf("case %s: %v", tc.name, rt.failures)
			}
		}
		return nil
	})
	o.tell(t, err)
}
