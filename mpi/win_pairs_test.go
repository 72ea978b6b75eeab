package mpi_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/fitmpi/fitmpi/internal/foreign"
	"github.com/fitmpi/fitmpi/mpi"
)

// eachTransport runs a test where accumulates are done directly, and where they are requests.
func eachTransport(t *testing.T, f func(t *testing.T)) {
	for _, transport := range mpi.TransportsHere() {
		t.Run(transport, func(t *testing.T) {
			t.Setenv("FITMPI_TRANSPORT", transport)
			f(t)
		})
	}
}

// fenced calls f between two fences.
func fenced(w *mpi.Win, f func() error) error {
	if err := w.Fence(0); err != nil {
		return err
	}
	return errors.Join(f(), w.Fence(0))
}

// every is the elements of a slice of 2n of which every second one is meant.
func every[T any](n int) *mpi.Datatype { return mpi.Vector(n, 1, 2, mpi.TypeOf[T]()) }

// "MPI_MINLOC and MPI_MAXLOC [...] can be used with pairs" at a window too, by layouts: of every
// second pair of 500, which are more than a request holds (MPI 4.1, sections 6.9.4 and 12.3.4).
func testPairs[T comparable](t *testing.T, pair func(value, index int) T, greatest, least, replace, noOp mpi.Op[T]) {
	const n = 500
	layout := every[T](n)
	err := mpi.RunThreads(2, func(_ context.Context, world *mpi.Comm) error {
		mem, mine, old := make([]T, 2*n), make([]T, 2*n), make([]T, 2*n)
		me := world.Rank()
		for i := range mem {
			mem[i], mine[i], old[i] = pair(i%100, 7), pair(50, 2+me), pair(1, 1)
		}
		w, err := mpi.WinCreate(world, mem, nil)
		if err != nil {
			return err
		}
		typed := w.WithType(layout)
		steps := []struct {
			op   mpi.Op[T]
			want func(i int) T
		}{
			{greatest, func(i int) T {
				if i > 50 {
					return pair(i, 7)
				}
				return pair(50, 2)
			}},
			{least, func(int) T { return pair(50, 2) }},
			{noOp, func(int) T { return pair(50, 2) }},
		}
		for s, step := range steps {
			if err := fenced(w, func() error { return mpi.Accumulate(typed, mine, 0, 0, step.op) }); err != nil {
				return fmt.Errorf("step %d: %w", s, err)
			}
			for i, v := range mem {
				want := pair(i%100, 7)
				if me == 0 && i%2 == 0 {
					want = step.want(i % 100)
				}
				if v != want {
					return fmt.Errorf("step %d: pair %d of rank %d is %v, want %v", s, i, me, v, want)
				}
			}
		}
		if err := fenced(w, func() error { return mpi.GetAccumulate(typed, mine, old, me, 0, replace) }); err != nil {
			return err
		}
		for i, v := range old {
			want, now := pair(1, 1), pair(i%100, 7)
			if i%2 == 0 {
				want, now = pair(i%100, 7), mine[i]
				if me == 0 {
					want = pair(50, 2)
				}
			}
			if v != want || mem[i] != now {
				return fmt.Errorf("pair %d of rank %d was %v, want %v; now it is %v, want %v", i, me, v, want, mem[i], now)
			}
		}
		return w.Free()
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAccumulatePairs(t *testing.T) {
	eachTransport(t, func(t *testing.T) {
		t.Run("Loc[int32]", func(t *testing.T) {
			testPairs(t, func(v, i int) mpi.Loc[int32] { return mpi.Loc[int32]{Value: int32(v), Index: int64(i)} }, mpi.MaxLoc[int32], mpi.MinLoc[int32], mpi.Replace[mpi.Loc[int32]], mpi.NoOp[mpi.Loc[int32]])
		})
		t.Run("Loc[float64]", func(t *testing.T) {
			testPairs(t, func(v, i int) mpi.Loc[float64] { return mpi.Loc[float64]{Value: float64(v), Index: int64(i)} }, mpi.MaxLoc[float64], mpi.MinLoc[float64], mpi.Replace[mpi.Loc[float64]], mpi.NoOp[mpi.Loc[float64]])
		})
		t.Run("short int", func(t *testing.T) {
			testPairs(t, func(v, i int) foreign.Pair[int16] { return foreign.Pair[int16]{Value: int16(v), Index: int32(i)} }, foreign.MaxLoc[int16], foreign.MinLoc[int16], mpi.Replace[foreign.Pair[int16]], mpi.NoOp[foreign.Pair[int16]])
		})
		t.Run("double int", func(t *testing.T) {
			testPairs(t, func(v, i int) foreign.Pair[float64] { return foreign.Pair[float64]{Value: float64(v), Index: int32(i)} }, foreign.MaxLoc[float64], foreign.MinLoc[float64], mpi.Replace[foreign.Pair[float64]], mpi.NoOp[foreign.Pair[float64]])
		})
		t.Run("2 real", func(t *testing.T) {
			testPairs(t, func(v, i int) foreign.Real[float32] { return foreign.Real[float32]{float32(v), float32(i)} }, foreign.MaxLocReal[float32], foreign.MinLocReal[float32], mpi.Replace[foreign.Real[float32]], mpi.NoOp[foreign.Real[float32]])
		})
	})
}

// An accumulate of pairs does not touch the memory between the parts of a pair, nor behind them.
func TestAccumulatePairsGaps(t *testing.T) {
	eachTransport(t, func(t *testing.T) {
		err := mpi.RunThreads(2, func(_ context.Context, world *mpi.Comm) error {
			type narrow = foreign.Pair[int16] // 2 bytes, 2 of padding, 4 bytes
			mem := make([]byte, 16)
			for i := range mem {
				mem[i] = 0xEE
			}
			mem[4], mem[5], mem[6], mem[7] = 9, 0, 0, 0
			w, err := mpi.WinCreate(world, mem, nil)
			if err != nil {
				return err
			}
			one := mpi.TypeOf[narrow]()
			err = fenced(w, func() error {
				return mpi.Accumulate(w.WithType(one), []narrow{{Value: 0x1234, Index: 3}}, 1-world.Rank(), 0, foreign.MaxLoc[int16])
			})
			if err != nil {
				return err
			}
			if got := fmt.Sprintf("%x", mem); got != "3412eeee03000000eeeeeeeeeeeeeeee" {
				return fmt.Errorf("the memory is %s", got)
			}
			return w.Free()
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// Each value is changed in one step, whatever its parts: ranks that add to pairs at once lose
// nothing, and see pairs that some rank has made (MPI 4.1, section 12.7.1).
func TestAccumulatePairsAtOnce(t *testing.T) {
	eachTransport(t, func(t *testing.T) {
		const ranks, times = 4, 200
		err := mpi.RunThreads(ranks, func(_ context.Context, world *mpi.Comm) error {
			type located = mpi.Loc[int32]
			mem := make([]located, 1)
			w, err := mpi.WinCreate(world, mem, nil)
			if err != nil {
				return err
			}
			typed := w.WithType(mpi.TypeOf[located]())
			if err := w.LockAll(0); err != nil {
				return err
			}
			for i := range times {
				n := i*ranks + world.Rank() + 1
				old := make([]located, 1)
				if err := mpi.GetAccumulate(typed, []located{{Value: int32(n), Index: int64(n)}}, old, 0, 0, mpi.MaxLoc[int32]); err != nil {
					return err
				}
				if err := w.Flush(0); err != nil {
					return err
				}
				if int64(old[0].Value) != old[0].Index {
					return fmt.Errorf("there was %v, which no rank has made", old[0])
				}
			}
			if err := errors.Join(w.UnlockAll(), mpi.Barrier(world)); err != nil {
				return err
			}
			if last := int64(times * ranks); world.Rank() == 0 && mem[0] != (located{Value: int32(last), Index: last}) {
				return fmt.Errorf("there is %v, want %d", mem[0], last)
			}
			return w.Free()
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// Layouts that are not of pairs, or at one end only where pairs have padding, are errors that say
// so; so is a long double where there is no C.
func TestAccumulatePairsWrong(t *testing.T) {
	onWindow(t, 1, 8, func(_ *mpi.Comm, w *mpi.Win, _ []int64) error {
		if err := w.Fence(0); err != nil {
			return err
		}
		pairs := make([]mpi.Loc[int32], 1)
		of := mpi.TypeOf[mpi.Loc[int32]]()
		for what, err := range map[string]error{
			"one end":      mpi.Accumulate(w.WithTypes(nil, of), pairs[:1], 0, 0, mpi.MaxLoc),
			"other end":    mpi.Accumulate(w.WithTypes(of, nil), pairs[:1], 0, 0, mpi.MaxLoc),
			"other kinds":  mpi.Accumulate(w.WithType(mpi.Contiguous(3, mpi.TypeOf[int32]())), pairs, 0, 0, mpi.MaxLoc),
			"sum of mixed": mpi.Accumulate(w.WithType(of), make([]int64, 2), 0, 0, mpi.Sum),
		} {
			if !errors.Is(err, mpi.ErrType) {
				return fmt.Errorf("%s: %v", what, err)
			}
		}
		if err := mpi.Accumulate(w, make([]foreign.LongDouble, 1), 0, 0, foreign.Sum[foreign.LongDouble]); !errors.Is(err, mpi.ErrOp) {
			return fmt.Errorf("long double without C: %v", err)
		}
		return w.Fence(mpi.NoSucceed)
	})
}

// What only C calculates with is calculated at the target by C, on whole values.
func TestAccumulateLong(t *testing.T) {
	defer func() { foreign.Native = nil }()
	foreign.Native = func(k foreign.Kind, op foreign.Op, acc, in []byte) { // adds the first bytes
		for i := 0; i < len(acc) && k == foreign.LongDoubles && op == foreign.OpSum; i += 16 {
			acc[i] += in[i]
		}
	}
	eachTransport(t, func(t *testing.T) {
		const n = 700 // more than a request holds
		err := mpi.RunThreads(2, func(_ context.Context, world *mpi.Comm) error {
			mem, mine := make([]foreign.LongDouble, 2*n), make([]foreign.LongDouble, 2*n)
			for i := range mine {
				mine[i] = foreign.LongDouble{byte(i), 1, 2}
			}
			w, err := mpi.WinCreate(world, mem, nil)
			if err != nil {
				return err
			}
			err = fenced(w, func() error {
				return errors.Join(mpi.Accumulate(w, mine, 1, 0, foreign.Sum[foreign.LongDouble]),
					mpi.Accumulate(w.WithType(every[foreign.LongDouble](n)), mine, 1, 0, foreign.Sum[foreign.LongDouble]))
			})
			if err != nil {
				return err
			}
			for i, v := range mem {
				want := foreign.LongDouble{byte(2 * i * world.Rank())}
				if i%2 == 0 {
					want[0] *= 2
				}
				if v != want {
					return fmt.Errorf("value %d of rank %d is %v, want %v", i, world.Rank(), v, want)
				}
			}
			return w.Free()
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
