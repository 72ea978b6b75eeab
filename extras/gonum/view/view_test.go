package view_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/fitmpi/fitmpi/extras/gonum/view"
	"github.com/fitmpi/fitmpi/mpi"
	"github.com/fitmpi/fitmpi/mpi/mpitest"
)

// numbered is a matrix whose element says its place: 203 is in row 2, column 3. It is a view of a
// larger one, so that its rows do not follow each other in memory.
func numbered(r, c int) *mat.Dense {
	large := mat.NewDense(r+2, c+3, nil)
	a := large.Slice(1, r+1, 2, c+2).(*mat.Dense)
	for i := range r {
		for j := range c {
			a.Set(i, j, float64(100*i+j))
		}
	}
	return a
}

// Each buffer sends its elements in their order, and receives them into their places and no others.
func TestBuffers(t *testing.T) {
	for _, c := range []struct {
		name string
		of   func(a *mat.Dense) view.Buffer
		want []float64
	}{
		{"whole", view.Of, []float64{0, 1, 2, 100, 101, 102, 200, 201, 202, 300, 301, 302}},
		{"row", func(a *mat.Dense) view.Buffer { return view.Row(a, 2) }, []float64{200, 201, 202}},
		{"column", func(a *mat.Dense) view.Buffer { return view.Col(a, 1) }, []float64{1, 101, 201, 301}},
		{"block", func(a *mat.Dense) view.Buffer { return view.Block(a, 1, 3, 1, 3) }, []float64{101, 102, 201, 202}},
		{"turned", view.Turned, []float64{0, 100, 200, 300, 1, 101, 201, 301, 2, 102, 202, 302}},
		{"column of a view", func(a *mat.Dense) view.Buffer { return view.Vec(a.ColView(2).(*mat.VecDense)) }, []float64{2, 102, 202, 302}},
		{"part of a row", func(a *mat.Dense) view.Buffer {
			return view.Vec(a.RowView(3).(*mat.VecDense).SliceVec(1, 3).(*mat.VecDense))
		}, []float64{301, 302}},
		{"nothing", func(*mat.Dense) view.Buffer { return view.Of(new(mat.Dense)) }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			mpitest.Run(t, 2, func(ctx context.Context, world *mpi.Comm) error {
				if world.Rank() == 0 {
					b := c.of(numbered(4, 3))
					if err := mpi.Send(b.On(world), b.Data, 1, 0); err != nil {
						return err
					}
					return mpi.Send(world, c.want, 1, 1)
				}
				got, _, err := mpi.RecvNew[float64](world, 0, 0)
				if err != nil {
					return err
				}
				if !slices.Equal(got, c.want) {
					return fmt.Errorf("sends %v, want %v", got, c.want)
				}
				full := numbered(4, 3)
				full.Scale(-1, full) // so that every element shows whether it was written
				b := c.of(full)
				if _, err := mpi.Recv(b.On(world), b.Data, 0, 1); err != nil {
					return err
				}
				written := 0
				for i := range 4 {
					for j := range 3 {
						switch x, place := full.At(i, j), float64(100*i+j); {
						case x == place && (place != 0 || slices.Contains(c.want, 0)):
							written++
						case x != -place:
							return fmt.Errorf("receives %v into %d, %d", x, i, j)
						}
					}
				}
				if written != len(c.want) {
					return fmt.Errorf("%d elements were received, want %d", written, len(c.want))
				}
				return nil
			})
		})
	}
}

func TestSym(t *testing.T) {
	mpitest.Run(t, 2, func(ctx context.Context, world *mpi.Comm) error {
		a := mat.NewSymDense(3, nil)
		b := view.Sym(a)
		if world.Rank() == 1 {
			_, err := mpi.Recv(b.On(world), b.Data, 0, 0)
			if want := mat.NewSymDense(3, []float64{1, 2, 3, 2, 4, 5, 3, 5, 6}); err == nil && !mat.Equal(a, want) {
				return fmt.Errorf("got %v", a.RawSymmetric())
			}
			return err
		}
		return mpi.Send(world, []float64{1, 2, 3, 4, 5, 6}, 1, 0)
	})
}

// A column becomes a row, and a matrix its transpose, in one message.
func TestColumnToRow(t *testing.T) {
	mpitest.Run(t, 1, func(ctx context.Context, world *mpi.Comm) error {
		a, b := numbered(4, 3), mat.NewDense(3, 4, nil)
		from, to := view.Of(a), view.Turned(b)
		if _, err := mpi.Sendrecv(view.Both(world, from, to), from.Data, 0, 0, to.Data, 0, 0); err != nil {
			return err
		}
		if !mat.Equal(b, a.T()) {
			return fmt.Errorf("got %v", mat.Formatted(b))
		}
		return nil
	})
}

// Bands of a view are scattered, changed, and gathered again; a reduction adds views.
func TestCollectives(t *testing.T) {
	for _, bands := range []struct {
		name string
		of   func(a *mat.Dense, n int) view.Buffer
		r, c int // of a band
	}{{"rows", view.RowBands, 2, 6}, {"columns", view.ColBands, 6, 2}} {
		t.Run(bands.name, func(t *testing.T) {
			mpitest.Run(t, 3, func(ctx context.Context, world *mpi.Comm) error {
				whole := numbered(6, 6)
				all, mine := bands.of(whole, 3), mat.NewDense(bands.r, bands.c, nil)
				own := view.Of(mine)
				if err := mpi.Scatter(view.Both(world, all, own), all.Data, own.Data, 0); err != nil {
					return err
				}
				mine.Scale(2, mine)
				whole.Zero()
				if err := mpi.Gather(view.Both(world, own, all), own.Data, all.Data, 0); err != nil {
					return err
				}
				want := numbered(6, 6)
				want.Scale(2, want)
				if world.Rank() == 0 && !mat.Equal(whole, want) {
					return fmt.Errorf("got %v", mat.Formatted(whole))
				}
				in, sum := view.Of(numbered(6, 6)), mat.NewDense(6, 6, nil)
				out := view.Of(sum)
				if err := mpi.Allreduce(view.Both(world, in, out), in.Data, out.Data, mpi.Sum); err != nil {
					return err
				}
				want.Scale(1.5, want)
				if !mat.Equal(sum, want) {
					return fmt.Errorf("the sum is %v", mat.Formatted(sum))
				}
				return nil
			})
		})
	}
}

// A wrong index is gonum's panic.
func TestWrongIndex(t *testing.T) {
	a := numbered(4, 3)
	for i, f := range []func(){
		func() { view.Row(a, 4) }, func() { view.Col(a, -1) }, func() { view.Block(a, 0, 5, 0, 1) },
		func() { view.RowBands(a, 3) }, func() { view.ColBands(a, 0) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%d: no panic", i)
				}
			}()
			f()
		}()
	}
}
