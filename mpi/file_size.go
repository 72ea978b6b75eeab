package mpi

import (
	"errors"
	"os"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// Size is the size of f in bytes, as the file system says now (MPI 4.1, section 14.2.6,
// MPI_File_get_size). It is local.
func (f *File) Size() (size int, err error) {
	defer f.begin("Size").endAt(&err)
	const op = "Size"
	if err := f.present(op); err != nil {
		return 0, f.fail(err)
	}
	n, opErr := f.size(op)
	return int(n), f.outcome(opErr)
}

func (f *file) size(op string) (int64, *Error) {
	st, err := f.disk.Stat()
	if err != nil {
		return 0, diskError(op, err)
	}
	return st.Size(), nil
}

// SetSize makes f end at so many bytes: what is beyond is lost, and what is new is zero (MPI 4.1,
// section 14.2.4, MPI_File_set_size). File pointers stay where they are. size must be the same at
// all ranks (ErrNotSame), and not negative (ErrArg). All ranks have an error, or none. Collective,
// blocks.
func (f *File) SetSize(size int) (err error) {
	defer f.begin("SetSize").endAt(&err)
	return f.resize("SetSize", size, func(now int64) error { return f.disk.Truncate(int64(size)) })
}

// Preallocate makes sure that there is room on the disk for the first size bytes of f, which is at
// least as long then (MPI 4.1, section 14.2.5, MPI_File_preallocate). It is otherwise as SetSize; a
// file system that cannot do that gives an error of class [ErrUnsupportedOperation], a full one
// [ErrNoSpace].
func (f *File) Preallocate(size int) (err error) {
	defer f.begin("Preallocate").endAt(&err)
	return f.resize("Preallocate", size, func(int64) error {
		if size == 0 {
			return nil
		}
		return sys.Allocate(f.disk, size)
	})
}

// resize does change at rank 0, if all ranks give one size.
func (f *File) resize(op string, size int, change func(now int64) error) error {
	if err := f.present(op); err != nil {
		return f.fail(err)
	}
	var err *Error
	f.inTurn(op, func() {
		own := f.usable(op, ModeWronly|ModeRdwr, ModeSequential)
		if own == nil && size < 0 {
			own = opErrorf(ErrArg, op, "size %d: need 0 or more", size)
		}
		if err = f.same(op, "size", size, own); err != nil {
			return
		}
		var failed *Error
		if f.comm.rank == 0 {
			failed = diskError(op, f.onDisk(func() error { return change(0) }))
		}
		err = f.agree(op, failed)
	})
	return f.outcome(err)
}

// same finds out whether all ranks give one value, and none has an error of its own. Collective.
func (f *file) same(op, what string, value int, own *Error) *Error {
	all, err := gatherEntries(f.quiet, op, int64(value))
	if err != nil {
		return f.rankError(op, err)
	}
	for r, v := range all {
		if own == nil && v != all[0] {
			own = opErrorf(ErrNotSame, op, "%s %d at rank 0, %d at rank %d", what, all[0], v, r)
		}
	}
	return f.agree(op, own)
}

// Sync waits until what all ranks have written is on the disk, and what others have written to it
// can be read (MPI 4.1, section 14.6.1, MPI_File_sync). That it could not be kept is an error at
// all ranks. Complete nonblocking writes before. Collective, blocks.
func (f *File) Sync() (err error) {
	defer f.begin("Sync").endAt(&err)
	const op = "Sync"
	if err := f.present(op); err != nil {
		return f.fail(err)
	}
	var opErr *Error
	f.inTurn(op, func() {
		var own error
		if f.dirty.Load() {
			own = f.synchronise()
		}
		opErr = f.agree(op, diskError(op, own))
	})
	return f.outcome(opErr)
}

// synchronise waits for the disk. What cannot be synchronised, as a device, has no need of it.
func (f *file) synchronise() error {
	f.dirty.Store(false)
	err := f.onDisk(f.disk.Sync)
	if st, serr := f.disk.Stat(); err != nil && serr == nil && !st.Mode().IsRegular() {
		return nil
	}
	return err
}

// SetAtomicity says whether accesses that conflict happen one after the other, as seen by all
// ranks, at the price of a lock for each access (MPI 4.1, section 14.6.1, MPI_File_set_atomicity).
// When the file is opened they need not. It holds among those that have the file open in this mode,
// on any host that the file system's locks reach. It must be the same at all ranks (ErrNotSame).
// Collective, blocks.
func (f *File) SetAtomicity(atomic bool) (err error) {
	defer f.begin("SetAtomicity").endAt(&err)
	const op = "SetAtomicity"
	if err := f.present(op); err != nil {
		return f.fail(err)
	}
	value := 0
	if atomic {
		value = 1
	}
	var opErr *Error
	f.inTurn(op, func() {
		if opErr = f.same(op, "atomicity", value, nil); opErr == nil {
			f.atomic.Store(atomic)
		}
	})
	return f.outcome(opErr)
}

// Atomicity is what SetAtomicity has set (MPI 4.1, section 14.6.1, MPI_File_get_atomicity).
func (f *File) Atomicity() bool { return f.atomic.Load() }

// isGone reports whether a file is not there.
func isGone(err error) bool { return errors.Is(err, os.ErrNotExist) }
