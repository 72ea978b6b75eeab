package main

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"

	"github.com/fitmpi/fitmpi/mpi"
)

// piece is the part of the rod that a rank computes.
type piece struct {
	world       *mpi.Comm
	counts      []int     // cells of each rank
	displs      []int     // first cell of each rank
	now, next   []float64 // own cells, with one of each neighbour before and behind them
	left, right int       // neighbours; ProcNull at the ends
}

// newPiece is the rod at the beginning.
func newPiece(world *mpi.Comm, cells int) *piece {
	p := &piece{world: world, left: world.Rank() - 1, right: world.Rank() + 1}
	for r := range world.Size() {
		first, end := cells*r/world.Size(), cells*(r+1)/world.Size()
		p.counts, p.displs = append(p.counts, end-first), append(p.displs, first)
	}
	if p.left < 0 {
		p.left = mpi.ProcNull
	}
	if p.right == world.Size() {
		p.right = mpi.ProcNull
	}
	first, n := p.displs[world.Rank()], p.counts[world.Rank()]
	p.now, p.next = make([]float64, n+2), make([]float64, n+2)
	for i := range n {
		p.now[i+1] = begin(first + i)
	}
	return p
}

// begin is the temperature of a cell at the beginning.
func begin(cell int) float64 { return float64(cell * 7919 % 1000) }

// flow is the temperature of a cell after a step, from its own and its neighbours'.
func flow(left, own, right float64) float64 { return own + 0.25*((left-own)+(right-own)) }

// advance computes a step.
func (p *piece) advance() error {
	const toRight, toLeft = 1, 2
	n := len(p.now) - 2
	p.now[0], p.now[n+1] = p.now[1], p.now[n] // nothing comes from beyond the ends of the rod, where no heat flows
	reqs := []*mpi.Request{
		mpi.Irecv(p.world, p.now[:1], p.left, toRight), mpi.Irecv(p.world, p.now[n+1:], p.right, toLeft),
		mpi.Isend(p.world, p.now[1:2:2], p.left, toLeft), mpi.Isend(p.world, p.now[n:n+1:n+1], p.right, toRight),
	}
	if _, err := mpi.WaitAll(reqs...); err != nil {
		return err
	}
	for i := 1; i <= n; i++ {
		p.next[i] = flow(p.now[i-1], p.now[i], p.now[i+1])
	}
	p.now, p.next = p.next, p.now
	return nil
}

// read takes the piece from a checkpoint.
func (p *piece) read(_ int64, r io.Reader) error {
	return binary.Read(r, binary.LittleEndian, p.now[1:len(p.now)-1])
}

// write writes what read reads: the rest of the computation depends on nothing else.
func (p *piece) write(w io.Writer) error {
	return binary.Write(w, binary.LittleEndian, p.now[1:len(p.now)-1])
}

// collect is the whole rod, at rank 0.
func (p *piece) collect() ([]float64, error) {
	var all []float64
	if p.world.Rank() == 0 {
		all = make([]float64, p.displs[len(p.displs)-1]+p.counts[len(p.counts)-1])
	}
	err := mpi.Gatherv(p.world, p.now[1:len(p.now)-1], all, p.counts, p.displs, 0)
	return all, err
}

// serial is what one process computes.
func serial(cells int, steps int64) []float64 {
	now, next := make([]float64, cells), make([]float64, cells)
	for i := range now {
		now[i] = begin(i)
	}
	for range steps {
		for i := range now {
			next[i] = flow(now[max(i-1, 0)], now[i], now[min(i+1, cells-1)])
		}
		now, next = next, now
	}
	return now
}

func checksum(cells []float64) uint32 {
	var b []byte
	for _, x := range cells {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return crc32.ChecksumIEEE(b)
}
