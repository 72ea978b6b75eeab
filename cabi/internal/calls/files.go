package calls

import (
	"sync/atomic"

	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
	"github.com/fitmpi/fitmpi/mpi"
)

// file is a file of C.
type file struct {
	*mpi.File
	h     handle
	comm  *mpi.Comm
	errh  atomic.Pointer[errhandler]
	hints atomic.Pointer[info]

	// Owned by the thread that calls: the standard lets one call at a time concern them.
	etype, filetype *datatype // of the view
	external        bool      // the view is in external32
	split           moved     // by the split collective that has begun
}

var files = table[file]{kind: kindFile, null: abi.FileNull, code: abi.ErrFile, what: "file"}

func (f *file) handler() *errhandler { return f.errh.Load() }
func (f *file) self() handle         { return f.h }
func (f *file) abort(text string)    { f.comm.Abort(1, text) }

// noFile is MPI_FILE_NULL, which has the error handler that files are opened with, and that of what
// concerns no open file.
var noFile = func() *file {
	f := &file{h: abi.FileNull}
	f.errh.Store(errorsReturn)
	return f
}()

// file is the file of an argument. Errors of the call go to its error handler.
func (c *call) file(i int) *file {
	c.on = noFile
	f := files.get(handle(c.args[i]))
	c.on = f
	return f
}

// fileOrNull is file, or MPI_FILE_NULL, whose error handler may be asked for and set.
func (c *call) fileOrNull(i int) *file {
	if handle(c.args[i]) == abi.FileNull {
		return noFile
	}
	return c.file(i)
}

// fileModes are the bits of access modes.
var fileModes = map[int]mpi.FileMode{
	abi.ModeAppend: mpi.ModeAppend, abi.ModeCreate: mpi.ModeCreate, abi.ModeDeleteOnClose: mpi.ModeDeleteOnClose,
	abi.ModeExcl: mpi.ModeExcl, abi.ModeRdonly: mpi.ModeRdonly, abi.ModeRdwr: mpi.ModeRdwr,
	abi.ModeSequential: mpi.ModeSequential, abi.ModeUniqueOpen: mpi.ModeUniqueOpen, abi.ModeWronly: mpi.ModeWronly,
}

func init() {
	register(procedure.FileOpen, fileOpen)
	register(procedure.FileClose, fileClose)
	register(procedure.FileDelete, func(c *call) error {
		c.on = noFile
		return mpi.FileDelete(theWorld.Load().self.Comm, c.text(0), c.infoOr(1).orNil())
	})
	register(procedure.FileSetSize, func(c *call) error { return c.file(0).SetSize(c.int(1)) })
	register(procedure.FilePreallocate, func(c *call) error { return c.file(0).Preallocate(c.int(1)) })
	register(procedure.FileSync, func(c *call) error { return c.file(0).Sync() })
	register(procedure.FileSetAtomicity, func(c *call) error { return c.file(0).SetAtomicity(c.bool(1)) })
	register(procedure.FileGetAtomicity, func(c *call) error { c.setBool(1, c.file(0).Atomicity()); return nil })
	register(procedure.FileGetGroup, func(c *call) error { return c.giveGroup(1, c.file(0).Group(), nil) })
	register(procedure.FileGetSize, func(c *call) error { n, err := c.file(0).Size(); return c.answer(1, n, err) })
	register(procedure.FileGetPosition, func(c *call) error { n, err := c.file(0).Position(); return c.answer(1, n, err) })
	register(procedure.FileGetPositionShared, func(c *call) error {
		n, err := c.file(0).PositionShared()
		return c.answer(1, n, err)
	})
	register(procedure.FileGetByteOffset, func(c *call) error {
		n, err := c.file(0).ByteOffset(c.int(1))
		return c.answer(2, n, err)
	})
	register(procedure.FileGetTypeExtent, func(c *call) error {
		f := c.file(0)
		n, err := c.datatype(1).extentIn(f)
		return c.answer(2, n, err)
	})
	register(procedure.FileGetAmode, func(c *call) error {
		n, have := 0, c.file(0).Amode()
		for bit, m := range fileModes {
			if have&m != 0 {
				n |= bit
			}
		}
		c.setInt(1, n)
		return nil
	})
	register(procedure.FileSeek, func(c *call) error { return c.file(0).Seek(c.int(1), c.whence(2)) })
	register(procedure.FileSeekShared, func(c *call) error { return c.file(0).SeekShared(c.int(1), c.whence(2)) })
	register(procedure.FileSetView, fileSetView)
	register(procedure.FileGetView, fileGetView)
	register(procedure.FileSetInfo, fileSetInfo)
	register(procedure.FileGetInfo, fileGetInfo)
	register(procedure.FileSetErrhandler, func(c *call) error {
		c.fileOrNull(0).errh.Swap(errhandlers.get(handle(c.args[1])).use()).release()
		return nil
	})
	register(procedure.FileGetErrhandler, func(c *call) error {
		c.setHandle(1, c.fileOrNull(0).handler().use().h)
		return nil
	})
	register(procedure.FileCallErrhandler, func(c *call) error {
		raise(c.fileOrNull(0), c.int(1), c.name()+": "+textOfCode(c.int(1)))
		return nil
	})
}

// answer writes a number of 64 bits, unless there is an error.
func (c *call) answer(i, n int, err error) error {
	if err == nil {
		c.setWide(i, n)
	}
	return err
}

func (c *call) whence(i int) int {
	switch c.int(i) {
	case abi.SeekSet:
		return mpi.SeekSet
	case abi.SeekCur:
		return mpi.SeekCur
	case abi.SeekEnd:
		return mpi.SeekEnd
	}
	panic(failf(abi.ErrArg, "the origin is %d: need MPI_SEEK_SET, MPI_SEEK_CUR or MPI_SEEK_END", c.int(i)))
}

func fileOpen(c *call) error {
	m := c.comm(0)
	c.on = noFile
	var mode mpi.FileMode
	bits := c.int(2)
	for bit, m := range fileModes {
		if bits&bit != 0 {
			mode |= m
			bits &^= bit
		}
	}
	if bits != 0 {
		return failf(abi.ErrAmode, "the access mode is %#x: need the MPI_MODE_ constants of files", c.int(2))
	}
	hints := c.infoOr(3)
	m.SetFileErrhandler(mpi.ErrorsReturn[*mpi.File])
	made, err := mpi.FileOpen(m.Comm, c.text(1), mode, hints.orNil())
	if err != nil {
		c.setHandle(4, abi.FileNull)
		return err
	}
	f := &file{File: made, comm: m.Comm, etype: datatypes.find(abi.Byte), filetype: datatypes.find(abi.Byte)}
	f.errh.Store(noFile.handler().use())
	if hints != nil {
		f.hints.Store(hints.dup())
	}
	f.h = files.add(f)
	c.setHandle(4, f.h)
	return nil
}

func fileClose(c *call) error {
	f := c.fileAt(0)
	if err := f.Close(); err != nil {
		return err
	}
	files.remove(f.h)
	*at[handle](c.args[0]) = abi.FileNull
	return nil
}

// fileAt is the file whose handle is at an address.
func (c *call) fileAt(i int) *file {
	c.on = noFile
	f := files.get(*at[handle](c.need(i)))
	c.on = f
	return f
}

func fileSetView(c *call) error {
	f, etype, filetype := c.file(0), c.datatype(2), c.datatype(3)
	disp := c.int(1)
	if disp == abi.DisplacementCurrent {
		disp = mpi.DisplacementCurrent
	}
	for _, d := range []*datatype{etype, filetype} {
		if !d.committed.Load() {
			return failf(abi.ErrType, "a datatype of the view is not committed: call MPI_Type_commit first")
		}
	}
	rep := c.text(4)
	of, in := viewTypes(etype, filetype, rep)
	if err := f.SetView(disp, of, in, rep, c.infoOr(5).orNil()); err != nil {
		return err
	}
	f.etype, f.filetype, f.external = etype, filetype, rep == external32
	return nil
}

func fileGetView(c *call) error {
	f := c.file(0)
	disp, _, _, datarep := f.View()
	c.setWide(1, disp)
	c.setHandle(2, f.etype.again())
	c.setHandle(3, f.filetype.again())
	c.setText(4, datarep, abi.MaxDatarepString, -1)
	return nil
}

func fileSetInfo(c *call) error {
	f, hints := c.file(0), c.infoOr(1)
	if hints == nil {
		return nil
	}
	f.hints.Store(hints.dup())
	return f.SetInfo(hints.i)
}

func fileGetInfo(c *call) error {
	f := c.file(0)
	all := &info{f.File.Info()}
	if hints := f.hints.Load(); hints != nil {
		for k, v := range hints.i.All() {
			_ = all.i.Set(k, v)
		}
	}
	c.setHandle(1, infos.add(all))
	return nil
}
