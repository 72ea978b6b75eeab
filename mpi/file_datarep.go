package mpi

import (
	"hash/fnv"
	"math"
	"slices"
	"sync"

	"github.com/fitmpi/fitmpi/mpi/internal/fileio"
	"github.com/fitmpi/fitmpi/mpi/internal/layout"
)

// MaxDatarepName is the length of the longest name of a data representation (MPI 4.1, section
// 14.5.3, MPI_MAX_DATAREP_STRING).
const MaxDatarepName = 128

// DatarepConversion converts n values of t, a basic type such as TypeOf[float64](), between memory
// and a file (MPI 4.1, section 14.5.3, MPI_Datarep_conversion_function). In mem they lie one after
// the other, as the machine has them; in file likewise, as the file has them. One that reads fills
// mem, one that writes fills file. An error is returned by the access, with class [ErrConversion].
// It may be called by several goroutines at once, and as often as it takes. It must not
// communicate.
type DatarepConversion func(mem []byte, t *Datatype, n int, file []byte) error

// DatarepExtent is how many bytes a value of t, a basic type, has in a file (MPI 4.1, section
// 14.5.3, MPI_Datarep_extent_function).
type DatarepExtent func(t *Datatype) (int, error)

// datarepUser is a representation that RegisterDatarep was given. Immutable.
type datarepUser struct {
	name        string
	read, write DatarepConversion // nil: values are as in memory
	extent      DatarepExtent     // nil: the sizes of memory
}

// RegisterDatarep gives the rank of c a data representation by a name, for [File.SetView]: how
// values are converted when they are read and written, and how many bytes they have in a file (MPI
// 4.1, section 14.5.3, MPI_Register_datarep). A nil conversion moves values as they are, for which
// they need the size that they have in memory; a nil extent says that all do. Values of type byte
// are never converted.
//
// A name that the rank has is an error of class [ErrDupDatarep]; an empty name, or one longer than
// [MaxDatarepName], of class [ErrArg]. Errors go to the handler of [Comm.SetFileErrhandler]. There
// is no way to take a name back. It is local, but the ranks of a file must register the same.
func (c *Comm) RegisterDatarep(name string, read, write DatarepConversion, extent DatarepExtent) error {
	const op = "RegisterDatarep"
	if err := c.present(op); err != nil {
		return c.fail(err)
	}
	if err := c.job.datareps.register(&datarepUser{name, read, write, extent}); err != nil {
		err.Op = op
		return unopened(c, name).fail(err)
	}
	return nil
}

// datareps are the representations of a rank beside those of the standard.
type datareps struct {
	mu   sync.Mutex
	list []*datarepUser // guarded by mu
}

func (d *datareps) register(r *datarepUser) *Error {
	if r.name == "" || len(r.name) > MaxDatarepName {
		return opErrorf(ErrArg, "", "a name of %d bytes: need 1 to %d", len(r.name), MaxDatarepName)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if slices.Contains(repNames, r.name) || d.findLocked(r.name) != nil {
		return opErrorf(ErrDupDatarep, "", "%q is there already", r.name)
	}
	d.list = append(d.list, r)
	return nil
}

func (d *datareps) find(name string) *datarepUser {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.findLocked(name)
}

func (d *datareps) findLocked(name string) *datarepUser {
	i := slices.IndexFunc(d.list, func(r *datarepUser) bool { return r.name == name })
	if i < 0 {
		return nil
	}
	return d.list[i]
}

// names are all that there are, for messages.
func (d *datareps) names() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	names := slices.Clone(repNames)
	for _, r := range d.list {
		names = append(names, r.name)
	}
	return names
}

// kindTypes are the Datatypes of the kinds, for conversions; nil of those that are not converted.
var kindTypes = [...]*Datatype{
	layout.Bool: TypeOf[bool](), layout.Int8: TypeOf[int8](), layout.Int16: TypeOf[int16](), layout.Int32: TypeOf[int32](), layout.Int64: TypeOf[int64](),
	layout.Uint8: nil, layout.Uint16: TypeOf[uint16](), layout.Uint32: TypeOf[uint32](), layout.Uint64: TypeOf[uint64](),
	layout.Float32: TypeOf[float32](), layout.Float64: TypeOf[float64](), layout.Complex64: TypeOf[complex64](), layout.Complex128: TypeOf[complex128](),
}

// datarepSizes is a representation with the sizes of the kinds that a view has. Immutable.
type datarepSizes struct {
	*datarepUser
	size    [len(kindTypes)]int // of a value in a file; 0 if the view does not have it
	resized bool                // some differ from those in memory
}

// sizesFor asks for the sizes of all kinds of a filetype.
func (r *datarepUser) sizesFor(op string, filetype *Datatype) (*datarepSizes, *Error) {
	s := &datarepSizes{datarepUser: r}
	var failed *Error
	filetype.m.EachKind(1, func(k layout.Kind, _ int) bool {
		if s.size[k] == 0 {
			failed = s.ask(op, k)
		}
		return failed == nil
	})
	return s, failed
}

func (s *datarepSizes) ask(op string, k layout.Kind) *Error {
	t, n := kindTypes[k], k.Size()
	if t != nil && s.extent != nil {
		var err error
		if n, err = s.extent(t); err != nil {
			return opErrorf(ErrConversion, op, "the size of %v in %q: %w", t, s.name, err)
		}
	}
	switch {
	case n <= 0 || n > math.MaxInt32:
		return opErrorf(ErrConversion, op, "%v has %d bytes in %q: need 1 or more", t, n, s.name)
	case n != k.Size() && (s.read == nil || s.write == nil):
		return opErrorf(ErrUnsupportedDatarep, op, "%v has %d bytes in %q and %d in memory, and there is no conversion", t, n, s.name, k.Size())
	}
	s.size[k] = n
	s.resized = s.resized || n != k.Size()
	return nil
}

// sizeOf is how many bytes count elements of m have in a file; not ok if the view lacks a kind of
// theirs, or it is too many.
func (s *datarepSizes) sizeOf(m *layout.Map, count int) (size int, ok bool) {
	ok = m.EachKind(count, func(k layout.Kind, n int) bool {
		each := s.size[k]
		if each == 0 || n > (math.MaxInt-size)/each {
			return false
		}
		size += n * each
		return true
	})
	return size, ok
}

// inFile is t as it lies in a file: displacements in bytes are of the file, and are taken as they
// are; others count extents in the file (MPI 4.1, section 14.5.3). The values of a struct of Go's
// follow each other, if any of them has another size than in memory.
func (s *datarepSizes) inFile(t *Datatype) *Datatype {
	if !s.resized {
		return t
	}
	c := &t.contents
	ts := make([]*Datatype, len(c.Types))
	for i, of := range c.Types {
		ts[i] = s.inFile(of)
	}
	switch c.Combiner {
	case CombinerNamed:
		size, _ := s.sizeOf(t.m, 1)
		if size == t.Size() {
			return t
		}
		return Contiguous(size, TypeOf[byte]())
	case CombinerContiguous:
		return Contiguous(c.Count, ts[0])
	case CombinerVector:
		return Vector(c.Count, c.BlockLen, c.Stride, ts[0])
	case CombinerHvector:
		return Hvector(c.Count, c.BlockLen, c.Stride, ts[0])
	case CombinerIndexed:
		return Indexed(c.BlockLens, c.Displs, ts[0])
	case CombinerHindexed:
		return Hindexed(c.BlockLens, c.Displs, ts[0])
	case CombinerIndexedBlock:
		return IndexedBlock(c.BlockLen, c.Displs, ts[0])
	case CombinerHindexedBlock:
		return HindexedBlock(c.BlockLen, c.Displs, ts[0])
	case CombinerStruct:
		return Struct(c.BlockLens, c.Displs, ts)
	case CombinerSubarray:
		return Subarray(c.Sizes, c.Subsizes, c.Starts, c.Order, ts[0])
	case CombinerDarray:
		return Darray(c.Size, c.Rank, c.Sizes, c.Distribs, c.Dargs, c.Psizes, c.Order, ts[0])
	case CombinerResized:
		return Resized(ts[0], c.LB, c.Extent)
	default:
		return ts[0] // a Dup
	}
}

// repID stands for a representation, the same at all ranks.
func repID(name string) int64 {
	if i := slices.Index(repNames, name); i >= 0 {
		return int64(i)
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	return int64(h.Sum64() | 1<<63)
}

// repText names a representation that another rank has told.
func (d *datareps) repText(id int64) string {
	for _, name := range d.names() {
		if repID(name) == id {
			return name
		}
	}
	return "a representation that this rank has not"
}

// conversion is the values of an access that are converted.
type conversion struct {
	s    *datarepSizes
	o    *overlay     // in memory
	file fileio.Bytes // in the file
	once sync.Once    // of decode
	n    int          // set by once: bytes of memory that were read
	err  *Error       // set by once
}

// convert makes a conversion of the values of o, whose kinds are those of the view.
func (a *access) convert(o *overlay) {
	s := a.view.user
	size, ok := s.sizeOf(o.m, o.count)
	if !ok {
		a.err = opErrorf(ErrType, a.op, "the buffer holds values of %s, which the view in %q does not have, or too many", o.m.Signature(), s.name)
		return
	}
	a.conv = &conversion{s: s, o: o, file: make(fileio.Bytes, size)}
	a.data, a.size = a.conv.file, size
}

// each calls f for values of one kind, that lie at mem of the memory and at file of the file, until
// the file has no more than have bytes, or f fails.
func (c *conversion) each(have int, f func(t *Datatype, n, mem, memSize, file, fileSize int) error) (done int, err error) {
	mem, file := 0, 0
	c.o.m.EachKind(c.o.count, func(k layout.Kind, n int) bool {
		size := c.s.size[k]
		whole := min(n, (have-file)/size)
		if whole > 0 {
			if err = f(kindTypes[k], whole, mem, whole*k.Size(), file, whole*size); err != nil {
				return false
			}
		}
		mem, file = mem+whole*k.Size(), file+whole*size
		return whole == n
	})
	return mem, err
}

// encode converts what is to be written.
func (c *conversion) encode(op string) *Error {
	mem := make([]byte, c.o.size)
	c.o.Pack(mem, 0)
	_, err := c.each(len(c.file), func(t *Datatype, n, at, size, file, fileSize int) error {
		return c.call(c.s.write, false, mem[at:at+size], t, n, c.file[file:file+fileSize])
	})
	if err != nil {
		return opErrorf(ErrConversion, op, "writing %s in %q: %w", c.o.m.Signature(), c.s.name, err)
	}
	return nil
}

// decode converts have bytes that were read, as far as they are whole values, and returns how many
// bytes of memory these are.
func (c *conversion) decode(op string, have int) (n int, _ *Error) {
	c.once.Do(func() {
		mem := make([]byte, c.o.size)
		var err error
		c.n, err = c.each(have, func(t *Datatype, n, at, size, file, fileSize int) error {
			return c.call(c.s.read, true, mem[at:at+size], t, n, c.file[file:file+fileSize])
		})
		if c.n > 0 {
			c.o.Unpack(0, mem[:c.n])
		}
		if err != nil {
			c.err = opErrorf(ErrConversion, op, "reading %s in %q: %w", c.o.m.Signature(), c.s.name, err)
		}
	})
	return c.n, c.err
}

// call converts by f. Values without a conversion are moved.
func (c *conversion) call(f DatarepConversion, reads bool, mem []byte, t *Datatype, n int, file []byte) error {
	switch {
	case t != nil && f != nil:
		return f(mem, t, n, file)
	case reads:
		copy(mem, file)
	default:
		copy(file, mem)
	}
	return nil
}

// converted is what an access with a conversion has come to, in bytes of memory.
func (a *access) converted() (n int, err *Error) {
	if a.kind&fileWrites != 0 {
		n, _ = a.conv.each(a.n, func(*Datatype, int, int, int, int, int) error { return nil })
		return n, a.err
	}
	n, err = a.conv.decode(a.op, a.n)
	if a.err != nil {
		err = a.err
	}
	return n, err
}
