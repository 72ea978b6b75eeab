package mpi

import (
	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/mpi/internal/fileio"
)

// accessKind says what an access is, a set of bits.
type accessKind uint8

const (
	fileWrites accessKind = 1 << iota // else it reads
	fileAll                           // collective
	fileAt                            // at an explicit offset; else at the individual file pointer
	fileShared                        // at the shared file pointer; collective ones in the order of the ranks
)

// access is one access to the data of a file, on its way.
type access struct {
	// Immutable once begun.
	f     *File
	op    string
	kind  accessKind
	view  *fileView
	elem  *elem
	data  fileio.Memory // nil if err is not
	size  int           // bytes of data, as they lie in the file
	etyps int           // the same in etypes
	isOut bool          // it can take no part in what is collective
	conv  *conversion   // nil if values lie in the file as data has them

	// Owned by the goroutine that carries it out, then by the one that waits.
	start int    // in etypes of the view
	n     int    // bytes that were moved, of the file
	err   *Error // also what was wrong before
}

// accessOf begins an access of buf: offset counts if it has one that is explicit.
func accessOf[T any](f *File, op string, kind accessKind, offset int, buf []T) *access {
	a := &access{f: f, op: op, kind: kind, start: offset, elem: elemOf[T]()}
	if a.err = f.present(op); a.err != nil {
		a.isOut = true
		return a
	}
	a.view = f.view.Load()
	if a.elem.err != nil {
		a.err = opError(ErrType, op, a.elem.err)
		return a
	}
	o, err := over(op, f.t, buf, 1)
	if err != nil {
		a.err = err
		return a
	}
	a.lay(&o)
	a.begin()
	if a.err == nil && a.conv != nil && kind&fileWrites != 0 {
		a.err = a.conv.encode(op)
	}
	return a
}

// lay puts the data where o has them.
func (a *access) lay(o *overlay) {
	o.swap = a.view.rep.swaps()
	a.size = o.size
	if b, ok := o.asMemory(); ok {
		a.data = fileio.Bytes(b)
	} else {
		a.data = o
	}
	etype, unit := a.view.etype, a.view.etype.Size()
	converts := a.view.user != nil && !isBytes(o.m) && !isBytes(etype.m)
	if a.view.user != nil && !converts {
		unit = a.view.unit // the buffer holds bytes of the file
	}
	a.etyps = o.size / unit
	switch {
	case o.size%unit != 0:
		a.err = opErrorf(ErrType, a.op, "the buffer holds %d bytes, which is no whole number of etypes: these are %v, of %d bytes", o.size, etype, unit)
	case etype.Size() > 1 && !isBytes(o.m) && !isBytes(etype.m) && o.m.Hash(o.count) != etype.m.Hash(a.etyps):
		a.err = opErrorf(ErrType, a.op, "the buffer holds values of %s, the etype of the view is %v: use the same types, or bytes", o.m.Signature(), etype)
	case converts:
		a.convert(o)
	}
}

// begin checks the access and finds its place, if that is known before others have been asked.
func (a *access) begin() {
	f, need, not := a.f, ModeRdonly|ModeRdwr, ModeSequential
	if a.kind&fileWrites != 0 {
		need = ModeWronly | ModeRdwr
	}
	if a.kind&fileShared != 0 {
		not = 0
	}
	if err := f.usable(a.op, need, not); a.err == nil {
		a.err = err
	}
	if a.err == nil && a.kind&fileWrites != 0 && a.view.Overlaps && a.size > 0 {
		a.err = opErrorf(ErrType, a.op, "the data of the filetype %v of the view overlap: %w", a.view.filetype, errOverlaps)
	}
	if a.err != nil {
		return
	}
	switch {
	case a.kind&fileAt != 0:
		a.check()
	case a.kind&fileShared == 0:
		f.mu.Lock()
		if a.start = f.pos; a.check() {
			f.pos += a.etyps
		}
		f.mu.Unlock()
	case a.kind&fileAll == 0:
		if a.start, a.err = f.pointer.add(f.file, a.op, a.etyps); a.err == nil {
			a.check()
		}
	}
}

// check reports whether the data lie where a file can have them.
func (a *access) check() bool {
	if a.view.IsEmpty() && a.kind&fileWrites == 0 { // as at the end of the file
		a.size, a.etyps = 0, 0
	}
	x, err := a.view.stream(a.op, a.start)
	if err == nil {
		if far := a.view.Check(x, a.size); far != nil {
			err = opErrorf(ErrArg, a.op, "%d etypes at offset %d: %w", a.etyps, a.start, far)
		}
	}
	if a.err == nil {
		a.err = err
	}
	return err == nil
}

// wait carries the access out.
func (a *access) wait() (Status, error) {
	switch {
	case a.isOut:
	case a.kind&fileAll != 0:
		a.f.inTurn(a.op, a.together)
	default:
		a.alone()
	}
	a.settle()
	st, err := a.outcome()
	return st, a.f.outcome(err)
}

// settle puts the individual file pointer back to where reading has come to the end of the file,
// unless it has been used since. By MPI 4.1, section 14.4.1, it points to the next etype after the
// last one that is accessed.
func (a *access) settle() {
	if a.kind&(fileAt|fileShared|fileWrites) != 0 || a.err != nil || a.n == a.size {
		return
	}
	a.f.mu.Lock()
	defer a.f.mu.Unlock()
	if a.f.pos == a.start+a.etyps {
		a.f.pos = a.start + a.n/a.view.unit
	}
}

// started carries the access out in the background.
func (a *access) started() *Request {
	switch {
	case a.isOut && (a.f == nil || a.f.file == nil):
		r := newRequest(nil, a.op)
		r.collected, r.status, r.more().err = true, emptyStatus(), a.err
		return r
	case a.isOut:
		return failedRequest(a.f.comm, a.err)
	case a.kind&fileAll != 0:
		return a.f.laterInTurn(a.op, a.together, a.outcome)
	case a.err != nil:
		return failedRequest(a.f.comm, a.err)
	default:
		return a.f.later(a.op, a.alone, a.outcome)
	}
}

// outcome is what the access has come to.
func (a *access) outcome() (Status, *Error) {
	st := emptyStatus()
	n, err := a.n, a.err
	if a.conv != nil {
		n, err = a.converted()
	}
	st.bytes, st.class = n, a.elem.class
	st.Count = wholeCount(n, a.elem.wire)
	return st, err
}

// alone carries the access out without others.
func (a *access) alone() {
	if a.err != nil || a.size == 0 {
		return
	}
	if err := a.f.onDisk(a.move); err != nil {
		a.err = diskError(a.op, err)
	}
}

// move moves the data, under a lock in atomic mode.
func (a *access) move() error {
	f, isWrite := a.f.file, a.kind&fileWrites != 0
	h := f.hints.Load()
	x := a.start * a.view.unit
	m := fileio.Access{View: a.view.View, X: x, Data: a.data, Room: int(h.Room), Sift: h.Sift != chooseNo}
	if f.atomic.Load() {
		f.alone.Lock() // a lock of the system's does not keep out users of the same descriptor
		defer f.alone.Unlock()
		lo, hi := m.View.Span(x, a.size)
		unlock, err := sys.LockRange(f.disk, lo, hi-lo, isWrite)
		if err != nil {
			return err
		}
		defer unlock()
	}
	var err error
	if isWrite {
		f.dirty.Store(true)
		a.n, err = m.Write(f.disk)
	} else {
		a.n, err = m.Read(f.disk)
	}
	return err
}

// beginFile begins a call that reads or writes buf.
func beginFile[T any](f *File, op string, buf []T, writes bool) *Call {
	if !isObserved() || f == nil || f.file == nil {
		return nil
	}
	return callFile(f, op, buf, writes)
}

func callFile[T any](f *File, op string, buf []T, writes bool) *Call {
	k := f.comm.newCall(op)
	if k == nil {
		return k.begin()
	}
	n, bytes := len(buf), -1
	if e := elemOf[T](); e.plain && e.err == nil {
		bytes = n * e.wire
		if f.t != nil && f.t.check() == nil {
			bytes = f.t.Size()
		}
	}
	if writes {
		k.SendCount, k.SendBytes = n, bytes
	} else {
		k.RecvCount, k.RecvBytes = n, bytes
	}
	return k.begin()
}

// begin begins the call of an operation on f that has no data.
func (f *File) begin(op string) *Call {
	if !isObserved() || f == nil || f.file == nil {
		return nil
	}
	return f.comm.call(op)
}

var _ fileio.Memory = (*overlay)(nil)

// FileReadAt reads buf from offset on, in etypes of the view, whatever the file pointers are, and
// blocks until that is done. At the end of the file it reads less: Status.Count is how many
// elements it has read (MPI 4.1, section 14.4.2, MPI_File_read_at). See [File] for what a buffer
// may be. An offset that is negative is an error of class [ErrArg].
func FileReadAt[T any](f *File, offset int, buf []T) (st Status, err error) {
	defer beginFile(f, "FileReadAt", buf, false).endStatus(&st, &err)
	return accessOf(f, "FileReadAt", fileAt, offset, buf).wait()
}

// FileWriteAt writes buf from offset on, in etypes of the view, and blocks until buf may be used
// again: the file may be written to the disk later, by Sync or Close. The file grows as needed. If
// it fails Status.Count is how many elements were written before (MPI 4.1, section 14.4.2,
// MPI_File_write_at).
func FileWriteAt[T any](f *File, offset int, buf []T) (st Status, err error) {
	defer beginFile(f, "FileWriteAt", buf, true).endStatus(&st, &err)
	return accessOf(f, "FileWriteAt", fileAt|fileWrites, offset, buf).wait()
}

// FileReadAtAll is FileReadAt of all ranks, each with an offset and a buffer of its own, or an
// empty one. Where their data interleave in the file, they are read in long pieces by some ranks
// for all. Collective, blocks (MPI 4.1, section 14.4.2, MPI_File_read_at_all).
func FileReadAtAll[T any](f *File, offset int, buf []T) (st Status, err error) {
	defer beginFile(f, "FileReadAtAll", buf, false).endStatus(&st, &err)
	return accessOf(f, "FileReadAtAll", fileAt|fileAll, offset, buf).wait()
}

// FileWriteAtAll is FileWriteAt of all ranks, as FileReadAtAll is FileReadAt. Where data of ranks
// overlap, it is not known which remain unless the file is in atomic mode. If they are put together
// and the disk fails, all ranks have the error (MPI 4.1, section 14.4.2, MPI_File_write_at_all).
// Collective, blocks.
func FileWriteAtAll[T any](f *File, offset int, buf []T) (st Status, err error) {
	defer beginFile(f, "FileWriteAtAll", buf, true).endStatus(&st, &err)
	return accessOf(f, "FileWriteAtAll", fileAt|fileAll|fileWrites, offset, buf).wait()
}

// FileIreadAt starts a FileReadAt and returns. buf belongs to the request until it is complete, by
// Wait or one of its family, beside requests of messages. It cannot be cancelled (MPI 4.1, section
// 14.4.2, MPI_File_iread_at).
func FileIreadAt[T any](f *File, offset int, buf []T) *Request {
	return beginFile(f, "FileIreadAt", buf, false).started(accessOf(f, "FileIreadAt", fileAt, offset, buf).started())
}

// FileIwriteAt starts a FileWriteAt (MPI 4.1, section 14.4.2, MPI_File_iwrite_at).
func FileIwriteAt[T any](f *File, offset int, buf []T) *Request {
	return beginFile(f, "FileIwriteAt", buf, true).started(accessOf(f, "FileIwriteAt", fileAt|fileWrites, offset, buf).started())
}

// FileIreadAtAll starts a FileReadAtAll. Collective operations of a file take place in the order in
// which they are called, which must be the same at all ranks (MPI 4.1, section 14.4.2,
// MPI_File_iread_at_all).
func FileIreadAtAll[T any](f *File, offset int, buf []T) *Request {
	return beginFile(f, "FileIreadAtAll", buf, false).started(accessOf(f, "FileIreadAtAll", fileAt|fileAll, offset, buf).started())
}

// FileIwriteAtAll starts a FileWriteAtAll (MPI 4.1, section 14.4.2, MPI_File_iwrite_at_all).
func FileIwriteAtAll[T any](f *File, offset int, buf []T) *Request {
	return beginFile(f, "FileIwriteAtAll", buf, true).started(accessOf(f, "FileIwriteAtAll", fileAt|fileAll|fileWrites, offset, buf).started())
}

// FileRead reads buf from the file pointer of this rank on, and moves that behind what it has read.
// It blocks until that is done. At the end of the file it reads less: Status.Count is how many
// elements it has read (MPI 4.1, section 14.4.3, MPI_File_read).
func FileRead[T any](f *File, buf []T) (st Status, err error) {
	defer beginFile(f, "FileRead", buf, false).endStatus(&st, &err)
	return accessOf(f, "FileRead", 0, 0, buf).wait()
}

// FileWrite writes buf from the file pointer of this rank on, and moves that behind it. It blocks
// until buf may be used again (MPI 4.1, section 14.4.3, MPI_File_write).
func FileWrite[T any](f *File, buf []T) (st Status, err error) {
	defer beginFile(f, "FileWrite", buf, true).endStatus(&st, &err)
	return accessOf(f, "FileWrite", fileWrites, 0, buf).wait()
}

// FileReadAll is FileRead of all ranks, each from its own file pointer on; else as FileReadAtAll.
// Collective, blocks (MPI 4.1, section 14.4.3, MPI_File_read_all).
func FileReadAll[T any](f *File, buf []T) (st Status, err error) {
	defer beginFile(f, "FileReadAll", buf, false).endStatus(&st, &err)
	return accessOf(f, "FileReadAll", fileAll, 0, buf).wait()
}

// FileWriteAll is FileWrite of all ranks, each from its own file pointer on; else as
// FileWriteAtAll. Collective, blocks (MPI 4.1, section 14.4.3, MPI_File_write_all).
func FileWriteAll[T any](f *File, buf []T) (st Status, err error) {
	defer beginFile(f, "FileWriteAll", buf, true).endStatus(&st, &err)
	return accessOf(f, "FileWriteAll", fileAll|fileWrites, 0, buf).wait()
}

// FileIread starts a FileRead and returns. The file pointer moves at once, by all that buf has room
// for, and stays there even if the file has less (MPI 4.1, section 14.4.3, MPI_File_iread).
func FileIread[T any](f *File, buf []T) *Request {
	return beginFile(f, "FileIread", buf, false).started(accessOf(f, "FileIread", 0, 0, buf).started())
}

// FileIwrite starts a FileWrite, and moves the file pointer at once (MPI 4.1, section 14.4.3,
// MPI_File_iwrite).
func FileIwrite[T any](f *File, buf []T) *Request {
	return beginFile(f, "FileIwrite", buf, true).started(accessOf(f, "FileIwrite", fileWrites, 0, buf).started())
}

// FileIreadAll starts a FileReadAll, and moves the file pointer at once, as FileIread does.
// Collective (MPI 4.1, section 14.4.3, MPI_File_iread_all).
func FileIreadAll[T any](f *File, buf []T) *Request {
	return beginFile(f, "FileIreadAll", buf, false).started(accessOf(f, "FileIreadAll", fileAll, 0, buf).started())
}

// FileIwriteAll starts a FileWriteAll, and moves the file pointer at once. Collective (MPI 4.1,
// section 14.4.3, MPI_File_iwrite_all).
func FileIwriteAll[T any](f *File, buf []T) *Request {
	return beginFile(f, "FileIwriteAll", buf, true).started(accessOf(f, "FileIwriteAll", fileAll|fileWrites, 0, buf).started())
}
