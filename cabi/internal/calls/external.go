package calls

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"runtime"
	"slices"

	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
	"github.com/fitmpi/fitmpi/mpi"
)

// The representation external32 (MPI 5.0, section 14.5.2) by the predefined datatypes of C and
// Fortran. Package mpi has it by the kinds of Go, which do not tell a long from a long long.

func init() {
	register(procedure.PackExternal, packExternal)
	register(procedure.UnpackExternal, unpackExternal)
	register(procedure.PackExternalSize, packExternalSize)
}

// externalForm is a basic value in external32, where package mpi has another form, or none.
type externalForm struct {
	size, own int                             // bytes there, and in memory
	encode    func(external, own []byte) bool // of one value; false if it has no room
	decode    func(own, external []byte)
}

// externalForms are by predefined datatype. MPI_LONG has 4 bytes there, MPI_WCHAR 2.
var externalForms = func() map[handle]externalForm {
	long := externalForm{4, 8, func(x, own []byte) bool {
		v := int64(binary.LittleEndian.Uint64(own))
		binary.BigEndian.PutUint32(x, uint32(v))
		return v == int64(int32(v))
	}, func(own, x []byte) { binary.LittleEndian.PutUint64(own, uint64(int32(binary.BigEndian.Uint32(x)))) }}
	unsigned := externalForm{4, 8, func(x, own []byte) bool {
		v := binary.LittleEndian.Uint64(own)
		binary.BigEndian.PutUint32(x, uint32(v))
		return v <= math.MaxUint32
	}, func(own, x []byte) { binary.LittleEndian.PutUint64(own, uint64(binary.BigEndian.Uint32(x))) }}
	wide := externalForm{2, 4, func(x, own []byte) bool {
		v := binary.LittleEndian.Uint32(own)
		binary.BigEndian.PutUint16(x, uint16(v))
		return v <= math.MaxUint16
	}, func(own, x []byte) { binary.LittleEndian.PutUint32(own, uint32(binary.BigEndian.Uint16(x))) }}
	double := reversed(16)
	if runtime.GOARCH == "amd64" {
		double = externalForm{16, 16, encodeX87, decodeX87}
	}
	return map[handle]externalForm{
		abi.Long: long, abi.UnsignedLong: unsigned, abi.Wchar: wide,
		abi.LongDouble: double, abi.CLongDoubleComplex: twice(double), abi.CxxLongDoubleComplex: twice(double),
		abi.Real2: reversed(2), abi.Complex4: twice(reversed(2)), abi.Real16: reversed(16), abi.Complex32: twice(reversed(16)),
		abi.Integer16: reversed(16), abi.Logical16: reversed(16),
	}
}()

// reversed is a value whose bytes are in the other order.
func reversed(n int) externalForm {
	return externalForm{n, n, func(x, own []byte) bool {
		copy(x, own)
		slices.Reverse(x)
		return true
	}, func(own, x []byte) {
		copy(own, x)
		slices.Reverse(own)
	}}
}

// twice is a complex number.
func twice(f externalForm) externalForm {
	return externalForm{2 * f.size, 2 * f.own,
		func(x, own []byte) bool {
			return f.encode(x[:f.size], own[:f.own]) && f.encode(x[f.size:], own[f.own:])
		},
		func(own, x []byte) {
			f.decode(own[:f.own], x[:f.size])
			f.decode(own[f.own:], x[f.size:])
		}}
}

// A long double of amd64 has sign and exponent as a quadruple has them (IEEE 754 binary128), and 63
// bits of fraction below a bit that is set unless it is denormal. A quadruple has 112.
const fractionBits, fractionShift = 63, 112 - 63

func encodeX87(x, own []byte) bool {
	fraction := binary.LittleEndian.Uint64(own) &^ (1 << fractionBits)
	binary.BigEndian.PutUint16(x, binary.LittleEndian.Uint16(own[8:]))
	high := fraction >> (64 - fractionShift) // 48 bits
	binary.BigEndian.PutUint64(x[8:], fraction<<fractionShift)
	for i := range 6 {
		x[2+i] = byte(high >> (8 * (5 - i)))
	}
	return true
}

// decodeX87 rounds to the nearest value, to even where two are as near.
func decodeX87(own, x []byte) {
	head := binary.BigEndian.Uint16(x)
	high, low := binary.BigEndian.Uint64(x)&(1<<48-1), binary.BigEndian.Uint64(x[8:])
	fraction := high<<(64-fractionShift) | low>>fractionShift
	exponent := head & 0x7fff
	rest, half := low&(1<<fractionShift-1), uint64(1)<<(fractionShift-1)
	if exponent != 0x7fff && (rest > half || rest == half && fraction&1 == 1) {
		var carry uint64
		if fraction, carry = bits.Add64(fraction, 1, 0); carry == 0 && fraction>>fractionBits == 1 {
			fraction, head, exponent = 0, head+1, exponent+1
		}
	}
	if exponent == 0x7fff && rest != 0 && fraction == 0 {
		fraction = 1 << (fractionBits - 1) // a NaN stays one
	}
	if exponent != 0 {
		fraction |= 1 << fractionBits
	}
	binary.LittleEndian.PutUint64(own, fraction)
	binary.LittleEndian.PutUint16(own[8:], head)
	clear(own[10:16])
}

// pairParts are the values of predefined pairs.
var pairParts = map[handle][2]handle{
	abi.FloatInt: {abi.Float, abi.Int}, abi.DoubleInt: {abi.Double, abi.Int}, abi.LongInt: {abi.Long, abi.Int}, abi.PairInt: {abi.Int, abi.Int},
	abi.ShortInt: {abi.Short, abi.Int}, abi.LongDoubleInt: {abi.LongDouble, abi.Int}, abi.PairReal: {abi.Real, abi.Real},
	abi.PairDoubleprecision: {abi.DoublePrecision, abi.DoublePrecision}, abi.PairInteger: {abi.Integer, abi.Integer},
}

// eachBasic visits the basic values of n values of d in the order in which they travel: so many of
// one predefined datatype each time. It stops at an error.
func (d *datatype) eachBasic(n int, visit func(d *datatype, n int) error) error {
	if n == 0 || d.size == 0 {
		return nil
	}
	if parts, ok := pairParts[d.h]; ok {
		for range n {
			for _, h := range parts {
				if err := visit(datatypes.get(h), 1); err != nil {
					return err
				}
			}
		}
		return nil
	}
	switch {
	case d.named:
		return visit(d, n)
	case d.made.combiner != abi.CombinerStruct:
		from := d.made.types[0]
		return from.eachBasic(n*(d.size/from.size), visit)
	}
	blocks := d.made.ints
	if d.made.large {
		blocks = d.made.counts
	}
	for range n {
		for i, from := range d.made.types {
			if err := from.eachBasic(blocks[1+i], visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// externalSize is how many bytes n values of d have in external32.
func (d *datatype) externalSize(n int) int {
	one := 0
	_ = d.eachBasic(1, func(b *datatype, n int) error {
		size := b.size
		if f, ok := b.external(); ok {
			size = f.size
		}
		one += n * size
		return nil
	})
	if one > 0 && n > math.MaxInt/one {
		panic(failf(abi.ErrCount, "%d values of %d bytes are too many", n, one))
	}
	return n * one
}

// external is the form of d's values, which are basic, if package mpi has another or none.
// Datatypes of Fortran that a program has asked for are as the predefined ones.
func (d *datatype) external() (externalForm, bool) {
	f, ok := externalForms[d.h]
	if _, is := f90Kinds[d.made.combiner]; is && d.size >= 16 {
		f, ok = reversed(16), true
		if d.made.combiner == abi.CombinerF90Complex {
			f = twice(f)
		}
	}
	return f, ok
}

// hasOwnExternal reports whether package mpi has another external32, or none, of some values of d.
func (d *datatype) hasOwnExternal() (has bool) {
	_ = d.eachBasic(1, func(b *datatype, _ int) error {
		_, ok := b.external()
		has = has || ok
		return nil
	})
	return has
}

// errShort ends a visit where no more values are there.
var errShort = errors.New("no more values")

// eachExternal visits the basic values of n values of d, as far as they are whole in so many bytes
// of external32: so many of one predefined datatype each time, that begin at byte mem of packed
// values and at byte file of external32. done is how many bytes they have in memory.
func (d *datatype) eachExternal(n, have int, visit func(b *datatype, n, mem, file int) error) (done int, err error) {
	file := 0
	err = d.eachBasic(n, func(b *datatype, n int) error {
		size := b.size
		if f, ok := b.external(); ok {
			size = f.size
		}
		whole := min(n, (have-file)/size)
		if whole > 0 {
			if err := visit(b, whole, done, file); err != nil {
				return err
			}
		}
		done, file = done+whole*b.size, file+whole*size
		if whole < n {
			return errShort
		}
		return nil
	})
	if errors.Is(err, errShort) {
		err = nil
	}
	return done, err
}

// toExternal appends n values of d, which are packed, to out.
func (d *datatype) toExternal(out, packed []byte, n int) ([]byte, error) {
	at, size := len(out), d.externalSize(n)
	out = append(out, make([]byte, size)...)
	_, err := d.eachExternal(n, size, func(b *datatype, n, mem, file int) error {
		to, own := out[at+file:], packed[mem:mem+n*b.size]
		f, ok := b.external()
		if !ok {
			x, err := mpi.PackExternal(nil, own, mpi.Contiguous(n, b.t))
			copy(to, x)
			return err
		}
		for i := range n {
			if !f.encode(to[i*f.size:(i+1)*f.size], own[i*f.own:(i+1)*f.own]) {
				return failf(abi.ErrConversion, "a value of %s has no room in the %d bytes of external32", *b.name.Load(), f.size)
			}
		}
		return nil
	})
	return out, err
}

// fromExternal is as many of n values of d as there are, packed.
func (d *datatype) fromExternal(external []byte, n int) ([]byte, error) {
	packed := make([]byte, n*d.size)
	done, err := d.eachExternal(n, len(external), func(b *datatype, n, mem, file int) error {
		from, own := external[file:], packed[mem:mem+n*b.size]
		f, ok := b.external()
		if !ok {
			_, err := mpi.UnpackExternal(from, own, mpi.Contiguous(n, b.t))
			return err
		}
		for i := range n {
			f.decode(own[i*f.own:(i+1)*f.own], from[i*f.size:(i+1)*f.size])
		}
		return nil
	})
	return packed[:done], err
}

// external checks the name of a data representation.
func (c *call) external(i int) {
	if name := c.text(i); name != "external32" {
		panic(failf(abi.ErrUnsupportedDatarep, "data representation %q: need external32", name))
	}
}

// packed is the data of b, one value after the other.
func (b buffer) packed() ([]byte, error) {
	flat := b.asBytes()
	if b.t == nil {
		return flat.bytes(), nil
	}
	return mpi.Pack(nil, flat.bytes(), b.t)
}

func packExternal(c *call) error {
	c.external(0)
	b, n, d := c.buffer(1), c.count(2), c.datatype(3)
	room, at := c.int(5), c.position(6, true)
	size := d.externalSize(n)
	switch {
	case at < 0 || room < 0:
		return failf(abi.ErrArg, "the position is %d, the buffer has %d bytes: need 0 or more", at, room)
	case size > room-at:
		return failf(abi.ErrTruncate, "%d bytes from position %d on: the buffer has %d", size, at, room)
	}
	packed, err := b.packed()
	if err != nil {
		return err
	}
	out, err := d.toExternal(make([]byte, 0, size), packed, n)
	if err != nil {
		return err
	}
	copy(view[byte](c.args[4]+int64(at), size), out)
	c.setPosition(6, at+size, true)
	return nil
}

func unpackExternal(c *call) error {
	c.external(0)
	have, at := c.int(2), c.position(3, true)
	b, n, d := c.buffer(4), c.count(5), c.datatype(6)
	size := d.externalSize(n)
	switch {
	case at < 0 || at > have:
		return failf(abi.ErrArg, "the position is %d: need 0 to %d", at, have)
	case size > have-at:
		return failf(abi.ErrTruncate, "%d bytes are left, the values take %d", have-at, size)
	}
	packed, err := d.fromExternal(view[byte](c.args[1]+int64(at), size), n)
	if err != nil {
		return err
	}
	flat := b.asBytes()
	if err := flat.unpack(packed); err != nil {
		return err
	}
	c.setPosition(3, at+size, true)
	return nil
}

func packExternalSize(c *call) error {
	c.external(0)
	c.setWide(3, c.datatype(2).externalSize(c.count(1)))
	return nil
}
