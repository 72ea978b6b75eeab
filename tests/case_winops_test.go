package tests

import (
	"fmt"
	"slices"

	"github.com/fitmpi/fitmpi/mpi"
)

func winFlush(t *T, c *mpi.Comm) {
	for _, n := range []int{3, 700, 40_000} {
		w, mem := window(t, c, n)
		t.must(w.LockAll(0))
		buf := ramp(n, c.Rank())
		t.must(mpi.Put(w, buf, right(c), 0))
		t.must(w.Flush(right(c)))
		clear(buf)
		t.must(mpi.Barrier(c))
		t.must(w.Sync())
		wantSlice(t, "what the left has put", mem, ramp(n, left(c)))
		got := make([]int64, n)
		t.must(mpi.Get(w, got, right(c), 0))
		t.must(w.FlushLocalAll())
		wantSlice(t, "what was got", got, ramp(n, c.Rank()))
		t.must(w.UnlockAll())
		t.must(w.Free())
	}
}

func winAccumulate(t *T, c *mpi.Comm) {
	size := int64(c.Size())
	winOps(t, c, []int32{3, 1 << 10}, []int32{int32(3 * size), int32(size) << 10}, mpi.Sum)
	winOps(t, c, []uint8{1, 2}, []uint8{uint8(size), uint8(2 * size)}, mpi.Sum[uint8])
	winOps(t, c, []float32{1.5}, []float32{float32(size) * 1.5}, mpi.Sum)
	winOps(t, c, []complex128{1 + 2i}, []complex128{complex(float64(size), float64(2*size))}, mpi.Sum)
	winOps(t, c, []float64{float64(c.Rank())}, []float64{float64(size - 1)}, mpi.Max)
	winOps(t, c, []int16{-int16(c.Rank())}, []int16{-int16(size - 1)}, mpi.Min)
	winOps(t, c, []bool{false, c.Rank() == 0}, []bool{false, true}, mpi.LOr)
	winOps(t, c, []uint64{1 << c.Rank()}, []uint64{1<<size - 1}, mpi.BOr)
	winOps(t, c, []mpi.Loc[float64]{{Value: float64(c.Rank() % 2), Index: int64(c.Rank())}},
		[]mpi.Loc[float64]{{Value: min(float64(size-1), 1), Index: min(size-1, 1)}}, mpi.MaxLoc)
	// More than a request holds, and not aligned for its kind.
	const n = 20_000
	w, err := mpi.WinCreate(c, make([]byte, 8*n+1), nil)
	t.must(err)
	w.SetErrhandler(mpi.ErrorsReturn)
	t.must(w.Fence(0))
	for r := range c.Size() {
		t.must(mpi.Accumulate(w, ramp(n, c.Rank()), r, 1, mpi.Sum))
	}
	t.must(w.Fence(0))
	got := make([]int64, n)
	t.must(mpi.GetAccumulate(w, nil, got, right(c), 1, mpi.NoOp))
	t.must(w.Fence(mpi.NoSucceed))
	sum := make([]int64, n)
	for r := range c.Size() {
		mpi.Sum(sum, ramp(n, r))
	}
	wantSlice(t, "a long sum", got, sum)
	t.must(w.Free())
}

// winOps accumulates mine of every rank at every rank.
func winOps[V comparable](t *T, c *mpi.Comm, mine, all []V, op mpi.Op[V]) {
	w, mem, err := mpi.WinAllocate[V](c, len(mine), nil)
	t.must(err)
	w.SetErrhandler(mpi.ErrorsReturn)
	for i := range mem {
		mem[i] = *new(V)
	}
	if c.Size() == 1 {
		copy(all, mine) // of Max and the like with zero
		op(all, make([]V, len(mine)))
	}
	t.must(w.Fence(0))
	for r := range c.Size() {
		t.must(mpi.Accumulate(w, mine, r, 0, op))
	}
	t.must(w.Fence(mpi.NoSucceed))
	wantSlice(t, fmt.Sprintf("%T accumulated", mine), mem, all)
	t.must(w.Free())
}

func winOrdering(t *T, c *mpi.Comm) {
	const n, rounds = 1500, 5
	w, mem := window(t, c, n)
	t.must(w.LockAll(0))
	var last []int64
	got := make([]int64, n)
	target := right(c)
	for i := range rounds {
		before := last
		last = ramp(n, 10*c.Rank()+i)
		t.must(mpi.Accumulate(w, last, target, 0, mpi.Replace))
		if before != nil {
			t.must(mpi.GetAccumulate(w, ramp(n, 3), got, target, 0, mpi.Sum))
			t.must(mpi.Accumulate(w, last, target, 0, mpi.Replace))
		}
	}
	t.must(w.UnlockAll())
	wantSlice(t, "fetched between two accumulates", got, last)
	t.must(mpi.Barrier(c))
	t.must(w.Lock(mpi.LockShared, c.Rank(), 0))
	wantSlice(t, "the last", mem, ramp(n, 10*left(c)+rounds-1))
	t.must(w.Unlock(c.Rank()))
	t.must(w.Free())
}

func winSwap(t *T, c *mpi.Comm) {
	const turns = 20
	w, mem := window(t, c, 1)
	t.must(w.LockAll(0))
	for range turns {
		for old, seen := int64(-1), int64(0); old != seen; {
			seen = max(old, 0)
			t.must(mpi.CompareAndSwap(w, seen+1, seen, &old, 0, 0))
			t.must(w.Flush(0))
			if old == seen {
				break
			}
		}
	}
	t.must(w.UnlockAll())
	t.must(mpi.Barrier(c))
	if c.Rank() == 0 {
		want(t, "the counter", mem[0], int64(turns*c.Size()))
	}
	t.must(w.Free())
}

func winRequests(t *T, c *mpi.Comm) {
	for _, n := range []int{1, 900, 60_000} {
		w, mem := window(t, c, n)
		wantError(t, "Rput outside an epoch of locks", outcomeOf(mpi.Rput(w, ramp(n, 1), right(c), 0)), mpi.ErrRMASync)
		t.must(w.LockAll(0))
		buf := ramp(n, c.Rank())
		t.must(outcomeOf(mpi.Rput(w, buf, right(c), 0)))
		t.must(w.Flush(right(c)))
		clear(buf)
		got := make([]int64, n)
		a := mpi.Rget(w, got, right(c), 0)
		t.must(w.FlushAll())
		t.must(outcomeOf(a))
		wantSlice(t, "Rget", got, ramp(n, c.Rank()))
		t.must(outcomeOf(mpi.Raccumulate(w, ramp(n, c.Rank()), right(c), 0, mpi.Sum)))
		old := make([]int64, n)
		x := mpi.RgetAccumulate(w, ramp(n, 5), old, right(c), 0, mpi.Replace)
		y := mpi.Rget(w, got[:1], mpi.ProcNull, 0)
		_, err := mpi.WaitAll(x, y)
		t.must(err)
		twice := ramp(n, c.Rank())
		mpi.Sum(twice, ramp(n, c.Rank()))
		wantSlice(t, "RgetAccumulate", old, twice)
		t.must(w.UnlockAll())
		t.must(mpi.Barrier(c))
		wantSlice(t, "at the end", mem, ramp(n, 5))
		t.must(w.Free())
	}
}

func outcomeOf(r *mpi.Request) error {
	_, err := r.Wait()
	return err
}

func winLayouts(t *T, c *mpi.Comm) {
	const rows, cols = 120, 7
	element := mpi.TypeOf[int64]()
	column := mpi.Vector(rows, 1, cols, element)
	odd := make([]int, 90) // runs at distances that differ: more than a request has room for
	for i := range odd {
		odd[i] = i * (i + 3) / 24 * 2
	}
	odd = slices.Compact(odd)
	some := mpi.IndexedBlock(1, odd, element)
	w, mem := window(t, c, rows*cols)
	data := ramp(rows*cols, c.Rank())
	t.must(w.Fence(0))
	t.must(mpi.Put(w.WithType(column), data[2:], right(c), 3)) // column 2 to column 3
	t.must(mpi.Put(w.WithTypes(nil, column), data[:rows], right(c), 5))
	t.must(w.Fence(0))
	sent := ramp(rows*cols, left(c))
	for i := range rows {
		if mem[i*cols+3] != sent[i*cols+2] || mem[i*cols+5] != sent[i] || mem[i*cols] != 0 {
			t.Errorf("row %d is %v", i, mem[i*cols:(i+1)*cols])
			break
		}
	}
	got := make([]int64, rows*cols)
	t.must(mpi.Get(w.WithTypes(nil, column), got[:rows], right(c), 3))
	t.must(w.Fence(0))
	for i := range rows {
		want(t, "a column that was got", got[i], data[i*cols+2])
	}
	t.must(w.Fence(0))
	clear(mem)
	t.must(w.Fence(0))
	t.must(mpi.Accumulate(w.WithType(some), data, right(c), 1, mpi.Sum))
	t.must(mpi.Accumulate(w.WithType(some), data, right(c), 1, mpi.Sum))
	t.must(w.Fence(0))
	t.must(mpi.GetAccumulate(w.WithType(some), nil, got, right(c), 1, mpi.NoOp))
	t.must(w.Fence(mpi.NoSucceed))
	for _, i := range odd {
		if mem[1+i] != 2*sent[i] || got[i] != 2*data[i] {
			t.Errorf("element %d is %d, got %d, want %d and %d", i, mem[1+i], got[i], 2*sent[i], 2*data[i])
			break
		}
	}
	wantError(t, "layouts of different data", mpi.Put(w.WithTypes(nil, column), data[:rows-1], right(c), 0), mpi.ErrType)
	t.must(w.Free())
}

func winDynamic(t *T, c *mpi.Comm) {
	w, err := mpi.WinCreateDynamic(c, nil)
	t.must(err)
	w.SetErrhandler(mpi.ErrorsReturn)
	const n = 4000
	a, b := make([]int64, n), make([]float32, 10)
	at, err := mpi.WinAttach(w, a)
	t.must(err)
	other, err := mpi.WinAttach(w, b)
	t.must(err)
	_, err = mpi.WinAttach(w, a[1:2])
	wantError(t, "attaching twice", err, mpi.ErrRMAAttach)
	places := make([]int, 2*c.Size())
	t.must(mpi.Allgather(c, []int{at, other}, places))
	there := places[2*right(c):]
	t.must(w.LockAll(0))
	t.must(mpi.Put(w, ramp(n-5, c.Rank()), right(c), there[0]+5*8))
	t.must(mpi.Accumulate(w, []float32{2.5}, right(c), there[1]+4*9, mpi.Sum))
	t.must(w.FlushAll())
	t.must(mpi.Barrier(c))
	wantSlice(t, "what was put", a[5:], ramp(n-5, left(c)))
	want(t, "what was accumulated", b[9], 2.5)
	t.must(mpi.Barrier(c))
	t.must(mpi.WinDetach(w, a))
	wantError(t, "detaching twice", mpi.WinDetach(w, a), mpi.ErrRMAAttach)
	t.must(mpi.Barrier(c))
	for _, long := range []int{1, n} {
		t.must(mpi.Put(w, make([]int64, long), right(c), there[0]))
		wantError(t, "Flush after a Put to what is not attached", w.Flush(right(c)), mpi.ErrRMARange)
		wantError(t, "Rget of what is not attached", outcomeOf(mpi.Rget(w, make([]int64, long), right(c), there[0])), mpi.ErrRMARange)
		wantError(t, "Flush after it", w.Flush(right(c)), mpi.ErrRMARange)
	}
	t.must(w.Flush(right(c)), "once an error is told it is over")
	t.must(w.UnlockAll())
	t.must(w.Free())
}
