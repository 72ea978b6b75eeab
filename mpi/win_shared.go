package mpi

import (
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/fitmpi/fitmpi/engine"
)

// sharedPart is what a window of WinAllocateShared has of the memory that its ranks have in common.
// Immutable.
type sharedPart struct {
	id     engine.ContextID // by which this process has it
	common *commonMemory
	parts  *memoryParts
}

// WinAllocateShared makes a window of n elements of T at the calling rank, in memory that all ranks
// of c may read and write as their own (MPI 4.1, section 12.2.3, MPI_Win_allocate_shared). mem is
// the calling rank's part of it; [WinSharedQuery] returns those of others. The memory is zeroed.
// The parts follow each other in the order of ranks: [WinSharedAll] is all of them.
//
// The ranks of c must share memory: make c with SplitType(SplitShared, ...). Otherwise the error is
// of class [ErrRMAShared] at all ranks. It is so too if a process may not open the memory of
// another (docs/LIMITS.md). It is of class [ErrNoMem] if there is no memory. n may differ between
// ranks and may be 0; less is an error of class [ErrSize]. T must be plain, without pointers, else
// it is an error of class [ErrType]. Of what one rank gets wrong the others hear by an error of
// class [ErrRMAShared].
//
// Loads and stores of one rank are seen by another after both have called [Win.Sync], with
// something in between that makes the second wait for the first, such as a Barrier; or at once if
// they are those of sync/atomic. What two goroutines of one process touch otherwise, without
// synchronisation, is a data race as ever.
//
// Between threads of one process the memory is of Go's heap. Between processes it is not: after
// Free no goroutine may touch it, which would end the process, as with FreeMem.
//
// info has the hints of [Win.SetInfo], and may be nil. "alloc_shared_noncontig", if it is "true" at
// all ranks, lets the parts lie apart, each on pages of its own, which the kernel takes from the
// memory that is near to the rank that first writes there.
//
// Collective. A window has the synchronisation and the operations of any other.
func WinAllocateShared[T any](c *Comm, n int, info *Info) (w *Win, mem []T, err error) {
	const op = "WinAllocateShared"
	defer c.begin(op).endAt(&err)
	if err := c.canWindow(op); err != nil {
		return nil, nil, c.fail(err)
	}
	e, wrong := windowElem[T](op)
	if wrong == nil {
		wrong = checkLength(op, e, n)
	}
	if w, err = c.allocateShared(op, e, n, wrong, info); err != nil {
		return nil, nil, err
	}
	return w, sliceOf[T](w.base), nil
}

// checkLength says what is wrong with n elements of e as memory of a window, if anything.
func checkLength(op string, e *elem, n int) *Error {
	switch {
	case n < 0:
		return opErrorf(ErrSize, op, "%d elements: need 0 or more", n)
	case e.size > 0 && n > math.MaxInt/e.size:
		return opErrorf(ErrNoMem, op, "%d elements of %d bytes are more than the memory of any machine", n, e.size)
	}
	return nil
}

// allocateShared is WinAllocateShared of n elements of e; wrong is what is wrong with these, if
// anything, which the others are to hear of.
func (c *Comm) allocateShared(op string, e *elem, n int, wrong *Error, info *Info) (*Win, error) {
	near, _ := c.isLocal()
	noncontig, _ := info.Get(keyNoncontig)
	mine := partEntry{Context: uint64(c.job.leadContext()), Far: !near, Apart: noncontig == "true", Wrong: wrong != nil, Align: 1}
	if wrong == nil {
		mine.Bytes, mine.Align = int64(n)*int64(e.size), int64(e.typ.Align())
	}
	all, err := gatherEntries(c, op, mine)
	if err != nil {
		return nil, err
	}
	if wrong != nil {
		return nil, c.fail(wrong)
	}
	p, bad := partsOf(op, all)
	if bad != nil {
		return nil, c.fail(bad)
	}
	id := engine.ContextID(all[0].Context)
	m, err := c.shareMemory(op, id, p.total)
	if err != nil {
		return nil, err
	}
	w, err := makeWin(c, op, FlavorShared, p.of(m.mem, c.rank), max(e.size, 1), info)
	if err != nil {
		return nil, errors.Join(err, c.job.local.unshare(id, false)) // others may still use it
	}
	w.shared = &sharedPart{id, m, p}
	w.meetShared()
	w.hints.put(keyNoncontig, strconv.FormatBool(p.apart))
	return w, nil
}

// unshare lets go of the memory of w that its ranks have in common, if there is any. Unless all
// ranks have freed w it stays where it is: what they have begun may still read or write it.
func (w *win) unshare(freed bool) error {
	if w.shared == nil {
		return nil
	}
	return w.comm.job.local.unshare(w.shared.id, freed)
}

// WinSharedQuery returns the memory of a rank in a window, which the caller may read and write as
// its own (MPI 4.1, section 12.2.3, MPI_Win_shared_query). Of ProcNull it is that of the lowest
// rank that has any, nil if none has. T need not be the type that the memory was allocated with: it
// is an error of class [ErrType] if T has pointers, or the memory is no whole number of T.
//
// Of windows that [WinAllocateShared] did not make the caller's own memory is found, and that of
// other ranks is nil, which is no error. It is local.
func WinSharedQuery[T any](w *Win, rank int) (mem []T, err error) {
	defer w.begin("WinSharedQuery").endAt(&err)
	const op = "WinSharedQuery"
	b, opErr := w.partOf(op, rank)
	if opErr != nil {
		return nil, w.fail(opErr)
	}
	return viewOf[T](w, op, b)
}

// WinSharedAll returns the memory of all ranks of a window of [WinAllocateShared], that of rank 0
// first: what a C program reaches by going on from the base of rank 0. If the parts lie apart, or
// the window is another, it is an error of class [ErrRMAFlavor]; T is as for [WinSharedQuery]. It
// is local. No counterpart in MPI.
func WinSharedAll[T any](w *Win) (mem []T, err error) {
	defer w.begin("WinSharedAll").endAt(&err)
	const op = "WinSharedAll"
	if err := w.present(op); err != nil {
		return nil, w.fail(err)
	}
	s := w.shared
	switch {
	case s == nil:
		return nil, w.fail(opErrorf(ErrRMAFlavor, op, "the window is not of WinAllocateShared: its ranks have memory of their own"))
	case s.parts.apart:
		return nil, w.fail(opErrorf(ErrRMAFlavor, op, "the parts of the ranks lie apart, as %s said", keyNoncontig))
	}
	return viewOf[T](w, op, s.common.mem[:s.parts.total:s.parts.total])
}

// partOf is the memory of a rank, if this one has it.
func (w *Win) partOf(op string, rank int) ([]byte, *Error) {
	if err := w.present(op); err != nil {
		return nil, err
	}
	if rank != ProcNull && (rank < 0 || rank >= w.comm.Size()) {
		return nil, opErrorf(ErrRank, op, "rank %d: need 0 to %d, or ProcNull", rank, w.comm.Size()-1)
	}
	s := w.shared
	switch {
	case s == nil && rank == w.comm.rank:
		return w.base, nil
	case s == nil:
		return nil, nil
	case rank == ProcNull:
		if rank = s.parts.first(); rank < 0 {
			return nil, nil
		}
	}
	return s.parts.of(s.common.mem, rank), nil
}

// viewOf is memory of a window as elements of T.
func viewOf[T any](w *Win, op string, b []byte) ([]T, error) {
	e, err := windowElem[T](op)
	if err != nil {
		return nil, w.fail(err)
	}
	if len(b) == 0 {
		return nil, nil
	}
	if e.size == 0 || len(b)%e.size != 0 || !isAlignedFor[T](b) {
		return nil, w.fail(opErrorf(ErrType, op, "memory of %d bytes is no whole number of %s, of %d bytes each, where it lies", len(b), e.name, e.size))
	}
	return sliceOf[T](b), nil
}

// WinBase returns the calling rank's own memory of w (MPI 4.1, section 12.2.6, MPI_WIN_BASE): what
// WinCreate was given, or what WinAllocate or WinAllocateShared returned. T is as for
// [WinSharedQuery]. A dynamic window has none, and it is nil. It is local.
func WinBase[T any](w *Win) ([]T, error) {
	const op = "WinBase"
	if err := w.present(op); err != nil {
		return nil, w.fail(err)
	}
	return viewOf[T](w, op, w.base)
}

// WinCreateDynamic makes a window without memory, which each rank gives it, and takes back, by
// WinAttach and WinDetach (MPI 4.1, section 12.2.4). Displacements count bytes, from those that
// WinAttach returns. Collective; see WinCreate.
func WinCreateDynamic(c *Comm, info *Info) (w *Win, err error) {
	defer c.begin("WinCreateDynamic").endAt(&err)
	const op = "WinCreateDynamic"
	if err := c.canWindow(op); err != nil {
		return nil, c.fail(err)
	}
	return makeWin(c, op, FlavorDynamic, nil, 1, info)
}

// WinAttach gives the window mem, memory of the caller's, which others may use from now on, until
// WinDetach or Free (MPI 4.1, section 12.2.4). disp is the displacement of its first byte, which
// the program must send to the ranks that use it: its address, as MPI_Get_address gives it. Memory
// that is attached already is an error of class [ErrRMAAttach], and a window that is not dynamic
// one of [ErrRMAFlavor]. What an operation means must lie in such memory; pieces that lie side by
// side are one. It is local.
func WinAttach[T any](w *Win, mem []T) (disp int, err error) {
	defer w.begin("WinAttach").endAt(&err)
	const op = "WinAttach"
	if err := dynamicWith[T](w, op); err != nil {
		return 0, w.fail(err)
	}
	disp, ok := w.served.memory.attach(bytesOf(mem))
	if !ok {
		return 0, w.fail(opErrorf(ErrRMAAttach, op, "the memory, or some of it, is attached already: detach it first"))
	}
	return disp, nil
}

// WinDetach takes memory back that was given to WinAttach (MPI 4.1, section 12.2.4). Operations
// that concern it must be complete. Memory that is not attached is an error of class
// [ErrRMAAttach]. It is local.
func WinDetach[T any](w *Win, mem []T) (err error) {
	defer w.begin("WinDetach").endAt(&err)
	const op = "WinDetach"
	if err := dynamicWith[T](w, op); err != nil {
		return w.fail(err)
	}
	if !w.served.memory.detach(bytesOf(mem)) {
		return w.fail(opErrorf(ErrRMAAttach, op, "the memory is not attached: give what WinAttach was given"))
	}
	return nil
}

func dynamicWith[T any](w *Win, op string) *Error {
	if err := w.present(op); err != nil {
		return err
	}
	if w.flavor != FlavorDynamic {
		return opErrorf(ErrRMAFlavor, op, "the window was not made by WinCreateDynamic: its memory is fixed")
	}
	_, err := windowElem[T](op)
	return err
}

// attach adds mem; ok is false if some of it is there already.
func (r *regions) attach(mem []byte) (at int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.list {
		if overlap(r.list[i].mem, mem) {
			return 0, false
		}
	}
	at = addressOf(mem)
	r.list = append(r.list, region{at, mem})
	return at, true
}

// detach takes mem away.
func (r *regions) detach(mem []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.list, func(x region) bool { return len(x.mem) == len(mem) && (len(mem) == 0 || &x.mem[0] == &mem[0]) })
	if i < 0 {
		return false
	}
	r.list = slices.Delete(r.list, i, i+1)
	return true
}
