package mpi

import (
	"errors"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/mpi/internal/fileio"
)

// together carries a collective access out. A rank whose arguments are wrong takes part without
// data, as the others wait for it.
func (a *access) together() {
	f := a.f.file
	if a.kind&fileShared != 0 {
		if err := a.findOrdered(); err != nil {
			a.n, a.err = 0, err
			return
		}
	}
	parts, err := a.tellParts()
	if err != nil {
		a.err = err
		return
	}
	overlaps := fileio.Overlaps(parts)
	if overlaps >= 0 && a.kind&fileWrites != 0 {
		a.n = 0
		if a.err == nil {
			a.err = opErrorf(ErrType, a.op, "rank %d of the file writes through a filetype whose data overlap, so no rank has written: %w", overlaps, errOverlaps)
		}
		return
	}
	plan, ok := fileio.NewPlan(parts, len(f.aggregators()), int(f.hints.Load().Window))
	if ok && overlaps < 0 && !f.atomic.Load() && a.pays(parts) {
		a.inPhases(plan, parts)
		return
	}
	a.alone()
}

// pays reports whether two phases are better than that each rank moves its own data. Ranks that
// read from one host share what the system has read, and take their pieces from that faster than
// from each other's messages.
func (a *access) pays(parts []fileio.Part) bool {
	f := a.f.file
	h := f.hints.Load()
	choice, gains := h.Read, f.isSpread() || h.Sift == chooseNo
	if a.kind&fileWrites != 0 {
		choice, gains = h.Write, true
	}
	switch choice {
	case chooseYes:
		return !fileio.IsSparse(parts)
	case chooseNo:
		return false
	default:
		return gains && fileio.IsWorthIt(parts)
	}
}

// tellParts tells all ranks what each does.
func (a *access) tellParts() ([]fileio.Part, *Error) {
	var mine fileio.Part
	if a.err == nil {
		v := a.view.View
		x := a.start * a.view.unit
		mine.Bytes = a.size
		mine.Lo, mine.Hi = v.Span(x, a.size)
		if !v.IsDense(x, a.size) {
			mine.Run = v.RunLength()
		}
	}
	if a.view.Overlaps && a.size > 0 {
		mine.Run = fileio.Overlapping
	}
	all, err := gatherEntries(a.f.quiet, a.op, mine)
	return all, a.f.rankError(a.op, err)
}

// findOrdered finds the place of each rank's data behind those of the ranks before it (MPI 4.1,
// section 14.4.4).
func (a *access) findOrdered() *Error {
	f := a.f.file
	mine := 0
	if a.err == nil {
		mine = a.etyps
	}
	all, err := gatherEntries(f.quiet, a.op, int64(mine))
	if err != nil {
		return f.rankError(a.op, err)
	}
	before, total := 0, 0
	for r, n := range all {
		if r < f.comm.rank {
			before += int(n)
		}
		total += int(n)
	}
	var own *Error
	base := []int64{0}
	if f.comm.rank == 0 {
		at := 0
		at, own = f.pointer.add(f, a.op, total)
		base[0] = int64(at)
		if own != nil {
			base[0] = -1
		}
	}
	if err := done(ibcast(f.quiet, a.op, base, 0)); err != nil {
		return f.rankError(a.op, err)
	}
	if base[0] < 0 {
		return f.agree(a.op, own)
	}
	a.start = int(base[0]) + before
	if a.err == nil {
		a.check()
	}
	return nil
}

// Tags of the messages between ranks and aggregators.
const (
	tagFileRuns = iota
	tagFileData
)

// phases is a collective access in two phases, at one rank.
type phases struct {
	*access
	plan  fileio.Plan
	parts []fileio.Part
	aggs  []int
	mine  int // which of aggs this rank is; -1 if it is none
	x     int // where its data begin in the stream; they are size bytes

	window []byte       // of an aggregator
	cover  fileio.Cover // of window
	room   []byte       // of an aggregator: data of a rank
	packed [][]byte     // by aggregator: data on their way, unless they are sent from where they are
	lists  []fileio.Runs
	open   []*Request
	disk   error // the first error of the disk, at an aggregator
}

// inPhases moves the data of all ranks through aggregators.
func (a *access) inPhases(plan fileio.Plan, parts []fileio.Part) {
	p := &phases{access: a, plan: plan, parts: parts, aggs: a.f.aggregators(), mine: -1}
	if a.err == nil {
		p.x = a.start * a.view.unit
	} else {
		a.size = 0
	}
	p.packed, p.lists = make([][]byte, len(p.aggs)), make([]fileio.Runs, len(p.aggs))
	for i, r := range p.aggs {
		if r == a.f.comm.rank {
			p.mine = i
		}
	}
	if err := p.rounds(); err != nil {
		a.f.breakOff() // some may wait for this rank
		p.waitAll()
		a.n, a.err = 0, a.f.rankError(a.op, err)
		return
	}
	if a.kind&fileWrites != 0 {
		a.n = a.size
	}
	if err := a.f.agree(a.op, diskError(a.op, p.disk)); err != nil && a.err == nil {
		a.n, a.err = 0, err // no rank knows whose data are where
	}
}

// rounds goes through the windows.
func (p *phases) rounds() error {
	for r := range p.plan.Rounds() {
		var err error
		if p.kind&fileWrites != 0 {
			err = p.writeRound(r)
		} else {
			err = p.readRound(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// piece is which of this rank's data lie in a window of the file: n bytes from off on.
func (p *phases) piece(lo, hi int) (off, n int) {
	if p.size == 0 {
		return 0, 0
	}
	v := p.view.View
	from := min(max(v.Before(lo), p.x), p.x+p.size)
	to := min(max(v.Before(hi), from), p.x+p.size)
	return from - p.x, to - from
}

// reaches reports whether the data of a rank may lie in a window.
func (p *phases) reaches(rank, lo, hi int) bool {
	q := p.parts[rank]
	return q.Bytes > 0 && q.Lo < hi && q.Hi > lo
}

// tell sends the aggregator i where in its window this rank's piece lies.
func (p *phases) tell(i, lo, off, n int) {
	list := &p.lists[i]
	list.Reset(lo)
	p.view.Walk(p.x+off, n, func(offset, size int) bool {
		list.Add(offset, size)
		return true
	})
	p.send(list.Bytes(), p.aggs[i], tagFileRuns)
}

func (p *phases) send(b []byte, to, tag int) {
	p.open = append(p.open, isend(p.f.quiet, "Isend", modeStandard, b, to, tag))
}

// waitAll waits for all that is under way, and returns the first error.
func (p *phases) waitAll() error {
	var first error
	for _, r := range p.open {
		if _, err := r.wait(); err != nil && first == nil {
			first = err
		}
	}
	p.open = p.open[:0]
	return first
}

// memory is n bytes of the data from off on: themselves if they are in one piece, else room for
// them.
func (p *phases) memory(i, off, n int) (b []byte, isData bool) {
	if b, ok := p.data.(fileio.Bytes); ok {
		return b[off : off+n], true
	}
	if cap(p.packed[i]) < n {
		p.packed[i] = make([]byte, n)
	}
	return p.packed[i][:n], false
}

// gather is memory that holds the data.
func (p *phases) gather(i, off, n int) []byte {
	if n == 0 {
		return nil
	}
	b, isData := p.memory(i, off, n)
	if !isData {
		p.data.Pack(b, off)
	}
	return b
}

// writeRound sends this rank's data of a window of each aggregator, and writes its own window.
func (p *phases) writeRound(round int) error {
	for i := range p.aggs {
		lo, hi := p.plan.Of(i, round)
		if i == p.mine || lo >= hi || !p.reaches(p.f.comm.rank, lo, hi) {
			continue
		}
		off, n := p.piece(lo, hi)
		p.tell(i, lo, off, n)
		if n > 0 {
			p.send(p.gather(i, off, n), p.aggs[i], tagFileData)
		}
	}
	var err error
	if p.mine >= 0 {
		if lo, hi := p.plan.Of(p.mine, round); lo < hi {
			err = p.writeWindow(lo, hi)
		}
	}
	if err != nil {
		return err
	}
	return p.waitAll()
}

// prepare makes an aggregator ready for a window.
func (p *phases) prepare(n int) {
	if cap(p.window) < n {
		p.window = make([]byte, n)
	}
	p.window = p.window[:n]
	p.cover.Reset(n)
}

// writeWindow puts the data of all ranks in their places, those of higher ranks over those of lower
// ones, and writes what is covered.
func (p *phases) writeWindow(lo, hi int) error {
	p.prepare(hi - lo)
	for r := range p.parts {
		if !p.reaches(r, lo, hi) {
			continue
		}
		if r == p.f.comm.rank {
			p.placeOwn(lo, hi)
		} else if err := p.placeFrom(r, lo, hi); err != nil {
			return err
		}
	}
	if p.disk != nil {
		return nil // the others go on to send
	}
	p.f.dirty.Store(true)
	p.disk = p.f.onDisk(func() (err error) {
		p.cover.Walk(func(at, size int) bool {
			_, err = p.f.disk.WriteAt(p.window[at:at+size], int64(lo+at))
			return err == nil
		})
		return err
	})
	return nil
}

func (p *phases) placeOwn(lo, hi int) {
	off, n := p.piece(lo, hi)
	b := p.gather(p.mine, off, n)
	p.view.Walk(p.x+off, n, func(offset, size int) bool {
		copy(p.window[offset-lo:], b[:size])
		p.cover.Add(offset-lo, size)
		b = b[size:]
		return true
	})
}

// placeFrom takes the data of another rank.
func (p *phases) placeFrom(r, lo, hi int) error {
	list, total, err := p.hear(r, lo, hi)
	if err != nil || total == 0 {
		return err
	}
	b, err := p.take(r, total)
	if err != nil {
		return err
	}
	_, err = fileio.WalkRuns(list, lo, hi, func(offset, size int) {
		copy(p.window[offset-lo:], b[:size])
		p.cover.Add(offset-lo, size)
		b = b[size:]
	})
	return err
}

// hear receives where the data of another rank lie.
func (p *phases) hear(r, lo, hi int) (list []byte, total int, err error) {
	in := irecvNew[byte](p.f.quiet, "IrecvNew", r, tagFileRuns, engine.Computes)
	if _, err := in.wait(); err != nil {
		return nil, 0, err
	}
	list = in.Data()
	total, err = fileio.WalkRuns(list, lo, hi, func(int, int) {})
	return list, total, err
}

// take receives so many bytes of data.
func (p *phases) take(r, n int) ([]byte, error) {
	if cap(p.room) < n {
		p.room = make([]byte, n)
	}
	b := p.room[:n]
	st, err := p.recv(b, r).wait()
	if err == nil && st.bytes != n {
		err = errors.New("the data are not as long as was said")
	}
	return b, err
}

func (p *phases) recv(b []byte, from int) *Request {
	c := p.f.quiet
	r := newRequest(c, "Irecv")
	if err := prepareRecv(r, b, from); err != nil {
		return r.settled(emptyStatus(), err)
	}
	c.recvMSO(r.own, from, tagFileData)
	r.m = r.own
	c.job.engine.Post(r.m, engine.Computes)
	return r
}

// FileReadShared reads buf from the shared file pointer on. The pointer moves by all that buf has
// room for, before any other rank uses it. All ranks need the same view. It blocks until it has
// read, but does not wait for other ranks to call it. At the end of the file Status.Count is how
// many elements there were (MPI 4.1, section 14.4.4, MPI_File_read_shared).
//
// The pointer is kept in a hidden file beside the file, until Close: the directory must be
// writable, and its file system have locks.
func FileReadShared[T any](f *File, buf []T) (st Status, err error) {
	defer beginFile(f, "FileReadShared", buf, false).endStatus(&st, &err)
	return accessOf(f, "FileReadShared", fileShared, 0, buf).wait()
}

// FileWriteShared writes buf from the shared file pointer on, as FileReadShared reads. What ranks
// write so lies in the file in some order, without gaps (MPI 4.1, section 14.4.4,
// MPI_File_write_shared).
func FileWriteShared[T any](f *File, buf []T) (st Status, err error) {
	defer beginFile(f, "FileWriteShared", buf, true).endStatus(&st, &err)
	return accessOf(f, "FileWriteShared", fileShared|fileWrites, 0, buf).wait()
}

// FileIreadShared starts a FileReadShared: the shared file pointer has moved when it returns (MPI
// 4.1, section 14.4.4, MPI_File_iread_shared).
func FileIreadShared[T any](f *File, buf []T) *Request {
	return beginFile(f, "FileIreadShared", buf, false).started(accessOf(f, "FileIreadShared", fileShared, 0, buf).started())
}

// FileIwriteShared starts a FileWriteShared: the shared file pointer has moved when it returns
// (MPI 4.1, section 14.4.4, MPI_File_iwrite_shared).
func FileIwriteShared[T any](f *File, buf []T) *Request {
	return beginFile(f, "FileIwriteShared", buf, true).started(accessOf(f, "FileIwriteShared", fileShared|fileWrites, 0, buf).started())
}

// FileReadOrdered is FileReadShared of all ranks, in the order of their ranks: each reads behind
// what the ranks before it read. Collective, blocks (MPI 4.1, section 14.4.4,
// MPI_File_read_ordered).
func FileReadOrdered[T any](f *File, buf []T) (st Status, err error) {
	defer beginFile(f, "FileReadOrdered", buf, false).endStatus(&st, &err)
	return accessOf(f, "FileReadOrdered", fileShared|fileAll, 0, buf).wait()
}

// FileWriteOrdered is FileWriteShared of all ranks, in the order of their ranks: each writes behind
// what the ranks before it write. Collective, blocks (MPI 4.1, section 14.4.4,
// MPI_File_write_ordered).
func FileWriteOrdered[T any](f *File, buf []T) (st Status, err error) {
	defer beginFile(f, "FileWriteOrdered", buf, true).endStatus(&st, &err)
	return accessOf(f, "FileWriteOrdered", fileShared|fileAll|fileWrites, 0, buf).wait()
}
