package mpi

import (
	"bytes"
	"testing"
)

// TestPieces: a part of a layout that is said to be one piece of memory is what Pack makes of it,
// and what can be one is.
func TestPieces(t *testing.T) {
	b := TypeOf[byte]()
	for _, tc := range []struct {
		name   string
		t      *Datatype
		count  int
		pieces int // parts of 2 bytes, at all offsets, that are one piece
	}{
		{"rows", Resized(Contiguous(3, b), 0, 5), 4, 8},
		{"rows from within", Resized(Indexed([]int{3}, []int{2}, b), 0, 7), 3, 6},
		{"adjacent", Resized(Indexed([]int{3}, []int{2}, b), 0, 3), 3, 6}, // values are looked at one by one
		{"runs", Resized(Indexed([]int{2, 2}, []int{0, 3}, b), 0, 6), 2, 0},
		{"backwards", Resized(Contiguous(3, b), 0, -3), 1, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			mem := make([]byte, 40)
			for i := range mem {
				mem[i] = byte(i)
			}
			o, err := over("test", tc.t, mem, tc.count)
			if err != nil {
				t.Fatal(err)
			}
			pieces := 0
			for n := range o.size + 1 {
				for off := range o.size - n + 1 {
					p := o.Piece(off, n)
					if p == nil {
						continue
					}
					if n == 2 {
						pieces++
					}
					want := make([]byte, n)
					if o.Pack(want, off); !bytes.Equal(p, want) || cap(p) != n {
						t.Errorf("bytes %d to %d: %v of %d, want %v", off, off+n, p, cap(p), want)
					}
				}
			}
			if pieces != tc.pieces {
				t.Errorf("%d parts are one piece, want %d", pieces, tc.pieces)
			}
			if o.swap = true; o.Piece(0, 1) != nil {
				t.Error("memory is a piece though its bytes travel in another order")
			}
		})
	}
}
