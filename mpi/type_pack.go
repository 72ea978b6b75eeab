package mpi

import (
	"encoding/binary"
	"slices"
)

// Pack appends the data of src to dst and returns the extended slice (MPI 4.1, section 5.2,
// MPI_Pack). The data are one value of t, which lies over src as it would in a send, or, if t is
// nil, all of src. They follow each other without gaps or headers, in little-endian order whatever
// the machine, so that packed bytes may travel as []byte to any rank and be unpacked there by
// Unpack of the same types.
//
// dst may be nil; it must not overlap src. An error is of class [ErrType] if t has an error, T has
// pointers, or both do not fit each other, of class [ErrBuffer] if t reaches beyond src. dst is
// unchanged then.
func Pack[T any](dst []byte, src []T, t *Datatype) ([]byte, error) {
	return pack("Pack", dst, src, t, bigEndian)
}

// Unpack is the reverse of Pack: it sets one value of t, laid over dst, or all of dst if t is nil,
// from the first bytes of src, and returns the rest (MPI 4.1, section 5.2, MPI_Unpack). Other
// memory of dst stays as it is.
//
// src must not overlap dst. An error is of class [ErrTruncate] if src is too short, else as of
// Pack. dst is unchanged then.
func Unpack[T any](src []byte, dst []T, t *Datatype) (rest []byte, err error) {
	return unpackFrom("Unpack", src, dst, t, bigEndian)
}

// PackSize is the number of bytes that Pack would append (MPI 4.1, section 5.2, MPI_Pack_size):
// exactly, as Pack adds nothing to the data.
func PackSize[T any](src []T, t *Datatype) (int, error) { return packSize("PackSize", src, t) }

// PackExternal is Pack in the representation "external32", by which programs of other MPI libraries
// exchange data (MPI 4.1, sections 5.3 and 14.5.2, MPI_Pack_external): big-endian, IEEE floating
// point, without gaps, truth values as one byte. All types have there the size that Go gives them;
// an int or uint has 8 bytes, as an int64 or uint64 does, on the machines on which it has 64 bits.
func PackExternal[T any](dst []byte, src []T, t *Datatype) ([]byte, error) {
	return pack("PackExternal", dst, src, t, !bigEndian)
}

// UnpackExternal is the reverse of PackExternal (MPI 4.1, section 5.3, MPI_Unpack_external).
func UnpackExternal[T any](src []byte, dst []T, t *Datatype) (rest []byte, err error) {
	return unpackFrom("UnpackExternal", src, dst, t, !bigEndian)
}

// PackExternalSize is the number of bytes that PackExternal would append (MPI 4.1, section 5.3,
// MPI_Pack_external_size).
func PackExternalSize[T any](src []T, t *Datatype) (int, error) {
	return packSize("PackExternalSize", src, t)
}

// bigEndian is the byte order of this machine.
var bigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// pack is Pack to the byte order of this machine, or to the other.
func pack[T any](op string, dst []byte, src []T, t *Datatype, swapped bool) ([]byte, error) {
	o, err := over(op, t, src, 1)
	if err != nil {
		return dst, err
	}
	at := len(dst)
	out := slices.Grow(dst, o.size)[:at+o.size]
	if swapped {
		o.m.PackSwapped(out[at:], o.mem, 0, o.count, 0)
	} else {
		o.m.Pack(out[at:], o.mem, 0, o.count, 0)
	}
	return out, nil
}

// unpackFrom is Unpack from the byte order of this machine, or from the other.
func unpackFrom[T any](op string, src []byte, dst []T, t *Datatype, swapped bool) ([]byte, error) {
	o, err := over(op, t, dst, 1)
	if err != nil {
		return src, err
	}
	if len(src) < o.size {
		return src, opErrorf(ErrTruncate, op, "%d bytes are left, the values take %d", len(src), o.size)
	}
	if swapped {
		o.m.UnpackSwapped(o.mem, 0, o.count, 0, src[:o.size])
	} else {
		o.m.Unpack(o.mem, 0, o.count, 0, src[:o.size])
	}
	return src[o.size:], nil
}

func packSize[T any](op string, src []T, t *Datatype) (int, error) {
	o, err := over(op, t, src, 1)
	if err != nil {
		return 0, err
	}
	return o.size, nil
}
