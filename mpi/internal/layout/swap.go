package layout

import (
	"encoding/binary"
	"math/bits"
)

// swapRun moves bytes of values of one width that lie one after the other from mem[at] on,
// reversing each: as many as p has, from offset off of the stream on. The ends may be within a
// value.
func swapRun(w way, p, mem []byte, at, off, width int) {
	if in := off & (width - 1); in > 0 { // a width is a power of two
		k := min(width-in, len(p))
		swapPartly(w, p[:k], mem[at+off-in:], in, width)
		p, off = p[k:], off+k
	}
	at += off
	whole := len(p) &^ (width - 1)
	from, to := mem[at:at+whole], p[:whole]
	if w&unpack != 0 {
		from, to = to, from
	}
	reverse(to, from, width)
	if whole < len(p) {
		swapPartly(w, p[whole:], mem[at+whole:], 0, width)
	}
}

// swapPartly moves a part of the value at mem[0], which is reversed in the stream, from its byte in
// on.
func swapPartly(w way, p, mem []byte, in, width int) {
	for i := range p {
		m := &mem[width-1-in-i]
		if w&unpack == 0 {
			p[i] = *m
		} else {
			*m = p[i]
		}
	}
}

// reverse copies values of a width from one slice to the other, reversing each.
func reverse(to, from []byte, width int) {
	switch width {
	case 2:
		for ; len(from) >= 2 && len(to) >= 2; from, to = from[2:], to[2:] {
			binary.NativeEndian.PutUint16(to, bits.ReverseBytes16(binary.NativeEndian.Uint16(from)))
		}
	case 4:
		for ; len(from) >= 4 && len(to) >= 4; from, to = from[4:], to[4:] {
			binary.NativeEndian.PutUint32(to, bits.ReverseBytes32(binary.NativeEndian.Uint32(from)))
		}
	default:
		for ; len(from) >= 8 && len(to) >= 8; from, to = from[8:], to[8:] {
			binary.NativeEndian.PutUint64(to, bits.ReverseBytes64(binary.NativeEndian.Uint64(from)))
		}
	}
}
