package main

import "github.com/fitmpi/fitmpi/mpi"

// block is the part of the world that one rank has, with one cell more all around it. There are two
// copies, the present generation and the next, which take turns.
type block struct {
	area
	cells [2][]uint8 // (rows+2) by (cols+2): 1 lives, 0 is dead
	now   int        // index of the present generation

	columns, lines halo
}

// halo is what one persistent NeighborAlltoall exchanges: out[0] goes to the neighbour at -1 and
// out[1] to the one at +1, in[0] comes from the first and in[1] from the second. What would come
// from ProcNull stays dead.
type halo struct {
	request *mpi.Request
	out, in [2][]uint8
}

// newHalo prepares the exchange of n cells with either neighbour in a grid of one dimension.
func newHalo(line *mpi.Comm, n int) halo {
	out, in := make([]uint8, 2*n), make([]uint8, 2*n)
	return halo{
		request: mpi.NeighborAlltoallInit(line, out, in),
		out:     [2][]uint8{out[:n], out[n:]}, in: [2][]uint8{in[:n], in[n:]},
	}
}

// newBlock makes the block of this rank, in the first generation.
func newBlock(grid *mpi.Comm, o options) (*block, error) {
	a, err := areaOf(grid, grid.Rank(), o)
	if err != nil {
		return nil, err
	}
	row, err := grid.CartSub([]bool{false, true}) // blocks left and right: as many rows
	if err != nil {
		return nil, err
	}
	column, err := grid.CartSub([]bool{true, false}) // blocks above and below: as many columns
	if err != nil {
		return nil, err
	}
	b := &block{area: a, columns: newHalo(row, a.rows), lines: newHalo(column, a.cols+2)}
	for i := range b.cells {
		b.cells[i] = make([]uint8, (a.rows+2)*(a.cols+2))
	}
	for y := range a.rows {
		line := b.line(b.now, y+1)
		for x := range a.cols {
			line[x+1] = o.first(a.x+x, a.y+y)
		}
	}
	return b, nil
}

// line is a line of a generation with the cells left and right of it; lines 1 to rows are the
// block's own.
func (b *block) line(i, y int) []uint8 {
	n := b.cols + 2
	return b.cells[i][y*n : (y+1)*n]
}

// step computes the next generation. Inner cells need no neighbour: half of them are computed while
// columns move, half while lines do.
func (b *block) step() error {
	b.packColumns()
	if err := b.columns.request.Start(); err != nil {
		return err
	}
	half := max(b.rows/2, 1)
	b.live(2, half, 2, b.cols-1)
	if _, err := b.columns.request.Wait(); err != nil {
		return err
	}
	b.unpackColumns()

	copy(b.lines.out[0], b.line(b.now, 1))
	copy(b.lines.out[1], b.line(b.now, b.rows))
	if err := b.lines.request.Start(); err != nil {
		return err
	}
	b.live(half+1, b.rows-1, 2, b.cols-1)
	if _, err := b.lines.request.Wait(); err != nil {
		return err
	}
	copy(b.line(b.now, 0), b.lines.in[0])
	copy(b.line(b.now, b.rows+1), b.lines.in[1])

	b.live(1, 1, 1, b.cols)
	b.live(max(b.rows, 2), b.rows, 1, b.cols)
	b.live(2, b.rows-1, 1, 1)
	b.live(2, b.rows-1, max(b.cols, 2), b.cols)
	b.now = 1 - b.now
	return nil
}

func (b *block) packColumns() {
	for y := range b.rows {
		line := b.line(b.now, y+1)
		b.columns.out[0][y], b.columns.out[1][y] = line[1], line[b.cols]
	}
}

func (b *block) unpackColumns() {
	for y := range b.rows {
		line := b.line(b.now, y+1)
		line[0], line[b.cols+1] = b.columns.in[0][y], b.columns.in[1][y]
	}
}

// live computes the cells of the next generation in lines top to bottom, left to right, all
// included.
func (b *block) live(top, bottom, left, right int) {
	for y := top; y <= bottom; y++ {
		above, here, below := b.line(b.now, y-1), b.line(b.now, y), b.line(b.now, y+1)
		next := b.line(1-b.now, y)
		for x := left; x <= right; x++ {
			n := above[x-1] + above[x] + above[x+1] + here[x-1] + here[x+1] + below[x-1] + below[x] + below[x+1]
			next[x] = rule(here[x], n)
		}
	}
}

// rule is Conway's: a cell lives on with two or three living neighbours, and comes to life with
// three.
func rule(alive, neighbours uint8) uint8 {
	if neighbours == 3 || neighbours == 2 && alive == 1 {
		return 1
	}
	return 0
}
