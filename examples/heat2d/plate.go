package main

import (
	"hash/crc32"
	"math"
	"slices"

	"github.com/fitmpi/fitmpi/mpi"
)

// plate is the whole field of temperatures, row by row. Rank 0 has it; the others know its size.
type plate struct {
	width, height int
	t             []float64 // nil but on rank 0
}

// initial gives rank 0 the plate to start from and all ranks its size.
func initial(world *mpi.Comm, o options) (plate, error) {
	var p plate
	if world.Rank() == 0 {
		var err error
		if p, err = load(o); err != nil {
			return p, err
		}
	}
	size := []int{p.width, p.height}
	err := mpi.Bcast(world, size, 0)
	p.width, p.height = size[0], size[1]
	return p, err
}

func load(o options) (plate, error) {
	if o.in != "" {
		return readPNG(o.in)
	}
	return letters(o.size), nil
}

// glyphs is the built-in pattern: # is hot.
var glyphs = []string{
	"                     ",
	"  #####  ###  #####  ",
	"  #       #     #    ",
	"  ####    #     #    ",
	"  #       #     #    ",
	"  #       #     #    ",
	"  #      ###    #    ",
	"                     ",
	"  #   #  ####   ###  ",
	"  ## ##  #   #   #   ",
	"  # # #  ####    #   ",
	"  #   #  #       #   ",
	"  #   #  #       #   ",
	"  #   #  #      ###  ",
	"                     ",
}

// letters draws the glyphs on a plate of n x n cells.
func letters(n int) plate {
	p := plate{width: n, height: n, t: make([]float64, n*n)}
	for y := range n {
		row := glyphs[y*len(glyphs)/n]
		for x := range n {
			if row[x*len(row)/n] == '#' {
				p.t[y*n+x] = 1
			}
		}
	}
	return p
}

// checksum depends on every bit of every temperature.
func (p plate) checksum() uint32 {
	var sum uint32
	var b [8]byte
	for _, t := range p.t {
		bits := math.Float64bits(t)
		for i := range b {
			b[i] = byte(bits >> (8 * i))
		}
		sum = crc32.Update(sum, crc32.IEEETable, b[:])
	}
	return sum
}

// serial is what the ranks compute, in the plainest way.
func serial(p plate, steps int) plate {
	old, next := slices.Clone(p.t), make([]float64, len(p.t))
	at := func(x, y int) float64 { // beyond an edge it is as warm as within
		x, y = min(max(x, 0), p.width-1), min(max(y, 0), p.height-1)
		return old[y*p.width+x]
	}
	for range steps {
		for y := range p.height {
			for x := range p.width {
				t := at(x, y)
				next[y*p.width+x] = t + float64(conductivity*(at(x, y-1)+at(x, y+1)+at(x-1, y)+at(x+1, y)-4*t))
			}
		}
		old, next = next, old
	}
	return plate{p.width, p.height, old}
}
