package mpi

import (
	"github.com/fitmpi/fitmpi/engine"
)

// How a buffer of plain elements travels: as the memory that it is, or, where there are gaps
// between its values or their byte order is another one, by way of a layout.

// WithType returns c with a layout for the buffers of operations made through the returned value
// (MPI 4.1, section 5.1). A message is one value of t, laid over the buffer. For n of them take
// Contiguous(n, t).
//
//	column := mpi.Vector(rows, 1, cols, mpi.TypeOf[float64]())
//	mpi.Send(world.WithType(column), matrix[j:], dest, tag) // column j
//
// It holds for every operation on plain elements, sending and receiving. In collectives, one value
// of t is what one rank gives or gets. Where a buffer holds several, for one rank each, they follow
// each other at t's extent. The counts of v-forms are in values of t, and their displacements in
// its extents. In partitioned messages a partition is one value of t, and they follow each other in
// the same way. Messages are packed and unpacked where the values lie, a chunk at a time, of
// reductions a segment. Reductions combine whole elements of the buffer, so t must cut none. Where
// the buffer is of bytes and t is Contiguous(n, u), they combine values of u: the Op gets their
// bytes without gaps, and never a part of one.
// Objects know no layouts: with them the error is of class [ErrType]. A nil t takes the layouts
// away again. Both ends of a message must have the same basic values in the same order, not the
// same layout.
func (c *Comm) WithType(t *Datatype) *Comm { return c.WithTypes(t, t) }

// WithTypes is WithType with one layout for what is sent and another for what is received. Either
// may be nil: then such buffers are whole.
func (c *Comm) WithTypes(send, recv *Datatype) *Comm {
	n := *c
	n.sendType, n.recvType = send, recv
	return &n
}

// Len implements engine.Layout, as do Pack and Unpack.
func (o *overlay) Len() int { return o.size }

// Pack gives a part of the message.
func (o *overlay) Pack(dst []byte, off int) { o.pack(dst, 0, o.count, off) }

// Unpack takes a part of the message.
func (o *overlay) Unpack(off int, src []byte) { o.unpack(0, o.count, off, src) }

// pack gives a part of the data of count values, of which the first has its origin at mem[origin].
func (o *overlay) pack(dst []byte, origin, count, off int) {
	if o.swap {
		o.m.PackSwapped(dst, o.mem, origin, count, off)
	} else {
		o.m.Pack(dst, o.mem, origin, count, off)
	}
}

// unpack is the reverse of pack.
func (o *overlay) unpack(origin, count, off int, src []byte) {
	if o.swap {
		o.m.UnpackSwapped(o.mem, origin, count, off, src)
	} else {
		o.m.Unpack(o.mem, origin, count, off, src)
	}
}

// Piece implements engine.PartLayout: the memory of a part that lies within one run of a value.
func (o *overlay) Piece(off, n int) []byte {
	if o.swap || o.m.Runs() != 1 || n == 0 {
		return nil
	}
	size := o.m.Size()
	i := off / size
	if (off+n-1)/size != i {
		return nil
	}
	lo, _ := o.m.TrueExtent()
	_, extent := o.m.Extent()
	at := i*extent + lo + off%size
	return o.mem[at : at+n : at+n]
}

var _ engine.PartLayout = (*overlay)(nil)

// asMemory returns the memory that is the message, if it is one piece.
func (o *overlay) asMemory() ([]byte, bool) {
	if o.swap || !o.m.IsContiguous() && (o.count != 1 || o.m.Runs() != 1) {
		return nil, false
	}
	at, _ := o.m.TrueExtent()
	if o.size == 0 {
		at = 0
	}
	return o.mem[at : at+o.size], true
}

// travels lays t, or if it is nil what a []T is, over buf: b is the memory of the message, or o its
// layout.
//
// Preconditions:
//   - T is plain.
func travels[T any](c *Comm, op string, t *Datatype, buf []T) (b []byte, o *overlay, _ *Error) {
	return travelsTimes(c, op, t, 1, buf)
}

// travelsTimes is travels of count values of t; without t buf is what it is.
func travelsTimes[T any](c *Comm, op string, t *Datatype, count int, buf []T) (b []byte, o *overlay, _ *Error) {
	e := elemOf[T]()
	if c.isMemory(t, e) {
		return bytesOf(buf), nil, nil
	}
	l, err := overlay{mem: bytesOf(buf), m: e.m, count: len(buf), size: len(buf) * e.wire}, (*Error)(nil)
	if t != nil {
		if l, err = over(op, t, buf, count); err != nil {
			return nil, nil, err
		}
	}
	l.swap = c.job.swaps
	if b, ok := l.asMemory(); ok {
		return b, nil, nil
	}
	return nil, &l, nil
}
