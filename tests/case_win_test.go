package tests

import (
	"fmt"
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
