package mpi

import (
	"errors"
	"io/fs"
	"math/bits"
	"math/rand/v2"
	"os"
	"syscall"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// FileOpen opens the file name for all ranks of c, an intracommunicator (MPI 4.1, section 14.2.1,
// MPI_File_open). name is a path, which must lead to one file at all ranks: on several hosts, to a
// file system that they share. amode must be the same everywhere. info may be nil; see [File.Info]
// for what it may say.
//
// All ranks get the file, or all get an error. It is of class [ErrAmode] for modes that do not go
// together, [ErrNotSame] if ranks differ, and else of the class of what the system says. It goes to
// the handler of [Comm.SetFileErrhandler], not to that of c. Close what you open. Collective, and
// it blocks until all ranks have opened the file.
func FileOpen(c *Comm, name string, amode FileMode, info *Info) (f *File, err error) {
	defer c.begin("FileOpen").endAt(&err)
	const op = "FileOpen"
	switch err := c.usable(op); {
	case err != nil:
		return nil, c.fail(err)
	case c.IsInter():
		return nil, unopened(c, name).fail(opErrorf(ErrComm, op, "%s is an intercommunicator: take one of its groups, or merge them", c.Name()))
	}
	f, opErr := openFile(c, name, amode, info)
	if opErr != nil {
		return nil, unopened(c, name).fail(opErr)
	}
	return f, nil
}

// openEntry is what each rank tells the others first.
type openEntry struct {
	Amode   int64
	Class   int64  // of what is wrong with its arguments; 0 if nothing is
	Context uint64 // for the file's communicator, if it is rank 0
}

// openOrder is what rank 0 says when it has opened the file.
type openOrder struct {
	Fault fault
	Inode uint64
	ID    uint64
	Size  int64
	Hints fileHints
}

func openFile(c *Comm, name string, amode FileMode, info *Info) (*File, *Error) {
	const op = "FileOpen"
	quiet := &Comm{comm: c.comm, ctx: c.ctx, quiet: true, unobserved: true}
	own := checkAmode(op, amode)
	if own == nil && name == "" {
		own = opErrorf(ErrBadFile, op, "the name is empty")
	}
	hints, herr := hintsOf(defaultHints(c), info)
	if own == nil {
		own = herr
	}
	mine := openEntry{Amode: int64(amode), Context: uint64(c.job.leadContext())}
	if own != nil {
		mine.Class = int64(own.Class)
	}
	all, err := gatherEntries(quiet, op, mine)
	if err != nil {
		return nil, (*file)(nil).rankError(op, err)
	}
	if err := compareOpens(op, all, amode, own); err != nil {
		return nil, err
	}
	f := newFile(c, name, amode, engine.ContextID(all[0].Context))
	made, ferr := f.openAll(op, hints)
	if ferr != nil {
		f.abandon(made)
		return nil, ferr
	}
	return f, nil
}

// compareOpens finds what is wrong with the arguments of any rank.
func compareOpens(op string, all []openEntry, amode FileMode, own *Error) *Error {
	if own != nil {
		return own
	}
	for r, e := range all {
		if e.Class != 0 {
			return opErrorf(ErrorClass(e.Class), op, "an argument of rank %d is wrong, as that is told", r)
		}
	}
	for r, e := range all {
		if FileMode(e.Amode) != FileMode(all[0].Amode) {
			return opErrorf(ErrNotSame, op, "the access mode is %v at rank 0 and %v at rank %d", FileMode(all[0].Amode), FileMode(e.Amode), r)
		}
	}
	return nil
}

// checkAmode says which modes do not go together (MPI 4.1, section 14.2.1).
func checkAmode(op string, m FileMode) *Error {
	switch {
	case m&^allModes != 0:
		return opErrorf(ErrAmode, op, "%#x is no access mode", uint(m))
	case bits.OnesCount(uint(m&(ModeRdonly|ModeWronly|ModeRdwr))) != 1:
		return opErrorf(ErrAmode, op, "the access mode is %v: need one of ModeRdonly, ModeWronly and ModeRdwr", m)
	case m&ModeRdonly != 0 && m&(ModeCreate|ModeExcl) != 0:
		return opErrorf(ErrAmode, op, "the access mode is %v: a file that is only read cannot be made", m)
	case m&ModeRdwr != 0 && m&ModeSequential != 0:
		return opErrorf(ErrAmode, op, "the access mode is %v: a sequential file is read or written, not both", m)
	}
	return nil
}

// newFile makes a file with a communicator of the ranks of c, which has the given context.
func newFile(c *Comm, name string, amode FileMode, id engine.ContextID) *File {
	own := newComm(c.job, c.scope, name, c.rank, c.group, id)
	f := &file{comm: own, quiet: &Comm{comm: own.comm, quiet: true, unobserved: true}, name: name, amode: amode, slots: make(chan struct{}, mostAtOnce)}
	h := c.FileErrhandler()
	f.errh.Store(&h)
	f.view.Store(byteView)
	own.SetErrhandler(func(_ *Comm, err *Error) error { return (*f.errh.Load())(&File{file: f}, err) })
	return &File{file: f}
}

// openAll opens the file at rank 0, which makes it if it is to be made, and then at the others.
// made says that it has been made here.
func (f *file) openAll(op string, hints fileHints) (made bool, _ *Error) {
	var own *Error
	order := []openOrder{{ID: rand.Uint64(), Hints: hints}}
	if f.comm.rank == 0 {
		own = f.openHere(op, int(hints.Perm), &made)
		order[0].Fault = faultOfFile(0, own)
		order[0].Inode, order[0].Size = f.identity()
	}
	if err := done(ibcast(f.quiet, op, order, 0)); err != nil {
		return made, f.rankError(op, err)
	}
	o := &order[0]
	if err := o.Fault.reportedError(f.comm, op, own); err != nil {
		return made, err
	}
	if f.comm.rank != 0 {
		own = f.openHere(op, int(o.Hints.Perm), nil)
		if inode, _ := f.identity(); own == nil && inode != o.Inode {
			own = opErrorf(ErrNotSame, op, "the file that this rank finds is not that of rank 0: give the same name, in a file system that all hosts share")
		}
	}
	f.id = o.ID
	f.hints.Store(&o.Hints)
	if f.amode&ModeAppend != 0 {
		f.pos = int(o.Size)
	}
	f.pointer.begin(f.pos)
	return made, f.agree(op, own)
}

// openHere opens the file; made is set if it was not there before, and is nil at ranks that only
// follow.
func (f *file) openHere(op string, perm int, made *bool) *Error {
	flags := os.O_RDONLY
	switch {
	case f.amode&ModeWronly != 0:
		flags = os.O_WRONLY
	case f.amode&ModeRdwr != 0:
		flags = os.O_RDWR
	}
	var err error
	if made != nil && f.amode&ModeCreate != 0 {
		f.disk, err = os.OpenFile(f.name, flags|os.O_CREATE|os.O_EXCL, fs.FileMode(perm))
		*made = err == nil
		if err == nil || f.amode&ModeExcl != 0 || !errors.Is(err, fs.ErrExist) {
			return diskError(op, err)
		}
	}
	if f.amode&ModeCreate != 0 {
		flags |= os.O_CREATE // a host that has looked for it before may still believe that it is not there
	}
	f.disk, err = os.OpenFile(f.name, flags, fs.FileMode(perm))
	return diskError(op, err)
}

// identity is the number of the file in its file system, and its size.
func (f *file) identity() (inode uint64, size int64) {
	if f.disk == nil {
		return 0, 0
	}
	st, err := f.disk.Stat()
	if err != nil {
		return 0, 0
	}
	return sys.Inode(st), st.Size()
}

// abandon closes a file that not all ranks could open, and removes it if it has been made for that.
func (f *file) abandon(made bool) {
	if f.disk != nil {
		_ = f.disk.Close() // nothing was written
	}
	if made {
		_ = os.Remove(f.name) // it is empty: what is left does no harm but to a ModeExcl
	}
	f.comm.freed.Store(true)
}

// Close closes f at all ranks. It waits for the nonblocking operations of this rank, and until what
// was written is on the disk. It deletes the file if it was opened with ModeDeleteOnClose. Complete
// the requests of f before: they need no file, but nothing else would say what became of them. All
// ranks get an error if what any has written could not be kept; f is closed all the same.
// Collective, blocks (MPI 4.1, section 14.2.2, MPI_File_close).
func (f *File) Close() (err error) {
	defer f.begin("Close").endAt(&err)
	const op = "Close"
	if err := f.present(op); err != nil {
		return f.fail(err)
	}
	f.closed.Store(true)
	var opErr *Error
	f.inTurn(op, func() { opErr = f.close(op) })
	f.work.Wait()
	f.comm.freed.Store(true)
	return f.outcome(opErr)
}

func (f *file) close(op string) *Error {
	f.independent.Wait()
	var own error
	if f.dirty.Load() && f.amode&ModeDeleteOnClose == 0 {
		own = f.synchronise()
	}
	f.pointer.close()
	if err := f.disk.Close(); own == nil {
		own = err
	}
	err := f.agree(op, diskError(op, own)) // all have closed it
	var removed *Error
	if f.comm.rank == 0 {
		f.pointer.remove(f)
		if f.amode&ModeDeleteOnClose != 0 {
			removed = diskError(op, os.Remove(f.name))
		}
	}
	if f.amode&ModeDeleteOnClose == 0 {
		return err
	}
	if rerr := f.agree(op, removed); err == nil {
		err = rerr
	}
	return err
}

// FileDelete removes the file name (MPI 4.1, section 14.2.3, MPI_File_delete). It is local: one
// rank of c is enough, and c only says which rank has an error. info may be nil, and there is
// nothing that it could say. That there is no such file is an error of class [ErrNoSuchFile]. A
// process that has the file open keeps it.
func FileDelete(c *Comm, name string, info *Info) (err error) {
	defer c.begin("FileDelete").endAt(&err)
	const op = "FileDelete"
	if err := c.present(op); err != nil {
		return c.fail(err)
	}
	st, err := os.Lstat(name)
	if err == nil && st.IsDir() {
		err = &os.PathError{Op: "remove", Path: name, Err: syscall.EISDIR}
	}
	if err == nil {
		err = os.Remove(name)
	}
	if err != nil {
		return unopened(c, name).fail(diskError(op, err))
	}
	return nil
}
