//go:build linux

package tests

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/mpi"
)

// Cases of windows as objects: memory that their ranks share, attributes, error handlers.
var winMemoryCases = []testCase{
	{name: "winmem/shared", section: "12.2.3",
		sentence: "The memory that a process has allocated can be accessed by all others of the group with load and store operations.",
		run:      sharedWindow},
	{name: "winmem/contiguous", section: "12.2.3",
		sentence: "The allocated memory is contiguous across process ranks unless the info key alloc_shared_noncontig is specified.",
		run:      sharedContiguous},
	{name: "winmem/apart", section: "12.2.3",
		sentence: "If the info key alloc_shared_noncontig is set to true, the library can allocate the memory of each rank apart.",
		run:      sharedApart},
	{name: "winmem/query", section: "12.2.3",
		sentence: "When rank is MPI_PROC_NULL, the query returns the memory segment belonging to the process with the lowest rank that specified size > 0.",
		run:      sharedQuery},
	{name: "winmem/flag", section: "12.2.3",
		sentence: "A consistent view is established by operations that synchronise: a flag that is read and written atomically is seen.",
		run:      sharedFlag},
	{name: "winmem/many", section: "FitMPI",
		sentence: "Windows of one communicator are apart, and what Free gives back is gone: no mapping and no descriptor stays.",
		run:      sharedMany},
	{name: "winmem/refused", section: "12.6.2",
		sentence: "MPI_ERR_RMA_SHARED: some process in the communicator does not share memory; wrong arguments of one rank are told to all.",
		run:      sharedRefused},
	{name: "winmem/attributes", section: "7.7.3",
		sentence: "Values are cached on a window under a key, and deleted by Delete, by Set and, the newest first, by Free.",
		run:      winAttributes},
	{name: "winmem/attributes fail", section: "7.7.3",
		sentence: "If a delete function fails, so does the call that caused it, and the value stays; Free then leaves the window as it is.",
		run:      winAttributesFail},
	{name: "winmem/predefined", section: "12.2.6",
		sentence: "The base, the size, the displacement unit, the flavor and the memory model of a window can be asked for.",
		run:      winPredefined},
	{name: "winmem/errhandler", section: "12.6.1",
		sentence: "The error handler of a window deals with errors of its operations, whatever that of its communicator is.",
		run:      winErrhandler},
}

// isShared reports whether all ranks of c share memory.
func isShared(c *mpi.Comm) bool {
	for r := range c.Size() {
		if c.Transport(r) == "tcp" {
			return false
		}
	}
	return true
}

// shared is the part of c in which ranks share memory: c itself, or what SplitType makes of it.
func shared(t *T, c *mpi.Comm) *mpi.Comm {
	s, err := c.SplitType(mpi.SplitShared, 0, nil)
	t.must(err)
	return s
}

// sharedWin is a window of shared memory whose errors are returned.
func sharedWin[E any](t *T, c *mpi.Comm, n int) (*mpi.Win, []E) {
	w, mem, err := mpi.WinAllocateShared[E](c, n, nil)
	t.must(err)
	w.SetErrhandler(mpi.ErrorsReturn)
	want(t, "length of the own part", len(mem), n)
	return w, mem
}

// sharedPartOf is the part of a rank.
func sharedPartOf[E any](t *T, w *mpi.Win, rank int) []E {
	part, err := mpi.WinSharedQuery[E](w, rank)
	t.must(err)
	return part
}

func sharedWindow(t *T, c *mpi.Comm) {
	s := shared(t, c)
	w, mine := sharedWin[int64](t, s, 10+s.Rank())
	for i := range mine {
		want(t, "memory at the start", mine[i], 0)
		mine[i] = int64(100*s.Rank() + i)
	}
	t.must(w.Sync())
	t.must(mpi.Barrier(s))
	t.must(w.Sync())
	for r := range s.Size() {
		part := sharedPartOf[int64](t, w, r)
		want(t, fmt.Sprint("length of the part of rank ", r), len(part), 10+r)
		for i, v := range part {
			want(t, fmt.Sprintf("element %d of rank %d", i, r), v, int64(100*r+i))
		}
	}
	t.must(mpi.Barrier(s))
	next := sharedPartOf[int64](t, w, (s.Rank()+1)%s.Size())
	next[len(next)-1] = int64(s.Rank()) // stores go both ways
	t.must(w.Sync())
	t.must(mpi.Barrier(s))
	t.must(w.Sync())
	want(t, "what the rank before stored", mine[len(mine)-1], int64((s.Rank()+s.Size()-1)%s.Size()))
	t.must(w.Free())
	t.must(s.Free())
}

func sharedContiguous(t *T, c *mpi.Comm) {
	s := shared(t, c)
	w, mine := sharedWin[int32](t, s, s.Rank()+1)
	for i := range mine {
		mine[i] = int32(s.Rank())
	}
	t.must(w.Sync())
	t.must(mpi.Barrier(s))
	t.must(w.Sync())
	all, err := mpi.WinSharedAll[int32](w)
	t.must(err)
	var expect []int32
	for r := range s.Size() {
		for range r + 1 {
			expect = append(expect, int32(r))
		}
	}
	wantSlice(t, "the memory of all ranks", all, expect)
	for r, at := 0, 0; r < s.Size(); r++ {
		want(t, fmt.Sprintf("the part of rank %d begins where it should", r), &sharedPartOf[int32](t, w, r)[0] == &all[at], true)
		at += r + 1
	}
	t.must(mpi.Barrier(s))
	t.must(w.Free())
	t.must(s.Free())
}

func sharedApart(t *T, c *mpi.Comm) {
	s := shared(t, c)
	info := mpi.InfoCreate()
	t.must(info.Set("alloc_shared_noncontig", "true"))
	w, mine, err := mpi.WinAllocateShared[byte](s, s.Rank()+1, info)
	t.must(err)
	w.SetErrhandler(mpi.ErrorsReturn)
	mine[s.Rank()] = byte(s.Rank() + 1)
	t.must(w.Sync())
	t.must(mpi.Barrier(s))
	t.must(w.Sync())
	for r := range s.Size() {
		part := sharedPartOf[byte](t, w, r)
		want(t, "length", len(part), r+1)
		want(t, "capacity", cap(part), r+1)
		want(t, "the last byte", part[r], byte(r+1))
	}
	got, _ := w.Info().Get("alloc_shared_noncontig")
	want(t, "the info of the window", got, "true")
	_, err = mpi.WinSharedAll[byte](w)
	wantError(t, "the memory of all ranks", err, mpi.ErrRMAFlavor, "alloc_shared_noncontig")
	t.must(mpi.Barrier(s))
	t.must(w.Free())
	t.must(s.Free())
}

func sharedQuery(t *T, c *mpi.Comm) {
	s := shared(t, c)
	n := 0
	if s.Rank() == s.Size()-1 {
		n = 5
	}
	w, mine := sharedWin[float64](t, s, n)
	if n > 0 {
		mine[4] = 2.5
	}
	t.must(w.Sync())
	t.must(mpi.Barrier(s))
	t.must(w.Sync())
	first := sharedPartOf[float64](t, w, mpi.ProcNull)
	want(t, "length of the first part that is not empty", len(first), 5)
	want(t, "its last element", first[4], 2.5)
	asBytes := sharedPartOf[byte](t, w, s.Size()-1)
	want(t, "length as bytes", len(asBytes), 40)
	for what, err := range map[string]error{"behind the last": queryError[float64](w, s.Size()), "any source": queryError[float64](w, mpi.AnySource)} {
		wantError(t, "a rank "+what, err, mpi.ErrRank)
	}
	wantError(t, "a type with pointers", queryError[string](w, 0), mpi.ErrType, "string")
	wantError(t, "a type that does not divide it", queryError[[3]float64](w, s.Size()-1), mpi.ErrType, "40 bytes")
	t.must(mpi.Barrier(s))
	t.must(w.Free())
	wantError(t, "after Free", queryError[float64](w, 0), mpi.ErrWin, "freed")

	empty, none := sharedWin[float64](t, s, 0)
	want(t, "an empty window", len(none)+len(sharedPartOf[float64](t, empty, mpi.ProcNull)), 0)
	t.must(empty.Free())
	t.must(s.Free())
}

func queryError[E any](w *mpi.Win, rank int) error {
	_, err := mpi.WinSharedQuery[E](w, rank)
	return err
}

// sharedFlag: a token goes round by stores alone. Ranks may be more than cores, so a rank that
// waits lets others run.
func sharedFlag(t *T, c *mpi.Comm) {
	s := shared(t, c)
	w, _ := sharedWin[int64](t, s, 1)
	flag := &sharedPartOf[int64](t, w, 0)[0]
	const rounds = 20
	for i := range int64(rounds) {
		turn := i*int64(s.Size()) + int64(s.Rank())
		for atomic.LoadInt64(flag) != turn {
			if _, _, err := mpi.Iprobe(s, mpi.AnySource, mpi.AnyTag); err != nil { // yields, and lets progress be made under caller
				t.Fatalf("%v", err)
			}
		}
		atomic.StoreInt64(flag, turn+1)
	}
	t.must(mpi.Barrier(s))
	want(t, "the token at the end", atomic.LoadInt64(flag), int64(rounds*s.Size()))
	t.must(mpi.Barrier(s))
	t.must(w.Free())
	t.must(s.Free())
}

// wantNoMappings looks for mappings of windows that this process still has, when no rank of the job
// has a window. Beside other communicators no rank knows when that is.
func wantNoMappings(t *T, c *mpi.Comm) {
	if !t.World {
		return
	}
	t.must(mpi.Barrier(c))
	maps, err := os.ReadFile("/proc/self/maps")
	t.must(err)
	want(t, "mappings that are left", strings.Count(string(maps), "fitmpi-window"), 0)
	t.must(mpi.Barrier(c))
}

func sharedMany(t *T, c *mpi.Comm) {
	s := shared(t, c)
	const n = 5
	ws, mems := make([]*mpi.Win, n), make([][]int64, n)
	for i := range ws {
		ws[i], mems[i] = sharedWin[int64](t, s, 100)
		for k := range mems[i] {
			mems[i][k] = int64(1000*i + s.Rank())
		}
	}
	t.must(mpi.Barrier(s))
	for i, w := range ws {
		for r := range s.Size() {
			want(t, fmt.Sprintf("window %d, rank %d", i, r), sharedPartOf[int64](t, w, r)[99], int64(1000*i+r))
		}
	}
	t.must(mpi.Barrier(s))
	for _, i := range []int{3, 0, 4, 1, 2} {
		t.must(ws[i].Free())
	}
	wantNoMappings(t, c)
	t.must(s.Free())
}

func sharedRefused(t *T, c *mpi.Comm) {
	last := c.Size() - 1
	if !isShared(c) {
		_, _, err := mpi.WinAllocateShared[int](c, 1, nil)
		wantError(t, "ranks that share no memory", err, mpi.ErrRMAShared, "SplitType")
		return
	}
	n := 1
	if c.Rank() == last {
		n = -1
	}
	_, _, err := mpi.WinAllocateShared[int](c, n, nil)
	if c.Rank() == last {
		wantError(t, "a negative length", err, mpi.ErrSize, "-1 elements")
	} else {
		wantError(t, "a negative length elsewhere", err, mpi.ErrRMAShared, fmt.Sprintf("rank %d gave wrong arguments", last))
	}
	if c.Rank() == last {
		_, _, err = mpi.WinAllocateShared[string](c, 1, nil)
		wantError(t, "a type with pointers", err, mpi.ErrType, "string")
	} else {
		_, _, err = mpi.WinAllocateShared[int](c, 1, nil)
		wantError(t, "a type with pointers elsewhere", err, mpi.ErrRMAShared)
	}
	if c.Size() > 1 { // 3 bytes, and then 8 that are to be aligned
		if c.Rank() == 0 {
			_, _, err = mpi.WinAllocateShared[byte](c, 3, nil)
		} else {
			_, _, err = mpi.WinAllocateShared[int64](c, 1, nil)
		}
		wantError(t, "parts that cannot follow each other", err, mpi.ErrRMAShared, "alloc_shared_noncontig")
	}
	_, _, err = mpi.WinAllocateShared[int64](c, 1<<59, nil)
	wantError(t, "more than there is", err, mpi.ErrNoMem)
	wantNoMappings(t, c)
	w, _ := sharedWin[int](t, c, 1) // and the communicator is as good as before
	t.must(w.Free())
}

// notedWin makes a key whose deletions j lists.
func notedWin(j *journal, name string) *mpi.WinKeyval[int] {
	return mpi.WinKeyvalCreate(func(_ *mpi.Win, v int) error {
		j.add("delete %s=%d", name, v)
		return nil
	})
}

func winAttributes(t *T, c *mpi.Comm) {
	w, err := mpi.WinCreate(c, make([]int32, 3), nil)
	t.must(err)
	w.SetErrhandler(mpi.ErrorsReturn)
	var j journal
	k, l := notedWin(&j, "k"), notedWin(&j, "l")
	_, ok := k.Get(w)
	want(t, "a value before it was set", ok, false)
	t.must(k.Set(w, 1))
	t.must(l.Set(w, 2))
	v, ok := k.Get(w)
	want(t, "the value", v, 1)
	want(t, "there is one", ok, true)
	t.must(k.Set(w, 3))
	t.wantJournal("overwriting", &j, "delete k=1")
	t.must(l.Delete(w))
	t.wantJournal("deleting", &j, "delete l=2")
	wantError(t, "deleting twice", l.Delete(w), mpi.ErrKeyval, "no value")
	t.must(l.Set(w, 4))
	l.Free()
	wantError(t, "setting under a freed key", l.Set(w, 5), mpi.ErrKeyval, "freed")
	t.must(w.Free())
	t.wantJournal("Free", &j, "delete l=4", "delete k=3")
	_, ok = k.Get(w)
	want(t, "a value after Free", ok, false)
	wantError(t, "setting after Free", k.Set(w, 6), mpi.ErrWin, "freed")
	wantError(t, "a nil window", k.Set(nil, 6), mpi.ErrWin, "nil")
	var none *mpi.WinKeyval[int]
	v2, err := mpi.WinCreate(c, make([]int32, 3), nil)
	t.must(err)
	v2.SetErrhandler(mpi.ErrorsReturn)
	wantError(t, "a nil key", none.Set(v2, 6), mpi.ErrKeyval, "WinKeyvalCreate")
	t.must(v2.Free())
}

func winAttributesFail(t *T, c *mpi.Comm) {
	w, err := mpi.WinCreate(c, make([]int32, 3), nil)
	t.must(err)
	w.SetErrhandler(mpi.ErrorsReturn)
	cause := io.ErrUnexpectedEOF
	k := mpi.WinKeyvalCreate(func(_ *mpi.Win, v int) error { return cause })
	t.must(k.Set(w, 1))
	for what, err := range map[string]error{"Set": k.Set(w, 2), "Delete": k.Delete(w), "Free": w.Free()} {
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s with a delete function that fails: %v", what, err)
		}
	}
	v, ok := k.Get(w)
	want(t, "the value", v, 1)
	want(t, "it is there", ok, true)
	cause = nil
	t.must(w.Free(), "Free when the delete function has thought better of it")
}

func winPredefined(t *T, c *mpi.Comm) {
	mem := make([]float64, 4)
	w, err := mpi.WinCreate(c, mem, nil)
	t.must(err)
	w.SetErrhandler(mpi.ErrorsReturn)
	want(t, "size", w.Size(), 32)
	want(t, "displacement unit", w.DispUnit(), 8)
	want(t, "flavor", w.Flavor(), mpi.FlavorCreate)
	want(t, "model", w.Model(), mpi.ModelUnified)
	base, err := mpi.WinBase[float64](w)
	t.must(err)
	want(t, "base", len(base) == 4 && &base[0] == &mem[0], true)
	t.must(w.Free())
	if isShared(c) {
		s, part := sharedWin[int16](t, c, 7)
		want(t, "flavor of shared memory", s.Flavor(), mpi.FlavorShared)
		want(t, "its size", s.Size(), 14)
		want(t, "its unit", s.DispUnit(), 2)
		base, err := mpi.WinBase[int16](s)
		t.must(err)
		want(t, "its base", len(base) == 7 && &base[0] == &part[0], true)
		t.must(s.Free())
	}
}

func winErrhandler(t *T, c *mpi.Comm) {
	w, err := mpi.WinCreate(c, make([]int32, 3), nil)
	t.must(err)
	v, err := mpi.WinCreate(c, make([]int32, 3), nil)
	t.must(err)
	v.SetErrhandler(mpi.ErrorsReturn)
	var got []*mpi.Error
	w.SetErrhandler(func(at *mpi.Win, err *mpi.Error) error {
		want(t, "the window", at == w, true)
		got = append(got, err)
		return nil
	})
	t.must(w.CallErrhandler(mpi.ErrRank), "the handler has dealt with it")
	t.must(w.CallErrhandler(nil), "no error")
	t.must(mpi.Put(w, []int32{1}, c.Size(), 0), "an operation whose error the handler has dealt with")
	if len(got) != 2 {
		t.Fatalf("the handler was called %d times, not twice", len(got))
	}
	want(t, "class", got[0].Class, mpi.ErrRank)
	want(t, "operation", got[0].Op, "CallErrhandler")
	want(t, "operation", got[1].Op, "Put")
	for _, e := range got {
		want(t, "rank", e.Rank, c.Rank())
		want(t, "window", e.Comm, w.Name())
		want(t, "host", e.Host, c.ProcessorName())
	}
	wantError(t, "another window", v.CallErrhandler(io.EOF), mpi.ErrUnknown, "EOF", v.Name())
	func() {
		defer func() { want(t, "a nil handler panics", recover() != nil, true) }()
		w.SetErrhandler(nil)
	}()
	t.must(w.Free())
	w.SetErrhandler(mpi.ErrorsReturn)
	wantError(t, "a freed window", w.CallErrhandler(io.EOF), mpi.ErrWin)
	var none *mpi.Win
	wantError(t, "no window", none.CallErrhandler(io.EOF), mpi.ErrWin)
	t.must(v.Free())
}
