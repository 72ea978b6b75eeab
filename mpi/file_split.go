package mpi

import (
	"github.com/fitmpi/fitmpi/engine"
)

// A split collective access begins in one call and ends in another (MPI 4.1, section 14.4.5). A
// file has one at a time, and both calls are collective.

// splitAccess is one that has begun.
type splitAccess struct {
	op    string // without Begin
	place place
	r     *Request
}

// place is where a buffer lies.
type place struct {
	first any // the address of its first element; nil if it has none
	n     int
}

func placeOf[T any](buf []T) place {
	if len(buf) == 0 {
		return place{}
	}
	return place{&buf[0], len(buf)}
}

// splitBegin starts an access unless another has begun.
func (f *File) splitBegin(op string, at place, begin func() *access) error {
	if err := f.present(op); err != nil {
		return f.fail(err)
	}
	f.mu.Lock()
	if s := f.split; s != nil {
		f.mu.Unlock()
		return f.fail(opErrorf(ErrOther, op, "%sBegin was called before: call %sEnd first", s.op, s.op))
	}
	s := &splitAccess{op: op[:len(op)-len("Begin")], place: at}
	f.split = s
	f.mu.Unlock()
	s.r = begin().started()
	return nil
}

// splitEnd waits for the access that has begun.
func (f *File) splitEnd(op string, at place) (Status, error) {
	name := op + "End"
	if err := f.present(name); err != nil {
		return emptyStatus(), f.fail(err)
	}
	f.mu.Lock()
	s := f.split
	switch {
	case s == nil:
		f.mu.Unlock()
		return emptyStatus(), f.fail(opErrorf(ErrOther, name, "%sBegin was not called before", op))
	case s.op != op:
		f.mu.Unlock()
		return emptyStatus(), f.fail(opErrorf(ErrOther, name, "%sBegin was called before: call %sEnd", s.op, s.op))
	case s.place != at:
		f.mu.Unlock()
		return emptyStatus(), f.fail(opErrorf(ErrBuffer, name, "the buffer is not the one that %sBegin was given", op))
	}
	f.split = nil
	f.mu.Unlock()
	return s.r.wait()
}

// FileReadAtAllBegin starts a FileReadAtAll that FileReadAtAllEnd ends. buf must not be used in
// between. Other collective accesses of the file must wait until then; an error of class [ErrOther]
// says that a split one has begun before. Errors of the access itself are those of the end.
// Collective (MPI 4.1, section 14.4.5, MPI_File_read_at_all_begin).
func FileReadAtAllBegin[T any](f *File, offset int, buf []T) (err error) {
	defer beginFile(f, "FileReadAtAllBegin", buf, false).endAt(&err)
	return f.splitBegin("FileReadAtAllBegin", placeOf(buf), func() *access { return accessOf(f, "FileReadAtAllBegin", fileAt|fileAll, offset, buf) })
}

// FileReadAtAllEnd blocks until what FileReadAtAllBegin has started with the same buffer is done,
// and returns its outcome. Collective (MPI 4.1, section 14.4.5, MPI_File_read_at_all_end).
func FileReadAtAllEnd[T any](f *File, buf []T) (st Status, err error) {
	defer beginFile(f, "FileReadAtAllEnd", buf, false).endStatus(&st, &err)
	return f.splitEnd("FileReadAtAll", placeOf(buf))
}

// FileWriteAtAllBegin starts a FileWriteAtAll that FileWriteAtAllEnd ends. buf must not be used in
// between. Other collective accesses of the file must wait until then; an error of class [ErrOther]
// says that a split one has begun before. Errors of the access itself are those of the end.
// Collective (MPI 4.1, section 14.4.5, MPI_File_write_at_all_begin).
func FileWriteAtAllBegin[T any](f *File, offset int, buf []T) (err error) {
	defer beginFile(f, "FileWriteAtAllBegin", buf, true).endAt(&err)
	return f.splitBegin("FileWriteAtAllBegin", placeOf(buf), func() *access { return accessOf(f, "FileWriteAtAllBegin", fileAt|fileAll|fileWrites, offset, buf) })
}

// FileWriteAtAllEnd blocks until what FileWriteAtAllBegin has started with the same buffer is done,
// and returns its outcome. Collective (MPI 4.1, section 14.4.5, MPI_File_write_at_all_end).
func FileWriteAtAllEnd[T any](f *File, buf []T) (st Status, err error) {
	defer beginFile(f, "FileWriteAtAllEnd", buf, true).endStatus(&st, &err)
	return f.splitEnd("FileWriteAtAll", placeOf(buf))
}

// FileReadAllBegin starts a FileReadAll that FileReadAllEnd ends. buf must not be used in between.
// Other collective accesses of the file must wait until then; an error of class [ErrOther] says
// that a split one has begun before. Errors of the access itself are those of the end. Collective
// (MPI 4.1, section 14.4.5, MPI_File_read_all_begin).
func FileReadAllBegin[T any](f *File, buf []T) (err error) {
	defer beginFile(f, "FileReadAllBegin", buf, false).endAt(&err)
	return f.splitBegin("FileReadAllBegin", placeOf(buf), func() *access { return accessOf(f, "FileReadAllBegin", fileAll, 0, buf) })
}

// FileReadAllEnd blocks until what FileReadAllBegin has started with the same buffer is done, and
// returns its outcome. Collective (MPI 4.1, section 14.4.5, MPI_File_read_all_end).
func FileReadAllEnd[T any](f *File, buf []T) (st Status, err error) {
	defer beginFile(f, "FileReadAllEnd", buf, false).endStatus(&st, &err)
	return f.splitEnd("FileReadAll", placeOf(buf))
}

// FileWriteAllBegin starts a FileWriteAll that FileWriteAllEnd ends. buf must not be used in
// between. Other collective accesses of the file must wait until then; an error of class [ErrOther]
// says that a split one has begun before. Errors of the access itself are those of the end.
// Collective (MPI 4.1, section 14.4.5, MPI_File_write_all_begin).
func FileWriteAllBegin[T any](f *File, buf []T) (err error) {
	defer beginFile(f, "FileWriteAllBegin", buf, true).endAt(&err)
	return f.splitBegin("FileWriteAllBegin", placeOf(buf), func() *access { return accessOf(f, "FileWriteAllBegin", fileAll|fileWrites, 0, buf) })
}

// FileWriteAllEnd blocks until what FileWriteAllBegin has started with the same buffer is done, and
// returns its outcome. Collective (MPI 4.1, section 14.4.5, MPI_File_write_all_end).
func FileWriteAllEnd[T any](f *File, buf []T) (st Status, err error) {
	defer beginFile(f, "FileWriteAllEnd", buf, true).endStatus(&st, &err)
	return f.splitEnd("FileWriteAll", placeOf(buf))
}

// FileReadOrderedBegin starts a FileReadOrdered that FileReadOrderedEnd ends. buf must not be used
// in between. Other collective accesses of the file must wait until then; an error of class
// [ErrOther] says that a split one has begun before. Errors of the access itself are those of the
// end. Collective (MPI 4.1, section 14.4.5, MPI_File_read_ordered_begin).
func FileReadOrderedBegin[T any](f *File, buf []T) (err error) {
	defer beginFile(f, "FileReadOrderedBegin", buf, false).endAt(&err)
	return f.splitBegin("FileReadOrderedBegin", placeOf(buf), func() *access { return accessOf(f, "FileReadOrderedBegin", fileShared|fileAll, 0, buf) })
}

// FileReadOrderedEnd blocks until what FileReadOrderedBegin has started with the same buffer is
// done, and returns its outcome. Collective (MPI 4.1, section 14.4.5, MPI_File_read_ordered_end).
func FileReadOrderedEnd[T any](f *File, buf []T) (st Status, err error) {
	defer beginFile(f, "FileReadOrderedEnd", buf, false).endStatus(&st, &err)
	return f.splitEnd("FileReadOrdered", placeOf(buf))
}

// FileWriteOrderedBegin starts a FileWriteOrdered that FileWriteOrderedEnd ends. buf must not be
// used in between. Other collective accesses of the file must wait until then; an error of class
// [ErrOther] says that a split one has begun before. Errors of the access itself are those of the
// end. Collective (MPI 4.1, section 14.4.5, MPI_File_write_ordered_begin).
func FileWriteOrderedBegin[T any](f *File, buf []T) (err error) {
	defer beginFile(f, "FileWriteOrderedBegin", buf, true).endAt(&err)
	return f.splitBegin("FileWriteOrderedBegin", placeOf(buf), func() *access { return accessOf(f, "FileWriteOrderedBegin", fileShared|fileAll|fileWrites, 0, buf) })
}

// FileWriteOrderedEnd blocks until what FileWriteOrderedBegin has started with the same buffer is
// done, and returns its outcome. Collective (MPI 4.1, section 14.4.5, MPI_File_write_ordered_end).
func FileWriteOrderedEnd[T any](f *File, buf []T) (st Status, err error) {
	defer beginFile(f, "FileWriteOrderedEnd", buf, true).endStatus(&st, &err)
	return f.splitEnd("FileWriteOrdered", placeOf(buf))
}

// Collective operations of a file take place in the order in which they are called, at every rank:
// a nonblocking one on a goroutine of the file, and what is called while it goes on behind it.
// Those of the communicator below are in the same order then.

// inTurn does do in the caller's goroutine, or, if other collective operations of f go on, waits
// until it has been done after them.
func (f *file) inTurn(op string, do func()) {
	f.mu.Lock()
	if !f.busy {
		f.busy = true
		f.mu.Unlock()
		do()
		f.next()
		return
	}
	f.mu.Unlock()
	f.laterInTurn(op, do, func() (Status, *Error) { return emptyStatus(), nil }).await()
}

// laterInTurn starts do on a goroutine of the file, after the collective operations that go on.
func (f *file) laterInTurn(op string, do func(), outcome func() (Status, *Error)) *Request {
	r := f.newRequest(op, outcome)
	m := r.m // r may be freed meanwhile
	f.mu.Lock()
	f.queue = append(f.queue, func() {
		do()
		f.comm.job.engine.Complete(m, nil)
	})
	idle := !f.busy
	f.busy = true
	f.mu.Unlock()
	if idle {
		f.next()
	}
	return r
}

// next lets the operations that wait for their turn follow the one that is over.
func (f *file) next() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.queue) == 0 {
		f.busy = false
		return
	}
	f.nonblockingFileAccess()
}

// nonblockingFileAccess starts a goroutine that works through the queue. It is what reports of
// hangs call what goes on there.
func (f *file) nonblockingFileAccess() {
	f.work.Go(func() { f.drain() })
}

// drain works through the queue until it is empty.
func (f *file) drain() {
	for {
		f.mu.Lock()
		if len(f.queue) == 0 {
			f.busy = false
			f.mu.Unlock()
			return
		}
		do := f.queue[0]
		f.queue[0] = nil
		f.queue = f.queue[1:]
		f.mu.Unlock()
		do()
	}
}

// later starts do, which is not collective, on a goroutine of its own.
func (f *file) later(op string, do func(), outcome func() (Status, *Error)) *Request {
	r := f.newRequest(op, outcome)
	m := r.m // r may be freed meanwhile
	f.independent.Go(func() {
		f.slots <- struct{}{}
		do()
		<-f.slots
		f.comm.job.engine.Complete(m, nil)
	})
	return r
}

// newRequest is a request that is complete when the engine is told so.
func (f *file) newRequest(op string, outcome func() (Status, *Error)) *Request {
	r := newRequest(f.comm, op)
	r.more().general = &general{own: outcome}
	r.mso().Kind = engine.KindGeneral
	r.m = r.mso()
	f.comm.job.engine.Post(r.m, engine.Computes)
	return r
}

// onDisk does do, which uses the disk and nothing else. Meanwhile it says so to a goroutine that
// asks whether this rank can go on.
func (f *file) onDisk(do func() error) error {
	f.comm.job.diskUses.Add(1)
	defer f.comm.job.diskUses.Add(-1)
	return do()
}
