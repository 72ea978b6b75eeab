package layout

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"testing"
)

// BenchmarkColumn packs and unpacks one column of a matrix of float64, beside a loop by hand over
// the same memory.
func BenchmarkColumn(b *testing.B) {
	const rows, cols = 1000, 64
	matrix := make([]float64, rows*cols)
	mem := make([]byte, rows*cols*8)
	packed := make([]byte, rows*8)
	column := make([]float64, rows)
	m := must(Vector(Basic(Float64), rows, 1, cols))
	run := func(name string, f func()) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(rows * 8)
			for b.Loop() {
				f()
			}
		})
	}
	run("pack by hand", func() {
		for i := range column {
			column[i] = matrix[i*cols]
		}
	})
	run("pack", func() { m.Pack(packed, mem, 0, 1, 0) })
	run("unpack by hand", func() {
		for i, v := range column {
			matrix[i*cols] = v
		}
	})
	run("unpack", func() { m.Unpack(mem, 0, 1, 0, packed) })
	run("pack swapped by hand", func() {
		for i := range rows {
			binary.BigEndian.PutUint64(packed[i*8:], binary.LittleEndian.Uint64(mem[i*cols*8:]))
		}
	})
	run("pack swapped", func() { m.PackSwapped(packed, mem, 0, 1, 0) })
}

// BenchmarkStructs packs structs without their padding, beside a loop by hand.
func BenchmarkStructs(b *testing.B) {
	type cell struct {
		ID int32
		V  float64
	}
	const n = 1000
	m := must(Of(reflect.TypeFor[cell]()))
	cells := make([]cell, n)
	mem := make([]byte, n*16)
	packed := make([]byte, n*12)
	b.Run("by hand", func(b *testing.B) {
		b.SetBytes(n * 12)
		for b.Loop() {
			p := packed
			for i := range cells {
				binary.NativeEndian.PutUint32(p, uint32(cells[i].ID))
				binary.NativeEndian.PutUint64(p[4:], uint64(cells[i].V))
				p = p[12:]
			}
		}
	})
	b.Run("pack", func(b *testing.B) {
		b.SetBytes(n * 12)
		for b.Loop() {
			m.Pack(packed, mem, 0, n, 0)
		}
	})
	b.Run("unpack", func(b *testing.B) {
		b.SetBytes(n * 12)
		for b.Loop() {
			m.Unpack(mem, 0, n, 0, packed)
		}
	})
}

// BenchmarkBlocks packs the inside of a grid of three dimensions: rows of a few values.
func BenchmarkBlocks(b *testing.B) {
	for _, row := range []int{1, 2, 4, 16, 64} {
		m := must(Subarray(Basic(Float64), []int{20, 20, row + 2}, []int{18, 18, row}, []int{1, 1, 1}, RowMajor))
		_, hi, _ := m.Bounds(1)
		mem, packed := make([]byte, hi), make([]byte, m.Size())
		b.Run(fmt.Sprintf("pack rows of %d", row), func(b *testing.B) {
			b.SetBytes(int64(m.Size()))
			for b.Loop() {
				m.Pack(packed, mem, 0, 1, 0)
			}
		})
	}
}

// BenchmarkStart packs one value from the middle: what it costs to begin anywhere, in a long column
// and in a long list of irregular blocks.
func BenchmarkStart(b *testing.B) {
	displs := make([]int, 1<<16)
	for i := range displs {
		displs[i] = 2*i + i*i%2
	}
	for name, m := range map[string]*Map{
		"column": must(Vector(Basic(Float64), 1<<16, 1, 2)),
		"list":   must(IndexedBlock(Basic(Float64), 1, displs)),
	} {
		_, hi, _ := m.Bounds(1)
		mem, packed := make([]byte, hi), make([]byte, 8)
		b.Run(name, func(b *testing.B) {
			off := 0
			for b.Loop() {
				m.Pack(packed, mem, 0, 1, off)
				off = (off + 8*7919) % (m.Size() - 8)
			}
		})
	}
}
