//go:build linux

package mpi

import (
	"reflect"

	"github.com/fitmpi/fitmpi/mpi/internal/layout"
)

// overlay is values of a Datatype laid over the memory of a buffer, which has been found to have
// room for their data and values of the same kinds under them.
type overlay struct {
	mem   []byte      // the buffer, in the machine's byte order; the origin is its first byte
	m     *layout.Map // of one value
	count int         // values
	size  int         // bytes of data in all of them
	swap  bool        // they travel in the other byte order
}

// fit says that some elements of a Datatype lie over values of the same kinds in a Go type.
type fit struct {
	goType reflect.Type
	count  int
}

// over lays count values of t over buf. A nil t is the Datatype of T, and as many values as buf has
// elements.
func over[T any](op string, t *Datatype, buf []T, count int) (overlay, *Error) {
	e := elemOf[T]()
	if !e.plain {
		return overlay{}, opErrorf(ErrType, op, "a %s travels serialised, and has no layout: a datatype lies over numbers, truth values, and structs and arrays of such", e.name)
	}
	if t == nil {
		t, count = TypeOf[T](), len(buf)
	}
	if t.err != nil {
		return overlay{}, opError(t.err.Class, op, t.err)
	}
	if count < 0 {
		return overlay{}, opErrorf(ErrCount, op, "the count is %d: need 0 or more", count)
	}
	o := overlay{mem: bytesOf(buf), m: t.m, count: count}
	if err := t.reaches(op, e, len(buf), len(o.mem), count); err != nil {
		return overlay{}, err
	}
	if err := t.matches(op, e, count); err != nil {
		return overlay{}, err
	}
	o.size = count * t.m.Size() // Bounds has checked that
	return o, nil
}

// reaches checks that count values of t lie within a buffer of n elements, which are size bytes.
func (t *Datatype) reaches(op string, e *elem, n, size, count int) *Error {
	lo, hi, err := t.m.Bounds(count)
	switch {
	case err != nil:
		return opErrorf(ErrCount, op, "%d values of %s: %w", count, t, err)
	case lo < 0:
		return opErrorf(ErrBuffer, op, "%s has data %d bytes before its origin, the beginning of the buffer: shift it with Hindexed, which takes displacements in bytes", t, -lo)
	case hi > size:
		return opErrorf(ErrBuffer, op, "%d of %s reach to byte %d, the buffer of %d %s has %d bytes", count, t, hi, n, e.name, size)
	}
	return nil
}

// matches checks that count values of t lie over values of the same kinds.
func (t *Datatype) matches(op string, e *elem, count int) *Error {
	if f := t.fits.Load(); f != nil && f.goType == e.typ && count <= f.count {
		return nil
	}
	tile := typeOf(e.typ)
	if tile.err != nil {
		return opError(ErrType, op, tile.err)
	}
	at, ok := t.m.Over(tile.m, count)
	switch {
	case ok:
		t.fits.Store(&fit{e.typ, count})
		return nil
	case at.None:
		return opErrorf(ErrType, op, "%s has %s at byte %d, where no value of a buffer of %s begins", t, article(at.Data), at.Disp, e.name)
	default:
		return opErrorf(ErrType, op, "%s has %s at byte %d, where the buffer of %s has %s: use the same type, or a buffer of bytes",
			t, article(at.Data), at.Disp, e.name, article(at.Memory))
	}
}

// article is a kind's name after "a" or "an".
func article(k layout.Kind) string {
	switch k {
	case layout.Int8, layout.Int16, layout.Int32, layout.Int64:
		return "an " + k.String()
	default:
		return "a " + k.String()
	}
}
