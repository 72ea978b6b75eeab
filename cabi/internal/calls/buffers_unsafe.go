package calls

import (
	"unsafe"

	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/mpi"
)

// buffer is values of a datatype in the caller's memory, as package mpi takes them: n elements of k
// from p on, over which t lies if the memory is not the message.
type buffer struct {
	p unsafe.Pointer
	n int
	k elements
	t *mpi.Datatype

	size int // bytes of an element of k
}

// buffer is what the arguments from i on give: an address, a count and a datatype.
func (c *call) buffer(i int) buffer {
	return c.values(c.args[i], c.count(i+1), c.datatype(i+2))
}

// values is count values of d at an address.
func (c *call) values(addr int64, count int, d *datatype) (b buffer) {
	if !d.committed.Load() {
		panic(failf(abi.ErrType, "the datatype is not committed: call MPI_Type_commit first"))
	}
	if addr == abi.InPlace {
		panic(failf(abi.ErrBuffer, "MPI_IN_PLACE is no buffer of this argument"))
	}
	if d.flat {
		if addr == 0 && count > 0 && d.size > 0 {
			panic(failf(abi.ErrBuffer, "the buffer is a null pointer"))
		}
		// One by one: a struct that is copied as it was just written makes the processor wait.
		b.p, b.n, b.k, b.size = pointer(addr), count*d.per, d.k, 1
		if d.per > 1 {
			b.size = d.size / d.per
		} else if d.per == 1 {
			b.size = d.size
		}
		return b
	}
	return c.layout(addr, d.lay(count))
}

// layout is a layout at an address: that of the origin of its first value.
func (c *call) layout(addr int64, l *laid) buffer {
	if addr+int64(l.lo) == 0 && l.n > 0 {
		panic(failf(abi.ErrBuffer, "the buffer is a null pointer"))
	}
	b := buffer{n: l.n, k: of[byte]{}, t: l.t, size: 1}
	if l.n > 0 {
		b.p = pointer(addr + int64(l.lo))
	}
	return b
}

// on is the communicator by which b travels.
func (b *buffer) on(c *mpi.Comm) *mpi.Comm {
	if b.t == nil {
		return c
	}
	return c.WithType(b.t)
}

// asBytes is b as elements of one byte.
func (b buffer) asBytes() buffer {
	b.n, b.k, b.size = b.n*b.size, of[byte]{}, 1
	return b
}

// bytes is the memory of b.
func (b *buffer) bytes() []byte { return unsafe.Slice((*byte)(b.p), b.n*b.size) }

// unpack sets b, or as much as src has.
func (b *buffer) unpack(src []byte) error {
	if b.t == nil {
		copy(b.bytes(), src)
		return nil
	}
	whole := src
	if n := b.t.Size(); len(src) < n { // the rest stays as it is
		all, err := mpi.Pack(nil, b.bytes(), b.t)
		if err != nil {
			return err
		}
		copy(all, src)
		whole = all
	}
	_, err := mpi.Unpack(whole, b.bytes(), b.t)
	return err
}

// bufferOf is memory of Go's as a buffer of bytes, over which t lies.
func bufferOf(b []byte, t *mpi.Datatype) buffer {
	return buffer{p: unsafe.Pointer(unsafe.SliceData(b)), n: len(b), k: of[byte]{}, t: t, size: 1}
}

// sliceOf views memory as elements of T. The last one of a layout may reach beyond the data, into
// padding that is not looked at.
func sliceOf[T any](b buffer) []T {
	n := b.n * b.size
	if b.t != nil {
		n += sizeOf[T]() - 1
	}
	return unsafe.Slice((*T)(b.p), n/sizeOf[T]())
}
