//go:build linux && !fitmpi_portable

package mpi_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// A request of an accumulate has room for so many bytes. Where runs of the target's layout are
// longer, a request may end within one, and what is left of that is a block more in the next.
func TestAccumulateLongRuns(t *testing.T) {
	t.Setenv("FITMPI_TRANSPORT", "tcp") // between threads that share memory no requests are sent
	const runs, long, stride = 5, 625, 700
	layout := mpi.Vector(runs, long, stride, mpi.TypeOf[float64]())
	err := mpi.RunThreads(2, func(_ context.Context, world *mpi.Comm) error {
		mem := make([]float64, runs*stride)
		w, err := mpi.WinCreate(world, mem, nil)
		if err != nil {
			return err
		}
		origin := make([]float64, runs*stride)
		for i := range origin {
			origin[i] = float64(i + 1)
		}
		if err := w.Fence(0); err != nil {
			return err
		}
		if err := mpi.Accumulate(w.WithType(layout), origin, 1-world.Rank(), 0, mpi.Sum); err != nil {
			return err
		}
		if err := w.Fence(0); err != nil {
			return err
		}
		for i, v := range mem {
			want := 0.0
			if i%stride < long {
				want = float64(i + 1)
			}
			if v != want {
				return fmt.Errorf("value %d is %v, want %v", i, v, want)
			}
		}
		return w.Free()
	})
	if err != nil {
		t.Fatal(err)
	}
}
