package main

import (
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

// collect puts the blocks of all ranks together at rank 0 of grid; the others get nil.
func collect(grid *mpi.Comm, b *block, o options) ([]uint8, error) {
	mine := make([]uint8, 0, b.rows*b.cols)
	for y := range b.rows {
		mine = append(mine, b.line(b.now, y+1)[1:b.cols+1]...)
	}
	areas, counts := make([]area, grid.Size()), make([]int, grid.Size())
	for r := range areas {
		var err error
		if areas[r], err = areaOf(grid, r, o); err != nil {
			return nil, err
		}
		counts[r] = areas[r].rows * areas[r].cols
	}
	var blocks, cells []uint8
	if grid.Rank() == 0 {
		blocks, cells = make([]uint8, o.width*o.height), make([]uint8, o.width*o.height)
	}
	if err := mpi.Gatherv(grid, mine, blocks, counts, nil, 0); err != nil || grid.Rank() != 0 {
		return nil, err
	}
	for _, a := range areas {
		for y := range a.rows {
			copy(cells[(a.y+y)*o.width+a.x:], blocks[:a.cols])
			blocks = blocks[a.cols:]
		}
	}
	return cells, nil
}

// conclude reports the last generation and checks it.
func conclude(w io.Writer, o options, cells []uint8, grid *mpi.Comm, took time.Duration) error {
	dims, _, _, err := grid.CartGet()
	if err != nil {
		return err
	}
	alive := 0
	for _, c := range cells {
		alive += int(c)
	}
	if o.show {
		show(w, o, cells)
	}
	fmt.Fprintf(w, "%d generations of %d by %d cells on %d by %d ranks in %v\n", o.steps, o.width, o.height, dims[1], dims[0], took.Round(time.Microsecond))
	fmt.Fprintf(w, "%d cells live, checksum %08x\n", alive, crc32.ChecksumIEEE(cells))
	if !o.check && len(cells) > checkUpTo/max(o.steps, 1) {
		fmt.Fprintln(w, "the world is large: -check compares it with serial code")
		return nil
	}
	for i, want := range serial(o) {
		if cells[i] != want {
			return fmt.Errorf("life: cell %d of row %d is %d, serial code has %d", i%o.width, i/o.width, cells[i], want)
		}
	}
	fmt.Fprintln(w, "check: every cell is that of serial code")
	return nil
}

func show(w io.Writer, o options, cells []uint8) {
	for y := range o.height {
		var line strings.Builder
		for _, c := range cells[y*o.width : (y+1)*o.width] {
			line.WriteByte(".#"[c])
		}
		fmt.Fprintln(w, line.String())
	}
}

// serial computes the world in one piece, in the plainest way.
func serial(o options) []uint8 {
	now, next := make([]uint8, o.width*o.height), make([]uint8, o.width*o.height)
	for i := range now {
		now[i] = o.first(i%o.width, i/o.width)
	}
	for range o.steps {
		for i := range now {
			next[i] = rule(now[i], neighbours(o, now, i%o.width, i/o.width))
		}
		now, next = next, now
	}
	return now
}

// neighbours counts the living cells around one.
func neighbours(o options, cells []uint8, x, y int) (n uint8) {
	for dy := -1; dy <= 1; dy++ {
		for dx := -1; dx <= 1; dx++ {
			cx, cy := x+dx, y+dy
			if o.bounded && (cx < 0 || cx >= o.width || cy < 0 || cy >= o.height) || dx == 0 && dy == 0 {
				continue
			}
			n += cells[(cy+o.height)%o.height*o.width+(cx+o.width)%o.width]
		}
	}
	return n
}
