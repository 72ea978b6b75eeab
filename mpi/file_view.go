package mpi

import (
	"errors"
	"strings"

	"github.com/fitmpi/fitmpi/mpi/internal/fileio"
)

// DisplacementCurrent as the displacement of SetView is where the shared file pointer is, in a file
// that was opened with ModeSequential, and has no other (MPI 4.1, section 14.3).
const DisplacementCurrent = -6

// errOverlaps says what a view that overlaps is for (MPI 4.1, section 14.3: "If the file is opened
// for writing, neither the etype nor the filetype is permitted to contain overlapping regions").
var errOverlaps = errors.New("it is for reading only, so set a view without overlaps to write")

// datarep is how values lie in a file.
type datarep int

const (
	repNative   datarep = iota // as in the memory of this machine
	repInternal                // in the same way on all machines: little-endian
	repExternal                // "external32": big-endian
)

var repNames = []string{"native", "internal", "external32"}

// repName is the name of the representation.
func (v *fileView) repName() string {
	if v.user != nil {
		return v.user.name
	}
	return repNames[v.rep]
}

// swaps reports whether values lie in a file in the other byte order.
func (r datarep) swaps() bool {
	return r == repInternal && bigEndian || r == repExternal && !bigEndian
}

// SetView says what this rank sees of f: the data of values of filetype, which follow each other
// without end from byte disp on (MPI 4.1, section 14.3, MPI_File_set_view). filetype is made of
// values of etype, or is etype; offsets and positions count values of etype. Its data must be in
// ascending order, also those of the next value behind them, and none may lie before its origin.
// They may overlap only for reading: writing through such a view is an error of class [ErrType], of
// a collective write at all ranks, and nothing is written. The file pointers return to the
// beginning. A filetype without data is a view of nothing: reading brings nothing, as at the end of
// the file, and there is nowhere to write.
//
// datarep is "native" (as in memory), "internal" (little-endian on all machines) or "external32"
// (big-endian), or a name that [Comm.RegisterDatarep] was given. With such a name each access
// converts its buffer as a whole, in memory of its own; a buffer of bytes is read and written as
// the file has it. It must be the same at all ranks, and so must the size and extent of etype: else
// the error is of class [ErrNotSame]. Other errors are of class [ErrType], [ErrArg] for
// displacements that are none, [ErrUnsupportedDatarep], [ErrConversion], or [ErrInfoValue] for
// info, which may be nil. All ranks have an error, or none: then the views are as they were.
// Collective, blocks.
func (f *File) SetView(disp int, etype, filetype *Datatype, datarep string, info *Info) (err error) {
	defer f.begin("SetView").endAt(&err)
	const op = "SetView"
	if err := f.present(op); err != nil {
		return f.fail(err)
	}
	var opErr *Error
	f.inTurn(op, func() { opErr = f.setView(op, disp, etype, filetype, datarep, info) })
	return f.outcome(opErr)
}

// viewEntry is what must be the same at all ranks.
type viewEntry struct{ Rep, Size, Extent, Bad int64 }

func (f *file) setView(op string, disp int, etype, filetype *Datatype, rep string, info *Info) *Error {
	v, own := f.newView(op, disp, etype, filetype, rep)
	h, herr := hintsOf(*f.hints.Load(), info)
	if own == nil {
		own = herr
	}
	mine := viewEntry{Bad: 1}
	if own == nil {
		_, extent := etype.Extent()
		mine = viewEntry{repID(v.repName()), int64(etype.Size()), int64(extent), 0}
	}
	all, err := gatherEntries(f.quiet, op, mine)
	if err != nil {
		return f.rankError(op, err)
	}
	for r, e := range all {
		if own == nil && e != mine && e.Bad == 0 {
			own = opErrorf(ErrNotSame, op, "%s, an etype of %d bytes at an extent of %d here, and %s, %d at %d at rank %d",
				rep, mine.Size, mine.Extent, f.comm.job.datareps.repText(e.Rep), e.Size, e.Extent, r)
		}
	}
	if err := f.setHints(op, h, own); err != nil {
		return err
	}
	f.view.Store(v)
	f.mu.Lock()
	f.pos = 0
	f.mu.Unlock()
	f.pointer.begin(0)
	var failed *Error
	if f.comm.rank == 0 {
		failed = f.pointer.set(f, 0)
	}
	return f.agree(op, failed) // and no rank goes on before it is done
}

// newView checks the arguments of SetView.
func (f *file) newView(op string, disp int, etype, filetype *Datatype, rep string) (*fileView, *Error) {
	for what, t := range map[string]*Datatype{"etype": etype, "filetype": filetype} {
		if err := t.check(); err != nil {
			return nil, opErrorf(ErrType, op, "the %s: %w", what, err)
		}
	}
	if etype.Size() == 0 {
		return nil, opErrorf(ErrType, op, "the etype has no data: need one to count offsets in")
	}
	v := &fileView{View: fileio.View{Disp: disp, Map: filetype.m}, etype: etype, filetype: filetype, unit: etype.Size(), rep: -1}
	for i, name := range repNames {
		if rep == name {
			v.rep = datarep(i)
		}
	}
	if v.rep < 0 {
		if err := v.takeUser(op, &f.comm.job.datareps, rep); err != nil {
			return nil, err
		}
	}
	sequential := f.amode&ModeSequential != 0
	v.Overlaps = !v.Map.IsAscending()
	_, extent := v.Map.Extent()
	switch lb, _ := v.Map.TrueExtent(); {
	case !v.IsEmpty() && lb < 0 || !v.Map.IsNondecreasing():
		return nil, opErrorf(ErrType, op, "the data of values of the filetype %v that follow each other are not in ascending order from 0 on", filetype)
	case v.Overlaps && extent == 0:
		return nil, opErrorf(ErrType, op, "the extent of the filetype %v is 0: its values would all lie at one place", filetype)
	case v.Overlaps && f.amode&ModeWronly != 0:
		return nil, opErrorf(ErrType, op, "the data of values of the filetype %v that follow each other overlap, and the file was opened to be written: %w", filetype, errOverlaps)
	case etype.Size() > 1 && !v.IsEmpty() && (filetype.Size()%etype.Size() != 0 || filetype.m.Hash(1) != etype.m.Hash(filetype.Size()/etype.Size())):
		return nil, opErrorf(ErrType, op, "the filetype %v is not made of values of the etype %v", filetype, etype)
	case sequential && disp != DisplacementCurrent:
		return nil, opErrorf(ErrDisp, op, "displacement %d in a file that was opened with ModeSequential: need DisplacementCurrent", disp)
	case !sequential && disp < 0:
		return nil, opErrorf(ErrDisp, op, "displacement %d: need 0 or more", disp)
	}
	if sequential {
		at, err := f.pointer.add(f, op, 0)
		if err != nil {
			return nil, err
		}
		old := f.view.Load()
		v.Disp = old.At(at * old.unit)
	}
	if !v.IsEmpty() && v.Check(0, 1) != nil {
		return nil, opErrorf(ErrDisp, op, "displacement %d: %w", disp, fileio.ErrTooFar)
	}
	return v, nil
}

// View returns what SetView has set: at first the view of all bytes (MPI 4.1, section 14.3,
// MPI_File_get_view).
func (f *File) View() (disp int, etype, filetype *Datatype, datarep string) {
	v := f.view.Load()
	return v.Disp, v.etype, v.filetype, v.repName()
}

// takeUser makes the view one in a representation of RegisterDatarep.
func (v *fileView) takeUser(op string, known *datareps, name string) *Error {
	r := known.find(name)
	if r == nil {
		return opErrorf(ErrUnsupportedDatarep, op, "%q: need one of %s", name, strings.Join(known.names(), ", "))
	}
	values := v.filetype
	if v.IsEmpty() {
		values = v.etype
	}
	s, err := r.sizesFor(op, values)
	if err != nil {
		return err
	}
	in := s.inFile(v.filetype)
	if in.err != nil {
		return opErrorf(ErrType, op, "the filetype %v in %q: %w", v.filetype, name, in.err)
	}
	unit, ok := s.sizeOf(v.etype.m, 1)
	if !ok {
		return opErrorf(ErrType, op, "the filetype %v is not made of values of the etype %v", v.filetype, v.etype)
	}
	v.Map, v.unit, v.rep, v.user = in.m, unit, repNative, s
	return nil
}

// TypeExtent is the extent of t in f, in bytes: how far apart values of t lie in a filetype that is
// made for f (MPI 4.1, section 14.5.1, MPI_File_get_type_extent). The representations of the
// standard have the sizes of memory here, so it is that of t; those of [Comm.RegisterDatarep] say
// what they have. It is 0 if there is an error, which is returned. It is local.
func (f *File) TypeExtent(t *Datatype) (int, error) {
	const op = "TypeExtent"
	if err := f.present(op); err != nil {
		return 0, f.fail(err)
	}
	if err := t.check(); err != nil {
		return 0, f.fail(opError(ErrType, op, err))
	}
	if u := f.view.Load().user; u != nil {
		s, err := u.sizesFor(op, t)
		if err != nil {
			return 0, f.fail(err)
		}
		t = s.inFile(t)
	}
	_, extent := t.Extent()
	return extent, nil
}

// ByteOffset is where in the file the etype with an offset in the view lies, in bytes (MPI 4.1,
// section 14.4.3, MPI_File_get_byte_offset). An offset that is negative, or too large for a file,
// is an error of class [ErrArg]. It is local.
func (f *File) ByteOffset(offset int) (int, error) {
	const op = "ByteOffset"
	if err := f.usable(op, 0, ModeSequential); err != nil {
		return 0, f.fail(err)
	}
	v := f.view.Load()
	x, err := v.stream(op, offset)
	if err == nil {
		if far := v.Check(x, 1); far != nil {
			err = opErrorf(ErrArg, op, "offset %d: %w", offset, far)
		}
	}
	if err != nil {
		return 0, f.fail(err)
	}
	return v.At(x), nil
}

// stream is the number of visible bytes before an offset.
func (v *fileView) stream(op string, offset int) (int, *Error) {
	const most = 1<<63 - 1
	switch size := v.unit; {
	case offset < 0:
		return 0, opErrorf(ErrArg, op, "offset %d: need 0 or more", offset)
	case offset > most/size:
		return 0, opErrorf(ErrArg, op, "offset %d: %w", offset, fileio.ErrTooFar)
	default:
		return offset * size, nil
	}
}

// end is the number of etypes of the view that begin before byte size of the file.
func (v *fileView) end(size int64) int {
	return v.Begun(int(size), v.unit)
}
