package mpi

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sync"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// From where Seek and SeekShared count. They are those of package io (MPI 4.1, section 14.4.3).
const (
	SeekSet = io.SeekStart   // from the beginning of the view
	SeekCur = io.SeekCurrent // from where the file pointer is
	SeekEnd = io.SeekEnd     // from the first etype of the view behind the end of the file
)

// Seek moves the file pointer of this rank to offset etypes of the view from whence: SeekSet,
// SeekCur or SeekEnd (MPI 4.1, section 14.4.3, MPI_File_seek). It may go beyond the end of the
// file, but not before the beginning of the view: then the error is of class [ErrArg], and the
// pointer stays. It is local.
func (f *File) Seek(offset, whence int) (err error) {
	defer f.begin("Seek").endAt(&err)
	const op = "Seek"
	if err := f.usable(op, 0, ModeSequential); err != nil {
		return f.fail(err)
	}
	f.mu.Lock()
	now := f.pos
	f.mu.Unlock()
	to, opErr := f.target(op, offset, whence, now)
	if opErr != nil {
		return f.fail(opErr)
	}
	f.mu.Lock()
	f.pos = to
	f.mu.Unlock()
	return nil
}

// target is where a pointer that is at now goes.
func (f *file) target(op string, offset, whence, now int) (int, *Error) {
	base := 0
	switch whence {
	case SeekSet:
	case SeekCur:
		base = now
	case SeekEnd:
		size, err := f.size(op)
		if err != nil {
			return 0, err
		}
		base = f.view.Load().end(size)
	default:
		return 0, opErrorf(ErrArg, op, "whence is %d: need SeekSet, SeekCur or SeekEnd", whence)
	}
	if offset < -base || offset > 0 && base > math.MaxInt-offset {
		return 0, opErrorf(ErrArg, op, "offset %d from etype %d: need an offset of the view", offset, base)
	}
	return base + offset, nil
}

// Position is where the file pointer of this rank is, in etypes of the view (MPI 4.1, section
// 14.4.3, MPI_File_get_position). It is local.
func (f *File) Position() (int, error) {
	if err := f.usable("Position", 0, ModeSequential); err != nil {
		return 0, f.fail(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pos, nil
}

// SeekShared moves the shared file pointer, as Seek does that of a rank. All ranks must give the
// same (ErrNotSame), and have the same view. Collective, blocks (MPI 4.1, section 14.4.4,
// MPI_File_seek_shared).
func (f *File) SeekShared(offset, whence int) (err error) {
	defer f.begin("SeekShared").endAt(&err)
	const op = "SeekShared"
	if err := f.present(op); err != nil {
		return f.fail(err)
	}
	var opErr *Error
	f.inTurn(op, func() { opErr = f.seekShared(op, offset, whence) })
	return f.outcome(opErr)
}

func (f *file) seekShared(op string, offset, whence int) *Error {
	own := (&File{file: f}).usableShared(op)
	if err := f.same(op, "offset", offset, own); err != nil {
		return err
	}
	if err := f.same(op, "whence", whence, nil); err != nil {
		return err
	}
	var failed *Error
	if f.comm.rank == 0 {
		var now, to int
		if now, failed = f.pointer.add(f, op, 0); failed == nil {
			if to, failed = f.target(op, offset, whence, now); failed == nil {
				failed = f.pointer.set(f, to)
			}
		}
	}
	return f.agree(op, failed)
}

// usableShared is usable for what sets or asks for the shared file pointer; within SeekShared f may
// be about to be closed.
func (f *File) usableShared(op string) *Error {
	if f.amode&ModeSequential != 0 {
		return f.usable(op, 0, ModeSequential)
	}
	return nil
}

// PositionShared is where the shared file pointer is, in etypes of the view (MPI 4.1, section
// 14.4.4, MPI_File_get_position_shared). It is local.
func (f *File) PositionShared() (position int, err error) {
	defer f.begin("PositionShared").endAt(&err)
	const op = "PositionShared"
	if err := f.usable(op, 0, ModeSequential); err != nil {
		return 0, f.fail(err)
	}
	at, opErr := f.pointer.add(f.file, op, 0)
	return at, f.outcome(opErr)
}

// sharedPointer is the shared file pointer: a number in a hidden file beside the file itself, which
// is all that the ranks surely have in common while they compute. It is made when it is first used,
// and changed under a lock, which ends with the process that has it. Until it is made, the pointer
// is where it began.
type sharedPointer struct {
	mu    sync.Mutex
	disk  *os.File // guarded by mu: nil until this rank uses it
	start int      // guarded by mu: where the pointer is if nothing is written
}

// begin says where the pointer is if nothing is written.
func (p *sharedPointer) begin(start int) {
	p.mu.Lock()
	p.start = start
	p.mu.Unlock()
}

// path is the name of the hidden file.
func (p *sharedPointer) path(f *file) string {
	dir, base := filepath.Split(f.name)
	const most = 200 // bytes of a name, which may have 255
	if len(base) > most {
		base = base[:most]
	}
	return filepath.Join(dir, fmt.Sprintf(".%s.fitmpi-%x", base, f.id))
}

// add adds n to the pointer, and returns where it was.
func (p *sharedPointer) add(f *file, op string, n int) (was int, _ *Error) {
	err := f.onDisk(func() error {
		return p.change(f, func(now int) (int, error) {
			was = now
			if n > math.MaxInt-now {
				return now, opErrorf(ErrArg, op, "the shared file pointer is at etype %d: %d more are too many for a file", now, n)
			}
			return now + n, nil
		})
	})
	return was, pointerError(op, err)
}

// set sets the pointer, at one rank, while no other uses it.
func (p *sharedPointer) set(f *file, to int) *Error {
	p.mu.Lock()
	isNew := p.disk == nil && p.start == to
	p.mu.Unlock()
	if isNew {
		if _, err := os.Lstat(p.path(f)); isGone(err) {
			return nil // no rank has used it
		}
	}
	return pointerError("", f.onDisk(func() error {
		return p.change(f, func(int) (int, error) { return to, nil })
	}))
}

// change replaces the pointer by what by makes of it.
func (p *sharedPointer) change(f *file, by func(now int) (int, error)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.disk == nil {
		disk, err := os.OpenFile(p.path(f), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		p.disk = disk
	}
	var b [8]byte
	unlock, err := sys.LockRange(p.disk, 0, len(b), true)
	if err != nil {
		return err
	}
	defer unlock()
	now := p.start
	if n, err := p.disk.ReadAt(b[:], 0); n == len(b) {
		now = int(binary.LittleEndian.Uint64(b[:]))
	} else if n > 0 || err != io.EOF {
		return err
	}
	to, err := by(now)
	if err != nil || to == now {
		return err
	}
	binary.LittleEndian.PutUint64(b[:], uint64(to))
	_, err = p.disk.WriteAt(b[:], 0)
	return err
}

func pointerError(op string, err error) *Error {
	if err == nil {
		return nil
	}
	e := diskError(op, err)
	if e.Class == ErrArg {
		return e
	}
	return opErrorf(e.Class, op, "the shared file pointer, in a hidden file beside the file: %w", err)
}

// close ends the use of the pointer at this rank.
func (p *sharedPointer) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.disk != nil {
		_ = p.disk.Close() // it will not be read again
		p.disk = nil
	}
}

// remove removes the hidden file, when all have closed it.
func (p *sharedPointer) remove(f *file) {
	_ = os.Remove(p.path(f)) // mostly there is none
}
