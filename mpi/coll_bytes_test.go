package mpi_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// A reduction of bytes under a layout that is Contiguous combines values of what that is so many
// of: the Op gets whole ones, without the gaps between them, as its buffers may be of any kind.
func TestReduceBytes(t *testing.T) {
	const n, size, gap = 5, 12, 20 // values of three uint32, 20 bytes apart
	value := mpi.Resized(mpi.Contiguous(3, mpi.TypeOf[uint32]()), 0, gap)
	op := func(acc, in []byte) {
		if len(acc)%size != 0 {
			panic(fmt.Sprintf("%d bytes are no whole number of values", len(acc)))
		}
		for i := 0; i < len(acc); i += size {
			// Not commutative: the first number is that of the right operand, the others are sums.
			copy(acc[i:], in[i:i+4])
			for k := i + 4; k < i+size; k += 4 {
				binary.NativeEndian.PutUint32(acc[k:], binary.NativeEndian.Uint32(acc[k:])+binary.NativeEndian.Uint32(in[k:]))
			}
		}
	}
	err := mpi.RunThreads(4, func(_ context.Context, world *mpi.Comm) error {
		in, out := make([]byte, n*gap), make([]byte, n*gap)
		for i := range n {
			for k := range 3 {
				binary.NativeEndian.PutUint32(in[i*gap+4*k:], uint32(world.Rank()+i))
			}
			out[i*gap+size] = 7
		}
		if err := mpi.Allreduce(world.WithType(mpi.Contiguous(n, value)), in, out, op); err != nil {
			return err
		}
		for i := range n {
			last, sum := uint32(3+i), uint32(6+4*i)
			for k, want := range []uint32{last, sum, sum} {
				if got := binary.NativeEndian.Uint32(out[i*gap+4*k:]); got != want {
					return fmt.Errorf("number %d of value %d is %d, want %d", k, i, got, want)
				}
			}
			if out[i*gap+size] != 7 {
				return fmt.Errorf("the gap after value %d has changed", i)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
