package mpi

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/shm"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// Memory that the ranks of a window have in common: Go memory between threads of one process, else
// a memfd that rank 0 lends and every process maps once. Decision 0046 says why they hand it to
// each other so.

// commonMemory is such memory, in this process. It is guarded by the mutex of its local.
type commonMemory struct {
	mem    []byte // immutable
	mapped bool   // immutable: it is a mapping, which ends with its last user; else the garbage collector has it
	users  int    // ranks of this process
	busy   bool   // a rank has left it that may have something under way there
}

// share is the memory of the window id, for one more rank of this process. The first has to make
// it, by open.
func (l *local) share(id engine.ContextID, open func() (mem []byte, mapped bool, err error)) (*commonMemory, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.common[id]
	if m == nil {
		mem, mapped, err := open()
		if err != nil {
			return nil, err
		}
		if l.common == nil {
			l.common = make(map[engine.ContextID]*commonMemory)
		}
		m = &commonMemory{mem: mem, mapped: mapped}
		l.common[id] = m
	}
	m.users++
	return m, nil
}

// unshare says that a rank of this process uses the memory of the window id no more. idle says that
// nothing else does on its behalf: then a mapping ends with its last user. Otherwise it stays, as a
// goroutine that touched it would end the process.
func (l *local) unshare(id engine.ContextID, idle bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.common[id]
	m.busy = m.busy || !idle
	if m.users--; m.users > 0 {
		return nil
	}
	delete(l.common, id)
	if m.mapped && !m.busy {
		return shm.UnmapFile(m.mem)
	}
	return nil
}

// partEntry is what each rank tells the others of its part of common memory.
type partEntry struct {
	Bytes, Align int64
	Context      uint64
	Apart        bool // its part may lie apart from the others (alloc_shared_noncontig)
	Far          bool // it does not reach all others through memory
	Wrong        bool // its arguments are no good, and it takes part only so that the others learn it
}

// apart is between the beginnings of parts that lie apart: a page of most machines, so that each
// can lie where its rank is.
const apart = 4096

// memoryParts is where the parts of the ranks lie in common memory.
type memoryParts struct {
	begins []int // by rank
	all    []partEntry
	total  int  // bytes
	apart  bool // all ranks let them lie apart
}

// partsOf lays out the parts. Every rank finds the same, errors included.
func partsOf(op string, all []partEntry) (*memoryParts, *Error) {
	p := &memoryParts{all: all, begins: make([]int, len(all)), apart: true}
	for r, e := range all {
		switch {
		case e.Wrong:
			return nil, opErrorf(ErrRMAShared, op, "rank %d gave wrong arguments", r)
		case e.Far:
			return nil, opErrorf(ErrRMAShared, op, "rank %d does not reach all others through memory: make the communicator with SplitType(SplitShared, ...)", r)
		}
		p.apart = p.apart && e.Apart
	}
	at := int64(0)
	for r, e := range all {
		if p.apart {
			at = (at + apart - 1) &^ (apart - 1)
		} else if at%e.Align != 0 {
			return nil, opErrorf(ErrRMAShared, op, "the part of rank %d would begin at byte %d, and its elements are to begin at multiples of %d: "+
				"give all ranks the same type, or set %s", r, at, e.Align, keyNoncontig)
		}
		if e.Bytes > math.MaxInt64-2*apart-at {
			return nil, opErrorf(ErrNoMem, op, "the parts up to that of rank %d are more than the memory of any machine", r)
		}
		p.begins[r] = int(at)
		at += e.Bytes
	}
	p.total = int(at)
	return p, nil
}

// of is the part of a rank in the memory of all.
func (p *memoryParts) of(mem []byte, rank int) []byte {
	begin, end := p.begins[rank], p.begins[rank]+int(p.all[rank].Bytes)
	return mem[begin:end:end]
}

// first is the lowest rank whose part is not empty; -1 if all are.
func (p *memoryParts) first() int {
	return slices.IndexFunc(p.all, func(e partEntry) bool { return e.Bytes > 0 })
}

// keyNoncontig is the key of the info that lets the parts of a window's memory lie apart (MPI 4.1,
// section 12.2.3).
const keyNoncontig = "alloc_shared_noncontig"

// memoryOffer is what rank 0 tells the others of common memory that it has made. Gob carries it.
type memoryOffer struct {
	Heap   bool // it is Go memory: all are ranks of one process
	Loan   shm.Loan
	Failed bool // there is none
}

// isLocal reports whether this rank reaches all others of c through memory, and whether all are
// ranks of its process.
func (c *Comm) isLocal() (near, threads bool) {
	near, threads = true, true
	for _, p := range c.peers {
		if int(p) == c.job.engine.Rank() {
			continue
		}
		way := c.job.engine.Peer(p).Way
		near, threads = near && way != engine.TCP, threads && way == engine.Thread
	}
	return near, threads
}

// shareMemory gives the ranks of c so many bytes of common memory, zeroed, under the name id. It is
// collective, and all ranks find the same outcome, unless one fails meanwhile.
func (c *Comm) shareMemory(op string, id engine.ContextID, bytes int) (*commonMemory, error) {
	var lent *os.File
	defer func() {
		if lent != nil {
			lent.Close()
		}
	}()
	var m *commonMemory
	var failed *Error
	offer := make([]memoryOffer, 1)
	if c.rank == 0 {
		m, lent, failed = c.lendMemory(op, id, bytes, &offer[0])
	}
	err := done(ibcast(c, op, offer, 0))
	if err == nil && c.rank != 0 {
		m, failed = c.borrowMemory(op, id, bytes, &offer[0])
	}
	if err == nil {
		err = c.haveMemory(op, failed)
	}
	if err != nil && m != nil {
		return nil, errors.Join(err, c.job.local.unshare(id, true))
	}
	return m, err
}

// lendMemory makes the memory at rank 0. The file is to stay open until all others have opened it.
func (c *Comm) lendMemory(op string, id engine.ContextID, bytes int, offer *memoryOffer) (*commonMemory, *os.File, *Error) {
	var lent *os.File
	_, offer.Heap = c.isLocal()
	m, err := c.job.local.share(id, func() (mem []byte, mapped bool, err error) {
		if offer.Heap {
			mem, err = heapMemory(max(bytes, 1))
			return mem, false, err
		}
		if lent, offer.Loan, err = shm.Lend("fitmpi-window", int64(max(bytes, 1))); err != nil {
			return nil, false, err
		}
		mem, err = shm.MapFile(lent)
		return mem, true, err
	})
	if err != nil {
		offer.Failed = true
		return nil, lent, opError(ErrNoMem, op, err)
	}
	return m, lent, nil
}

// heapMemory is memory of Go's, or an error where make would end the program: the kernel is asked
// first whether it has as much.
func heapMemory(n int) ([]byte, error) {
	_, mapping, err := sys.MapMemory(n)
	if err != nil {
		return nil, err
	}
	if err := sys.UnmapMemory(mapping); err != nil {
		return nil, err
	}
	return shm.Alloc(n), nil
}

// borrowMemory finds the memory that rank 0 has made; nil if there is none, which rank 0 says to
// all.
func (c *Comm) borrowMemory(op string, id engine.ContextID, bytes int, offer *memoryOffer) (*commonMemory, *Error) {
	if offer.Failed {
		return nil, nil
	}
	m, err := c.job.local.share(id, func() ([]byte, bool, error) {
		if offer.Heap {
			return nil, false, errors.New("rank 0 is of another process: a bug of ours")
		}
		f, err := shm.Borrow(offer.Loan)
		if err != nil {
			return nil, false, err
		}
		defer f.Close()
		mem, err := shm.MapFile(f)
		if err == nil && len(mem) < bytes {
			err = errors.Join(fmt.Errorf("rank 0 lends %d bytes of %d", len(mem), bytes), shm.UnmapFile(mem))
		}
		return mem, true, err
	})
	if err != nil {
		return nil, opError(ErrRMAShared, op, err)
	}
	return m, nil
}

// outcomeEntry is what each rank tells the others of its part in what all need.
type outcomeEntry struct {
	Class ErrorClass
	Text  string // "" if all is well
}

// haveMemory tells all ranks of c whether one of them has failed to get the memory, and why. It is
// the same error at all.
func (c *Comm) haveMemory(op string, failed *Error) error {
	var mine outcomeEntry
	if failed != nil {
		mine = outcomeEntry{failed.Class, failed.Cause.Error()}
	}
	all, err := gatherEntries(c, op, mine)
	if err != nil {
		return err
	}
	for r, e := range all {
		if e.Text != "" {
			return c.fail(opErrorf(e.Class, op, "rank %d gets no memory that all share: %s", r, e.Text))
		}
	}
	return nil
}
