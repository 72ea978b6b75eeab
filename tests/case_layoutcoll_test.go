package tests

import (
	"fmt"
	"slices"

	"github.com/fitmpi/fitmpi/mpi"
)

var layoutCollCases = []testCase{
	{name: "layoutcoll/all", section: "6.2.2", max: 4,
		sentence: "the type signature of what is sent by each rank must equal that of what is received from it",
		run:      layoutCollectives},
	{name: "layoutcoll/persistent", section: "6.13", max: 3,
		sentence: "a persistent collective with layouts sends what its buffers hold at each start",
		run:      layoutPersistent},
	{name: "layoutcoll/padding", section: "FitMPI", max: 4,
		sentence: "padding does not travel by collectives, reductions included",
		run:      paddedCollectives},
	{name: "layoutcoll/one slice, two layouts", section: "6.9", max: 4,
		sentence: "a reduction of a slice to itself takes all of its operand before it puts its result there, wherever either lies",
		run:      reverseByTypes},
	{name: "layoutcoll/alltoallw", section: "6.8",
		sentence: "MPI_Alltoallw allows separate specification of counts, displacements and datatypes of each block",
		run:      transposeByTypes},
	{name: "layoutcoll/neighbours", section: "8.6.3", max: 4,
		sentence: "MPI_Neighbor_alltoallw sends to each neighbour data of its own type",
		run:      haloByTypes},
	{name: "layoutcoll/errors", section: "FitMPI", max: 1,
		sentence: "a collective that has no layouts says so",
		run:      layoutCollErrors},
}

// reverseByTypes reduces a slice to the same slice, from the last element to the first.
func reverseByTypes(t *T, c *mpi.Comm) {
	const n = 3000
	back := make([]int, n)
	for i := range back {
		back[i] = n - 1 - i
	}
	v, want, all := make([]int32, n), make([]int32, n), int32(c.Size()*(c.Size()-1)/2)
	for i := range v {
		v[i] = int32(i)
		want[n-1-i] = int32(c.Size()*i) + all
	}
	r := mpi.AllreduceInit(c.WithTypes(mpi.Contiguous(n, mpi.TypeOf[int32]()), mpi.IndexedBlock(1, back, mpi.TypeOf[int32]())), v, v, mpi.Sum)
	for round := range 2 {
		for i := range v {
			v[i] = int32(i + c.Rank())
		}
		t.must(r.Start())
		t.must(second(r.Wait()))
		wantSlice(t, fmt.Sprint("round ", round), v, want)
	}
}

// layoutCollectives gives each collective a column of a matrix, and compares with the collective on
// that column's copy.
func layoutCollectives(t *T, c *mpi.Comm) {
	const rows, cols = 4, 3
	n, me := c.Size(), c.Rank()
	// A column that is resized to one element: the next one is the next column, as MPI programs do
	// it.
	column := mpi.Resized(mpi.Vector(rows, 1, n, mpi.TypeOf[int32]()), 0, 4)
	block := mpi.Contiguous(rows, mpi.TypeOf[int32]())
	tc := c.WithTypes(column, block)
	matrix := make([]int32, rows*n) // column j goes to rank j
	for i := range matrix {
		matrix[i] = int32(me*1000 + i)
	}
	col := func(rank, j int) []int32 {
		v := make([]int32, rows)
		for i := range v {
			v[i] = int32(rank*1000 + i*n + j)
		}
		return v
	}
	var mine, all []int32
	for r := range n {
		mine = append(mine, col(r, me)...)
		all = append(all, col(r, 0)...)
	}
	out := make([]int32, rows*n)

	t.must(mpi.Alltoall(tc, matrix, out))
	wantSlice(t, "Alltoall", out, mine)
	clear(out)
	ones := slices.Repeat([]int{1}, n)
	t.must(mpi.Alltoallv(tc, matrix, ones, nil, out, ones, nil))
	wantSlice(t, "Alltoallv", out, mine)
	clear(out)
	t.must(mpi.Allgather(tc, matrix, out))
	wantSlice(t, "Allgather", out, all)
	clear(out)
	t.must(mpi.Allgatherv(tc, matrix, out, ones, nil))
	wantSlice(t, "Allgatherv", out, all)

	root := n - 1
	clear(out)
	t.must(mpi.Gather(tc, matrix, out, root))
	gathered := slices.Clone(out)
	t.must(mpi.Gatherv(tc, matrix, out, ones, nil, root))
	if me == root {
		wantSlice(t, "Gather", gathered, all)
		wantSlice(t, "Gatherv", out, all)
	}
	part := make([]int32, rows)
	t.must(mpi.Scatter(tc, matrix, part, root))
	wantSlice(t, "Scatter", part, col(root, me))
	clear(part)
	t.must(mpi.Scatterv(tc, matrix, ones, nil, part, root))
	wantSlice(t, "Scatterv", part, col(root, me))

	spread := make([]int32, rows*n)
	copy(spread, matrix)
	t.must(mpi.Bcast(c.WithType(column), spread, root))
	for i := range spread {
		expected := matrix[i]
		if i%n == 0 {
			expected = int32(root*1000 + i)
		}
		want(t, "an element of Bcast", spread[i], expected)
	}
}

func layoutPersistent(t *T, c *mpi.Comm) {
	n := c.Size()
	every2nd := mpi.Vector(3, 1, 2, mpi.TypeOf[float64]())
	in, out := make([]float64, 6), make([]float64, 3*n)
	r := mpi.AllgatherInit(c.WithTypes(every2nd, mpi.Contiguous(3, mpi.TypeOf[float64]())), in, out)
	for round := range 3 {
		for i := range in {
			in[i] = float64(100*round + 10*c.Rank() + i)
		}
		t.must(r.Start())
		_, err := r.Wait()
		t.must(err)
		for i := range out {
			want(t, "an element", out[i], float64(100*round+10*(i/3)+2*(i%3)))
		}
	}
}

func paddedCollectives(t *T, c *mpi.Comm) {
	n, me := c.Size(), c.Rank()
	value := func(r int) (p padded) {
		p.A, p.B, p.C.D, p.C.E = byte(r), float64(r)/2, int16(-r), byte(r+1)
		return p
	}
	in, out := []padded{value(me), value(me + 10)}, make([]padded, 2*n)
	t.must(mpi.Allgather(c, in, out))
	for r := range n {
		want(t, "gathered", out[2*r], value(r))
		want(t, "gathered, second", out[2*r+1], value(r+10))
	}
	sum := make([]padded, 2)
	add := func(acc, in []padded) {
		for i := range acc {
			acc[i].A += in[i].A
			acc[i].B += in[i].B
			acc[i].C.D += in[i].C.D
			acc[i].C.E += in[i].C.E
		}
	}
	var whole [2]padded
	for r := range n {
		add(whole[:], []padded{value(r), value(r + 10)})
	}
	t.must(mpi.Allreduce(c, in, sum, add))
	wantSlice(t, "Allreduce", sum, whole[:])
	many := slices.Repeat(in, 300)
	t.must(mpi.Allreduce(c, many, many, add))
	wantSlice(t, "Allreduce of many", many, slices.Repeat(whole[:], 300))
	var low [1]mpi.Loc[int8]
	t.must(mpi.Allreduce(c, []mpi.Loc[int8]{{Value: int8(-me), Index: int64(me)}}, low[:], mpi.MinLoc))
	want(t, "MinLoc", low[0], mpi.Loc[int8]{Value: int8(1 - n), Index: int64(n - 1)})
	part := make([]padded, 1)
	t.must(mpi.ReduceScatterBlock(c, slices.Repeat(in[:1], n), part, add))
	want(t, "ReduceScatterBlock", part[0], whole[0])
}

// transposeByTypes turns a matrix spread over the ranks by rows into one spread by columns.
func transposeByTypes(t *T, c *mpi.Comm) {
	n, me := c.Size(), c.Rank()
	for _, rows := range []int{1, 3, 200} { // of each rank; the matrix has rows*n by 2*n elements
		cols := 2 * n
		byRow, byCol := make([]float64, rows*cols), make([]float64, rows*n*2)
		for i := range byRow {
			byRow[i] = float64((me*rows+i/cols)*cols + i%cols)
		}
		sendTypes, recvTypes := make([]*mpi.Datatype, n), make([]*mpi.Datatype, n)
		for r := range n {
			sendTypes[r] = mpi.Subarray([]int{rows, cols}, []int{rows, 2}, []int{0, 2 * r}, mpi.OrderC, mpi.TypeOf[float64]())
			recvTypes[r] = mpi.Subarray([]int{rows * n, 2}, []int{rows, 2}, []int{r * rows, 0}, mpi.OrderC, mpi.TypeOf[float64]())
		}
		t.must(mpi.Alltoallw(c, byRow, sendTypes, byCol, recvTypes))
		for i, v := range byCol {
			if expected := float64(i/2*cols + 2*me + i%2); v != expected {
				t.Fatalf("%d rows: element %d is %v, want %v", rows, i, v, expected)
			}
		}
		clear(byCol)
		_, err := mpi.Ialltoallw(c, byRow, sendTypes, byCol, recvTypes).Wait()
		t.must(err)
		want(t, "the last element of Ialltoallw", byCol[len(byCol)-1], float64((rows*n-1)*cols+2*me+1))
		r := mpi.AlltoallwInit(c, byRow, sendTypes, byCol, recvTypes)
		clear(byCol)
		for range 2 {
			t.must(r.Start())
			_, err := r.Wait()
			t.must(err)
		}
		want(t, "the last element", byCol[len(byCol)-1], float64((rows*n-1)*cols+2*me+1))
	}
}

// haloByTypes exchanges the edges of blocks on a periodic grid, in place.
func haloByTypes(t *T, c *mpi.Comm) {
	cart, err := c.CartCreate([]int{c.Size(), 1}, []bool{true, false}, false)
	t.must(err)
	const w = 5 // interior of 3 by 3, and the halo
	grid := make([]int32, w*w)
	for i := 1; i < w-1; i++ {
		for j := 1; j < w-1; j++ {
			grid[i*w+j] = int32(100*cart.Rank() + 10*i + j)
		}
	}
	edge := func(rows, cols, i, j int) *mpi.Datatype {
		return mpi.Subarray([]int{w, w}, []int{rows, cols}, []int{i, j}, mpi.OrderC, mpi.TypeOf[int32]())
	}
	inner := []*mpi.Datatype{edge(1, 3, 1, 1), edge(1, 3, 3, 1), edge(3, 1, 1, 1), edge(3, 1, 1, 3)}
	outer := []*mpi.Datatype{edge(1, 3, 0, 1), edge(1, 3, 4, 1), edge(3, 1, 1, 0), edge(3, 1, 1, 4)}
	from := slices.Clone(grid)
	t.must(mpi.NeighborAlltoallw(cart, from, inner, grid, outer))
	first := slices.Clone(grid)
	_, err = mpi.IneighborAlltoallw(cart, from, inner, grid, outer).Wait()
	t.must(err)
	wantSlice(t, "IneighborAlltoallw", grid, first)
	r := mpi.NeighborAlltoallwInit(cart, from, inner, grid, outer)
	t.must(r.Start())
	_, err = r.Wait()
	t.must(err)
	wantSlice(t, "NeighborAlltoallwInit", grid, first)
	up, down := (cart.Rank()+c.Size()-1)%c.Size(), (cart.Rank()+1)%c.Size()
	for j := 1; j < w-1; j++ {
		want(t, "from above", grid[j], int32(100*up+30+j))
		want(t, "from below", grid[4*w+j], int32(100*down+10+j))
		want(t, "beside", grid[j*w], 0) // no neighbour
	}
}

func layoutCollErrors(t *T, c *mpi.Comm) {
	two := mpi.Contiguous(2, mpi.TypeOf[int32]())
	v := make([]int32, 2)
	bytes, loc := mpi.Contiguous(3, mpi.TypeOf[int8]()), []mpi.Loc[int8]{{}}
	wantError(t, "a reduction of parts", mpi.Allreduce(c.WithType(bytes), loc, loc, mpi.MinLoc), mpi.ErrType)
	index := mpi.Hindexed([]int{1}, []int{8}, mpi.TypeOf[int64]())
	wantError(t, "a reduction of fields", mpi.Allreduce(c.WithType(index), loc, loc, mpi.MinLoc), mpi.ErrType, "whole elements")
	wantError(t, "a short result", mpi.Allreduce(c.WithTypes(two, mpi.TypeOf[int32]()), v, slices.Clone(v), mpi.Sum), mpi.ErrCount, "8")
	wantError(t, "blocks of other lengths", mpi.Allgather(c.WithTypes(mpi.TypeOf[int32](), two), v, slices.Clone(v)), mpi.ErrCount, "8 bytes", "4 for each")
	wantError(t, "a short buffer", mpi.Bcast(c.WithType(two), v[:1], 0), mpi.ErrBuffer)
	wantError(t, "objects", mpi.Bcast(c.WithType(two), []string{""}, 0), mpi.ErrType, "serialised")
	wantError(t, "too few types", mpi.Alltoallw(c, v, nil, v, []*mpi.Datatype{nil}), mpi.ErrCount, "0 types for 1 ranks")
	bad := []*mpi.Datatype{mpi.TypeOf[float64]()}
	wantError(t, "another type", mpi.Alltoallw(c, v, bad, v, []*mpi.Datatype{nil}), mpi.ErrType, "sendTypes[0]")
}
