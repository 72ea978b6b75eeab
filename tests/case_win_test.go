package tests

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/mpi"
)

// One-sided communication.

var winCases = []testCase{
	{name: "win/fence", section: "12.5.1",
		sentence: "The call completes an RMA epoch: operations that were started are complete, at origins and targets.",
		run:      winFence},
	{name: "win/units", section: "12.2.1",
		sentence: "The displacement unit, and the size, may be different at each rank; an address is base plus displacement times the target's unit.",
		run:      winUnits},
	{name: "win/without a call", section: "FitMPI", min: 2, world: true,
		sentence: "Everything that a passive target has to do is done while its program computes and makes no call.",
		run:      winAlone},
	{name: "win/post and start", section: "12.5.2",
		sentence: "Start blocks until the matching Posts; Wait until the matching Completes, and then what they put is there.",
		run:      winPost},
	{name: "win/test", section: "12.5.2", min: 2,
		sentence: "Test returns true when Wait would return, false before; after true the epoch has ended.",
		run:      winTest},
	{name: "win/exclusive lock", section: "12.5.3",
		sentence: "Accesses protected by an exclusive lock are not concurrent with others at the same window that are lock protected.",
		run:      winExclusive},
	{name: "win/shared lock", section: "12.5.3", min: 2,
		sentence: "Shared locks do not exclude each other.",
		run:      winShared},
	{name: "win/flush", section: "12.5.4",
		sentence: "Flush completes all outstanding operations with the target, at the origin and at the target.",
		run:      winFlush},
	{name: "win/accumulate", section: "12.3.4",
		sentence: "Any predefined operation can be used; each value is updated in one step, from any origins.",
		run:      winAccumulate},
	{name: "win/ordering", section: "12.7.2",
		sentence: "Accumulates of one origin at one place are applied in the order of their calls.",
		run:      winOrdering},
	{name: "win/compare and swap", section: "12.3.4",
		sentence: "CompareAndSwap compares one element and swaps if it is equal, in one step.",
		run:      winSwap},
	{name: "win/requests", section: "12.3.5",
		sentence: "A request of Rput says that the origin's buffer may be reused, of Rget that the data have come.",
		run:      winRequests},
	{name: "win/layouts", section: "12.3.1",
		sentence: "The target's layout, and the origin's, may be any; both hold the same data.",
		run:      winLayouts},
	{name: "win/dynamic", section: "12.2.4",
		sentence: "Memory can be attached and detached as the window lives; what is not attached cannot be used.",
		run:      winDynamic},
	{name: "win/nobody", section: "12.3",
		sentence: "MPI_PROC_NULL is a valid target rank: nothing happens.",
		run:      winNobody},
	{name: "win/goroutines", section: "11.6",
		sentence: "Goroutines may use one window side by side.",
		run:      winGoroutines},
	{name: "win/apart from messages", section: "12.2",
		sentence: "No receive and no probe of the program's sees what windows say to each other.",
		run:      winApart},
	{name: "win/wrong calls", section: "12.5",
		sentence: "Operations outside an epoch, and epochs that do not fit, are errors that say what to do.",
		run:      winWrong},
	{name: "win/arguments", section: "12.3",
		sentence: "What makes no sense is an error of the class that the standard has for it.",
		run:      winArguments},
	{name: "win/properties", section: "12.2",
		sentence: "A window has a group, a name, hints.",
		run:      winProperties},
	{name: "win/random", section: "12", dear: true,
		sentence: "Random programs of all kinds of operations and epochs leave what a sequential model has.",
		run:      winRandom},
	{name: "fault/revoke window", section: "FitMPI", min: 2,
		sentence: "Revoke of a window ends what waits there, at all ranks, and all that follows.",
		run:      winRevoke},
}

// window makes a window of n elements.
func window(t *T, c *mpi.Comm, n int) (*mpi.Win, []int64) {
	w, mem, err := mpi.WinAllocate[int64](c, n, nil)
	t.must(err, "WinAllocate")
	w.SetErrhandler(mpi.ErrorsReturn)
	return w, mem
}

func winFence(t *T, c *mpi.Comm) {
	me, size := c.Rank(), c.Size()
	for _, n := range []int{1, 63, 600, 5000, 100_000} {
		w, mem := window(t, c, n*size)
		t.must(w.Fence(mpi.NoPrecede))
		for r := range size {
			t.must(mpi.Put(w, ramp(n, me*1000+r), r, me*n))
		}
		t.must(w.Fence(0))
		for r := range size {
			wantSlice(t, fmt.Sprintf("%d elements put by %d", n, r), mem[r*n:(r+1)*n], ramp(n, r*1000+me))
		}
		got := make([]int64, n*size)
		for r := range size {
			t.must(mpi.Get(w, got[r*n:(r+1)*n], r, me*n))
		}
		t.must(w.Fence(mpi.NoSucceed | mpi.NoPut | mpi.NoStore))
		for r := range size {
			wantSlice(t, fmt.Sprintf("%d elements got from %d", n, r), got[r*n:(r+1)*n], ramp(n, me*1000+r))
		}
		t.must(w.Free())
	}
}

func winUnits(t *T, c *mpi.Comm) {
	me, size := c.Rank(), c.Size()
	b := make([]byte, 16*(me+1))
	var w *mpi.Win
	var err error
	if me%2 == 0 {
		w, err = mpi.WinCreate(c, b, nil)
	} else {
		w, err = mpi.WinCreate(c, make([]int32, 4*(me+1)), nil)
	}
	t.must(err)
	w.SetErrhandler(mpi.ErrorsReturn)
	t.must(w.Fence(0))
	for r := range size {
		unit := 1
		if r%2 == 1 {
			unit = 4
		}
		last := 16*(r+1) - 8
		if me == r {
			t.must(mpi.Put(w, []float64{float64(r)}, r, last/unit))
		}
		wantError(t, "Put beyond the end", mpi.Put(w, []float64{1, 2}, r, last/unit), mpi.ErrRMARange)
	}
	t.must(w.Fence(0))
	got := make([]float64, size)
	for r := range size {
		unit := 1
		if r%2 == 1 {
			unit = 4
		}
		t.must(mpi.Get(w, got[r:r+1], r, (16*(r+1)-8)/unit))
	}
	t.must(w.Fence(mpi.NoSucceed))
	for r, v := range got {
		want(t, "the last eight bytes", v, float64(r))
	}
	t.must(w.Free())
}

func winAlone(t *T, c *mpi.Comm) {
	if t.Policy == "caller" {
		return // whose messages move in calls only
	}
	const n = 1 << 18
	w, mem := window(t, c, n)
	t.must(mpi.Barrier(c))
	if c.Rank() == 0 {
		for r := 1; r < c.Size(); r++ {
			t.must(awaited(t, fmt.Sprintf("done-%d", r)))
		}
		t.must(w.Lock(mpi.LockShared, 0, 0)) // the others are done: what is left is to see what they have put, as loads must (12.7)
		want(t, "the counter", mem[0], int64(c.Size()-1))
		t.must(w.Unlock(0))
		t.must(mpi.Barrier(c))
		t.must(w.Free())
		return
	}
	t.must(w.Lock(mpi.LockExclusive, 0, 0))
	t.must(mpi.Put(w, ramp(n-1, c.Rank()), 0, 1))
	t.must(w.Flush(0))
	got := make([]int64, n-1)
	t.must(mpi.Get(w, got, 0, 1))
	t.must(w.Unlock(0))
	wantSlice(t, "what was put", got, ramp(n-1, c.Rank()))
	t.must(w.Lock(mpi.LockShared, 0, 0))
	var old int64
	t.must(mpi.FetchAndOp(w, 1, &old, 0, 0, mpi.Sum))
	t.must(w.Unlock(0))
	t.leave(fmt.Sprintf("done-%d", c.Rank()))
	t.must(mpi.Barrier(c))
	t.must(w.Free())
}

// subgroup is the group of some ranks of c.
func subgroup(t *T, c *mpi.Comm, ranks ...int) *mpi.Group {
	g, err := c.Group().Incl(ranks...)
	t.must(err)
	return g
}

func winPost(t *T, c *mpi.Comm) {
	me := c.Rank()
	to, from := subgroup(t, c, right(c)), subgroup(t, c, left(c))
	for _, n := range []int{4, 50_000} {
		w, mem := window(t, c, n)
		for round := range 10 {
			t.must(w.Post(from, 0))
			t.must(w.Start(to, 0))
			t.must(mpi.Put(w, ramp(n, 100*me+round), right(c), 0))
			if c.Size() > 2 {
				wantError(t, "Put to a rank that is no target", mpi.Put(w, []int64{1}, left(c), 0), mpi.ErrRMASync)
			}
			t.must(w.Complete())
			t.must(w.Wait())
			wantSlice(t, "what the left has put", mem, ramp(n, 100*left(c)+round))
		}
		t.must(w.Free())
	}
}

func winTest(t *T, c *mpi.Comm) {
	w, mem := window(t, c, 1)
	switch c.Rank() {
	case 0:
		t.must(w.Post(subgroup(t, c, 1), 0))
		done, err := w.Test()
		t.must(err)
		want(t, "Test before the origin has begun", done, false)
		t.must(mpi.Send(c, []int{1}, 1, 5))
		for !done {
			done, err = w.Test()
			t.must(err)
		}
		want(t, "what was put", mem[0], 7)
		_, err = w.Test()
		wantError(t, "Test after the end", err, mpi.ErrRMASync)
	case 1:
		_, err := mpi.Recv(c, make([]int, 1), 0, 5)
		t.must(err)
		t.must(w.Start(subgroup(t, c, 0), 0))
		t.must(mpi.Put(w, []int64{7}, 0, 0))
		t.must(w.Complete())
	}
	t.must(w.Free())
}

func winExclusive(t *T, c *mpi.Comm) {
	const rounds = 30
	w, mem := window(t, c, 2)
	for i := range rounds {
		target := i % c.Size()
		t.must(w.Lock(mpi.LockExclusive, target, 0))
		got := make([]int64, 2)
		t.must(mpi.Get(w, got, target, 0))
		t.must(w.Flush(target))
		want(t, "two counters that change together", got[0], -got[1])
		t.must(mpi.Put(w, []int64{got[0] + 1}, target, 0))
		t.must(mpi.Put(w, []int64{got[1] - 1}, target, 1))
		t.must(w.Unlock(target))
	}
	t.must(mpi.Barrier(c))
	turns := int64(rounds / c.Size())
	if c.Rank() < rounds%c.Size() {
		turns++
	}
	want(t, "the counter", mem[0], turns*int64(c.Size()))
	t.must(w.Free())
}

func winShared(t *T, c *mpi.Comm) {
	w, _ := window(t, c, 1)
	t.must(w.Lock(mpi.LockShared, 0, 0))
	t.must(mpi.Barrier(c)) // all hold it
	t.must(w.Unlock(0))
	t.must(w.LockAll(0))
	t.must(mpi.Barrier(c))
	t.must(w.UnlockAll())
	t.must(w.Free())
}

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

func winNobody(t *T, c *mpi.Comm) {
	w, _ := window(t, c, 1)
	t.must(w.Lock(mpi.LockExclusive, mpi.ProcNull, 0))
	t.must(mpi.Put(w, []int64{1}, mpi.ProcNull, 0))
	t.must(mpi.Get(w, []int64{1}, mpi.ProcNull, 99))
	t.must(mpi.Accumulate(w, []int64{1}, mpi.ProcNull, 0, mpi.Sum))
	t.must(w.Flush(mpi.ProcNull))
	t.must(w.Unlock(mpi.ProcNull))
	t.must(w.Free())
}

func winGoroutines(t *T, c *mpi.Comm) {
	const many, turns = 4, 25
	w, mem := window(t, c, 1+many)
	t.must(w.LockAll(0))
	var sum atomic.Int64
	t.each(many, func(i int) {
		for range turns {
			var old int64
			t.must(mpi.FetchAndOp(w, 1, &old, 0, 0, mpi.Sum))
			t.must(mpi.Put(w, []int64{int64(c.Rank())}, right(c), 1+i))
			t.must(w.FlushAll())
			sum.Add(old)
		}
	})
	t.must(w.UnlockAll())
	total := make([]int64, 1)
	t.must(mpi.Allreduce(c, []int64{sum.Load()}, total, mpi.Sum))
	n := int64(many * turns * c.Size())
	want(t, "the sum of all tickets", total[0], n*(n-1)/2)
	for i := range many {
		want(t, "what was put", mem[1+i], int64(left(c)))
	}
	t.must(w.Free())
}

func winApart(t *T, c *mpi.Comm) {
	w, _ := window(t, c, 4)
	r := mpi.Irecv(c, make([]int64, 4), mpi.AnySource, mpi.AnyTag)
	t.must(w.Fence(0))
	t.must(mpi.Put(w, ramp(4, 1), right(c), 0))
	t.must(w.Fence(0))
	_, done, err := r.Test()
	t.must(err)
	want(t, "a receive of anything is done", done, false)
	t.must(mpi.Barrier(c))
	t.must(mpi.Send(c, ramp(4, 2), right(c), 3))
	t.must(outcomeOf(r))
	t.must(w.Fence(mpi.NoSucceed))
	t.must(w.Free())
}

func winWrong(t *T, c *mpi.Comm) {
	w, _ := window(t, c, 4)
	one, me := []int64{1}, c.Rank()
	wantError(t, "Put before Fence", mpi.Put(w, one, me, 0), mpi.ErrRMASync, "Fence, Start or Lock")
	wantError(t, "Unlock", w.Unlock(me), mpi.ErrRMASync, "not locked")
	wantError(t, "UnlockAll", w.UnlockAll(), mpi.ErrRMASync)
	wantError(t, "Complete", w.Complete(), mpi.ErrRMASync)
	wantError(t, "Wait", w.Wait(), mpi.ErrRMASync)
	wantError(t, "Flush", w.Flush(me), mpi.ErrRMASync)
	t.must(w.Lock(mpi.LockShared, me, 0))
	wantError(t, "Lock twice", w.Lock(mpi.LockShared, me, 0), mpi.ErrRMASync, "locked already")
	wantError(t, "LockAll", w.LockAll(0), mpi.ErrRMASync)
	wantError(t, "Fence", w.Fence(0), mpi.ErrRMASync)
	wantError(t, "Start", w.Start(mpi.GroupEmpty, 0), mpi.ErrRMASync)
	wantError(t, "Free", w.Free(), mpi.ErrRMASync)
	t.must(w.Unlock(me))
	wantError(t, "Put after Unlock", mpi.Put(w, one, me, 0), mpi.ErrRMASync)
	t.must(w.Fence(0))
	t.must(mpi.Put(w, one, me, 0))
	wantError(t, "Lock in a fence epoch", w.Lock(mpi.LockShared, me, 0), mpi.ErrRMASync, "Fence first")
	t.must(w.Fence(mpi.NoSucceed))
	wantError(t, "Put after the last Fence", mpi.Put(w, one, me, 0), mpi.ErrRMASync)
	t.must(w.Free())
	wantError(t, "Fence of a freed window", w.Fence(0), mpi.ErrWin, "freed")
	wantError(t, "Put to a freed window", mpi.Put(w, one, me, 0), mpi.ErrWin)
	wantError(t, "Rput to a freed window", outcomeOf(mpi.Rput(w, one, me, 0)), mpi.ErrWin)
	var none *mpi.Win
	wantError(t, "Fence of nil", none.Fence(0), mpi.ErrWin)
	wantError(t, "Rget of nil", outcomeOf(mpi.Rget(none, one, 0, 0)), mpi.ErrWin)
}

func winArguments(t *T, c *mpi.Comm) {
	if _, err := mpi.WinCreate(c, []string{"a"}, nil); true {
		wantError(t, "WinCreate of strings", err, mpi.ErrType, "pointers")
	}
	_, _, err := mpi.WinAllocate[int](c, -1, nil)
	wantError(t, "WinAllocate", err, mpi.ErrSize)
	w, _ := window(t, c, 4)
	one, me := []int64{1}, c.Rank()
	wantError(t, "the lock type", w.Lock(0, me, 0), mpi.ErrLocktype)
	wantError(t, "the assertion", w.Lock(mpi.LockShared, me, mpi.NoPut), mpi.ErrAssert)
	wantError(t, "the assertion of Fence", w.Fence(mpi.NoCheck), mpi.ErrAssert)
	wantError(t, "the target of Lock", w.Lock(mpi.LockShared, c.Size(), 0), mpi.ErrRank)
	t.must(w.LockAll(0))
	wantError(t, "the target", mpi.Put(w, one, -7, 0), mpi.ErrRank)
	wantError(t, "the displacement", mpi.Put(w, one, me, -1), mpi.ErrDisp)
	wantError(t, "a displacement that is far too large", mpi.Put(w, one, me, 1<<62), mpi.ErrDisp)
	wantError(t, "the range", mpi.Put(w, one, me, 4), mpi.ErrRMARange)
	wantError(t, "the range of Get", mpi.Get(w, make([]int64, 5), me, 0), mpi.ErrRMARange)
	wantError(t, "the type", mpi.Put(w, []string{"a"}, me, 0), mpi.ErrType)
	wantError(t, "a function of the program's", mpi.Accumulate(w, one, me, 0, func(acc, in []int64) {}), mpi.ErrOp, "predefined")
	wantError(t, "no operation", mpi.Accumulate(w, one, me, 0, nil), mpi.ErrOp)
	wantError(t, "an operation on a type without it", mpi.CompareAndSwap(w, 1.5, 2.5, new(float64), me, 0), mpi.ErrType)
	wantError(t, "no result", mpi.FetchAndOp(w, 1, nil, me, 0, mpi.Sum), mpi.ErrBuffer)
	wantError(t, "results of another length", mpi.GetAccumulate(w, one, nil, me, 0, mpi.Sum), mpi.ErrCount)
	t.must(mpi.Put(w, one[:0], me, 4), "nothing, at the end")
	t.must(w.UnlockAll())
	info := mpi.InfoCreate()
	t.must(info.Set("no_locks", "true"))
	t.must(w.SetInfo(info))
	wantError(t, "Lock with no_locks", w.Lock(mpi.LockShared, me, 0), mpi.ErrRMASync, "no_locks")
	wantError(t, "SetInfo", w.SetInfo(nil), mpi.ErrInfo)
	_, err = mpi.WinAttach(w, one)
	wantError(t, "WinAttach", err, mpi.ErrRMAFlavor)
	t.must(w.Free())
}

func winProperties(t *T, c *mpi.Comm) {
	w, _ := window(t, c, 1)
	same, err := w.Group().Compare(c.Group())
	t.must(err)
	want(t, "the group", same, mpi.Ident)
	t.must(w.SetName("lake"))
	want(t, "the name", w.Name(), "lake")
	err = w.Unlock(0)
	wantError(t, "the name in an error", err, mpi.ErrRMASync, "lake")
	v, ok := w.Info().Get("accumulate_ops")
	want(t, "a hint", v, "same_op_no_op")
	want(t, "a hint is there", ok, true)
	t.must(w.Free())
}

func winRevoke(t *T, c *mpi.Comm) {
	w, _ := window(t, c, 1)
	t.must(w.Lock(mpi.LockShared, c.Rank(), 0))
	t.must(mpi.Barrier(c))
	if c.Rank() == 0 {
		t.must(w.Revoke())
	} else {
		wantError(t, "a Lock that waits", w.Lock(mpi.LockExclusive, 0, 0), mpi.ErrRevoked)
	}
	t.must(mpi.Barrier(c))
	want(t, "IsRevoked", w.IsRevoked(), true)
	wantError(t, "Put", mpi.Put(w, []int64{1}, c.Rank(), 0), mpi.ErrRevoked)
	wantError(t, "Unlock", w.Unlock(c.Rank()), mpi.ErrRevoked)
	t.must(w.Free())
}

func winRandom(t *T, c *mpi.Comm) {
	seed := []uint64{rand.Uint64()}
	t.must(mpi.Bcast(c, seed, 0))
	const rounds, cells = 12, 96
	size := c.Size()
	w, mem := window(t, c, cells)
	model := make([][]int64, size)
	for r := range model {
		model[r] = make([]int64, cells)
	}
	for round := range rounds {
		rng := rand.New(rand.NewPCG(seed[0], uint64(round))) // the same at every rank
		p := newWinProgram(rng, size, cells)
		p.run(t, c, w, rng.IntN(3))
		p.apply(model)
		if !slices.Equal(mem, model[c.Rank()]) {
			t.Fatalf("seed %d, round %d: %v, want %v", seed[0], round, mem, model[c.Rank()])
		}
		for i := range p.ops {
			if o := &p.ops[i]; o.origin == c.Rank() && o.got != nil && !slices.Equal(o.got, o.want) {
				t.Fatalf("seed %d, round %d: got %v, want %v", seed[0], round, o.got, o.want)
			}
		}
		t.must(mpi.Barrier(c))
	}
	t.must(w.Free())
}

// winOp is an operation of a random program: on n cells of a target at a distance of stride.
type winOp struct {
	kind                          int // 0 put, 1 get, 2 sum, 3 fetch and sum
	origin, target, at, n, stride int
	value                         int64
	got, want                     []int64
}

type winProgram struct{ ops []winOp }

// newWinProgram draws operations of which no two conflict: the cells of a target are for puts of
// one operation each, for gets, or for sums.
func newWinProgram(rng *rand.Rand, size, cells int) *winProgram {
	p := &winProgram{}
	for target := range size {
		third := cells / 3
		for at := 0; at < third; {
			n, stride := 1+rng.IntN(6), 1+rng.IntN(3)
			if at+n*stride > third {
				break
			}
			p.ops = append(p.ops, winOp{kind: 0, origin: rng.IntN(size), target: target, at: at, n: n, stride: stride, value: rng.Int64N(1000)})
			at += n * stride
		}
		for range rng.IntN(6) {
			n, stride := 1+rng.IntN(5), 1+rng.IntN(3)
			p.ops = append(p.ops, winOp{kind: 1, origin: rng.IntN(size), target: target, at: third + rng.IntN(third-n*stride+1), n: n, stride: stride})
		}
		for range rng.IntN(8) {
			n, stride := 1+rng.IntN(5), 1+rng.IntN(3)
			p.ops = append(p.ops, winOp{kind: 2, origin: rng.IntN(size), target: target, at: 2*third + rng.IntN(third-n*stride+1), n: n, stride: stride, value: rng.Int64N(9)})
		}
	}
	rng.Shuffle(len(p.ops), func(i, j int) { p.ops[i], p.ops[j] = p.ops[j], p.ops[i] })
	rotate := rng.IntN(3) // which part of the cells is for which
	for i := range p.ops {
		p.ops[i].at = (p.ops[i].at + rotate*cells/3) % cells
	}
	return p
}

// run does what of p is the calling rank's, in one of three kinds of epochs.
func (p *winProgram) run(t *T, c *mpi.Comm, w *mpi.Win, how int) {
	all := c.Group()
	switch how {
	case 0:
		t.must(w.Fence(0))
	case 1:
		t.must(w.LockAll(0))
	default:
		t.must(w.Post(all, 0))
		t.must(w.Start(all, 0))
	}
	for i := range p.ops {
		o := &p.ops[i]
		if o.origin != c.Rank() {
			continue
		}
		v := w.WithTypes(nil, mpi.Vector(o.n, 1, o.stride, mpi.TypeOf[int64]()))
		values := make([]int64, o.n)
		for k := range values {
			values[k] = o.value + int64(k)
		}
		switch o.kind {
		case 0:
			t.must(mpi.Put(v, values, o.target, o.at))
		case 1:
			o.got = values
			t.must(mpi.Get(v, o.got, o.target, o.at))
		default:
			t.must(mpi.Accumulate(v, values, o.target, o.at, mpi.Sum))
		}
	}
	switch how {
	case 0:
		t.must(w.Fence(mpi.NoSucceed))
	case 1:
		t.must(w.UnlockAll())
		t.must(mpi.Barrier(c))
	default:
		t.must(w.Complete())
		t.must(w.Wait())
	}
}

// apply does the same to the model.
func (p *winProgram) apply(model [][]int64) {
	for i := range p.ops {
		o := &p.ops[i]
		m := model[o.target]
		for k := range o.n {
			cell := &m[o.at+k*o.stride]
			switch o.kind {
			case 0:
				*cell = o.value + int64(k)
			case 1:
				o.want = append(o.want, *cell)
			default:
				*cell += o.value + int64(k)
			}
		}
	}
}
