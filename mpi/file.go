package mpi

import (
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/mpi/internal/fileio"
)

// FileMode says how a file is opened: one of ModeRdonly, ModeWronly and ModeRdwr, with any of the
// others (MPI 4.1, section 14.2.1).
type FileMode uint

// The access modes of files (MPI 4.1, section 14.2.1).
const (
	ModeCreate        FileMode = 1 << iota // make the file if it is not there
	ModeRdonly                             // read only
	ModeWronly                             // write only
	ModeRdwr                               // read and write
	ModeDeleteOnClose                      // delete the file when it is closed
	ModeUniqueOpen                         // a promise: the file is open nowhere else. It changes nothing here
	ModeExcl                               // with ModeCreate: it is an error if the file is there
	ModeAppend                             // all file pointers begin at the end of the file
	ModeSequential                         // the file is read or written in order, by the shared file pointer alone

	allModes = ModeSequential<<1 - 1
)

var modeNames = []string{"ModeCreate", "ModeRdonly", "ModeWronly", "ModeRdwr", "ModeDeleteOnClose", "ModeUniqueOpen", "ModeExcl", "ModeAppend", "ModeSequential"}

// String lists the modes in m.
func (m FileMode) String() string {
	var names []string
	for i, n := range modeNames {
		if m&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	if len(names) == 0 {
		return "0"
	}
	return strings.Join(names, "|")
}

// File is a file that the ranks of a communicator have open together (MPI 4.1, chapter 14).
//
// What a rank sees of it is its view: at first all bytes, then what [File.SetView] says. Offsets
// and positions count the elementary values of the view, its etype. Each rank has a file pointer of
// its own, and all have a shared one.
//
// Buffers are slices of a T without pointers, and hold what [File.WithType] says, if that is used,
// else all their elements. As many bytes travel as they have, which must be a whole number of
// etypes, and values of the same kinds unless either are bytes. Reading stops at the end of the
// file: that is no error, Status.Count says how many elements came.
//
// Errors go to the error handler of the file, which returns them unless another is set: see
// [FileErrhandler]. They are of the classes from [ErrFile] to [ErrIO], name file, rank and host,
// and wrap the system's.
//
// A File is safe for concurrent use, except that collective operations must be started in the same
// order at all its ranks, so by one goroutine at a time. Nonblocking ones may go on beside it. What
// one rank writes others see at once, if they are on its host; else, and after a crash, what they
// may rely on is what sections 14.6.1 and 14.6.10 say: [File.Sync], a barrier, and Sync again. With
// [File.SetAtomicity] conflicting accesses happen one after the other.
type File struct {
	*file
	t *Datatype // of buffers; nil: they are whole
}

// file is what all values of one file share.
type file struct {
	// Immutable after FileOpen.
	comm  *Comm    // its ranks; private. Errors go to the file's handler. Of a file that could not be opened, the opener's
	quiet *Comm    // the same, of which errors are returned
	disk  *os.File // closed by Close
	name  string
	amode FileMode
	id    uint64 // the same at all ranks, and of no other open file

	errh   atomic.Pointer[FileErrhandler]
	view   atomic.Pointer[fileView]
	hints  atomic.Pointer[fileHints]
	closed atomic.Bool // Close was called
	dirty  atomic.Bool // this rank has written since the last Sync

	mu    sync.Mutex
	pos   int          // guarded by mu: the individual file pointer, in etypes
	busy  bool         // guarded by mu: a collective operation goes on
	queue []func()     // guarded by mu: those that follow
	split *splitAccess // guarded by mu: the split collective access that has begun and not ended; nil if there is none

	work        sync.WaitGroup // the goroutine that works through queue; Close waits for it
	independent sync.WaitGroup // goroutines of nonblocking operations that are not collective, likewise
	slots       chan struct{}  // has room for as many of these as may use the disk at once

	pointer sharedPointer
	alone   sync.Mutex // held by an access in atomic mode
	atomic  atomic.Bool
}

// fileView is a view as it was set. Immutable.
type fileView struct {
	fileio.View
	etype, filetype *Datatype
	unit            int // bytes of an etype in the file
	rep             datarep
	user            *datarepSizes // of RegisterDatarep, instead of rep; else nil
}

var byteView = &fileView{View: fileio.Plain, etype: TypeOf[byte](), filetype: TypeOf[byte](), unit: 1}

// most nonblocking accesses of a file that use the disk at once.
const mostAtOnce = 8

// WithType returns f with buffers laid out by t: what an access reads or writes is one value of t,
// laid over the buffer (MPI 4.1, section 14.4). For n of them take Contiguous(n, t). A nil t takes
// the layout away again. It is as [Comm.WithType] is for messages, and has nothing to do with the
// view.
func (f *File) WithType(t *Datatype) *File { return &File{file: f.file, t: t} }

// Group is the group of the ranks that have opened f (MPI 4.1, section 14.2.7, MPI_File_get_group).
func (f *File) Group() *Group { return f.comm.Group() }

// Amode is the access mode that f was opened with (MPI 4.1, section 14.2.7, MPI_File_get_amode).
func (f *File) Amode() FileMode { return f.amode }

// Name is the name that f was opened by at this rank.
func (f *File) Name() string { return f.name }

// String describes f for logs.
func (f *File) String() string { return f.comm.String() }

// present says why f can start no operation.
func (f *File) present(op string) *Error {
	switch {
	case f == nil || f.file == nil:
		return opErrorf(ErrFile, op, "the file is nil: open it with FileOpen")
	case f.disk == nil:
		return opErrorf(ErrFile, op, "the file could not be opened")
	case f.closed.Load():
		return opErrorf(ErrFile, op, "the file is closed")
	}
	return f.comm.present(op)
}

// usable is present for an operation that needs an access mode of need, and one without any of not.
func (f *File) usable(op string, need, not FileMode) *Error {
	if err := f.present(op); err != nil {
		return err
	}
	switch {
	case need != 0 && f.amode&need == 0 && need&ModeWronly != 0:
		return opErrorf(ErrReadOnly, op, "the file was opened with %v: open it with ModeWronly or ModeRdwr to write", f.amode)
	case need != 0 && f.amode&need == 0:
		return opErrorf(ErrAccess, op, "the file was opened with %v: open it with ModeRdonly or ModeRdwr to read", f.amode)
	case f.amode&not != 0:
		return opErrorf(ErrUnsupportedOperation, op, "the file was opened with ModeSequential: use the shared file pointer, and do not set it")
	}
	return nil
}

// fail completes err with the place and gives it to the error handler of f.
func (f *File) fail(err *Error) error {
	if f == nil || f.file == nil {
		return err
	}
	err.on(f.comm.rank, f.name)
	err.Host = f.comm.job.host
	err.atHere()
	if f.comm.hasEnded(err) {
		return err
	}
	return f.Errhandler()(f, err)
}

// outcome is fail of an error that may be none.
func (f *File) outcome(err *Error) error {
	if err == nil {
		return nil
	}
	return f.fail(err)
}
