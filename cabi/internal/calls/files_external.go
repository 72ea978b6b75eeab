package calls

import (
	"sync"

	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/mpi"
)

// Views of files in external32 (MPI 5.0, section 14.5.2). Package mpi has them by the kinds of Go.
// Where that is another external32 than that of C, as of MPI_LONG, values are converted here: the
// view of package mpi is one of bytes then, and an access moves the bytes of the file.

const external32 = "external32"

// inFile is d as it lies in a file in external32: displacements in bytes are of the file and are
// taken as they are, others count extents in the file, and a predefined datatype has no padding.
func (d *datatype) inFile() *mpi.Datatype {
	if d.named {
		return mpi.Contiguous(d.externalSize(1), byteType)
	}
	c := d.t.Contents()
	if d.made.combiner == abi.CombinerStruct && c.Combiner == mpi.CombinerResized {
		c = c.Types[0].Contents() // which has the extent that C gives it
	}
	ts := make([]*mpi.Datatype, len(d.made.types))
	for i, from := range d.made.types {
		ts[i] = from.inFile()
	}
	switch c.Combiner {
	case mpi.CombinerContiguous:
		return mpi.Contiguous(c.Count, ts[0])
	case mpi.CombinerVector:
		return mpi.Vector(c.Count, c.BlockLen, c.Stride, ts[0])
	case mpi.CombinerHvector:
		return mpi.Hvector(c.Count, c.BlockLen, c.Stride, ts[0])
	case mpi.CombinerIndexed:
		return mpi.Indexed(c.BlockLens, c.Displs, ts[0])
	case mpi.CombinerHindexed:
		return mpi.Hindexed(c.BlockLens, c.Displs, ts[0])
	case mpi.CombinerIndexedBlock:
		return mpi.IndexedBlock(c.BlockLen, c.Displs, ts[0])
	case mpi.CombinerHindexedBlock:
		return mpi.HindexedBlock(c.BlockLen, c.Displs, ts[0])
	case mpi.CombinerStruct:
		return mpi.Struct(c.BlockLens, c.Displs, ts)
	case mpi.CombinerSubarray:
		return mpi.Subarray(c.Sizes, c.Subsizes, c.Starts, c.Order, ts[0])
	case mpi.CombinerDarray:
		return mpi.Darray(c.Size, c.Rank, c.Sizes, c.Distribs, c.Dargs, c.Psizes, c.Order, ts[0])
	case mpi.CombinerResized:
		return mpi.Resized(ts[0], c.LB, c.Extent)
	default:
		return ts[0] // a duplicate
	}
}

// viewTypes are what package mpi gets for the datatypes of a view in a representation.
func viewTypes(etype, filetype *datatype, rep string) (e, f *mpi.Datatype) {
	if rep == external32 && (etype.hasOwnExternal() || filetype.hasOwnExternal()) {
		return etype.inFile(), filetype.inFile()
	}
	return etype.t, filetype.t
}

// extentIn is the extent of d in the representation of the view of f.
func (d *datatype) extentIn(f *file) (int, error) {
	if f.external && d.hasOwnExternal() {
		_, extent := d.inFile().Extent()
		return extent, nil
	}
	return f.TypeExtent(d.t)
}

// moved is what an access moves: the buffer, or, converted here, the bytes that it has in the file.
type moved struct {
	on    *mpi.File
	bytes []byte

	// Of what is converted; d is nil of other accesses.
	d     *datatype
	count int
	mem   buffer
	reads bool
}

// moved is that of the buffer of arguments i to i+2, always with its datatype: a file may have
// another representation of the values than memory has.
func (c *call) moved(f *file, i int, reads bool) moved {
	d, count := c.datatype(i+2), c.count(i+1)
	if !d.committed.Load() {
		panic(failf(abi.ErrType, "the datatype is not committed: call MPI_Type_commit first"))
	}
	b := c.layout(c.args[i], d.lay(count))
	if !f.external || !d.hasOwnExternal() {
		return moved{on: f.WithType(b.t), bytes: b.bytes()}
	}
	m := moved{on: f.File, d: d, count: count, mem: b, reads: reads}
	if reads {
		m.bytes = make([]byte, d.externalSize(count))
		return m
	}
	packed, err := b.packed()
	if err == nil {
		m.bytes, err = d.toExternal(nil, packed, count)
	}
	if err != nil {
		panic(failf(codeOf(err), "%v", err))
	}
	return m
}

// end ends an access: what was read goes to memory, and the status counts bytes of memory.
func (m *moved) end(st mpi.Status, err error) (mpi.Status, error) {
	if m.d == nil {
		return st, err
	}
	have := max(st.GetCount(byteType), 0)
	n := 0
	if m.reads {
		packed, failed := m.d.fromExternal(m.bytes[:have], m.count)
		if n = len(packed); failed == nil {
			failed = m.mem.unpack(packed)
		}
		if err == nil {
			err = failed
		}
	} else {
		n, _ = m.d.eachExternal(m.count, have, func(*datatype, int, int, int) error { return nil })
	}
	if failed := st.SetElements(byteType, n); err == nil {
		err = failed
	}
	return st, err
}

// once is end for a request, which may be asked several times for what it has come to.
func (m *moved) once() ending {
	if m.d == nil {
		return nil
	}
	var (
		done sync.Once
		out  outcome
	)
	return func(st mpi.Status, err error) (mpi.Status, error) {
		done.Do(func() { out.st, out.err = m.end(st, err) })
		return out.st, out.err
	}
}
