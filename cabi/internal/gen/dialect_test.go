package main

import (
	"math/bits"
	"testing"
)

// Values have places of their own.
func TestPerfect(t *testing.T) {
	for _, values := range [][]uint32{
		{7}, {0x44000000, 0x44000001, 0x04000000}, {1, 2, 3, 4, 5, 6, 7, 8, 9},
	} {
		factor, size := perfect(values)
		seen := map[uint32]uint32{}
		for _, v := range values {
			i := v * factor >> (32 - bits.Len(uint(size-1)))
			if other, ok := seen[i]; ok || int(i) >= size {
				t.Errorf("%#x and %#x are at %d of %d", v, other, i, size)
			}
			seen[i] = v
		}
	}
}
