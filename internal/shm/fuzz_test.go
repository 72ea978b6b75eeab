//go:build linux && !fitmpi_portable

package shm

import (
	"encoding/binary"
	"errors"
	"testing"
)

// hostile drives both sides of a ring, and writes to the ring's memory besides, as prog says.
// Neither side may panic, touch anything outside the ring, show a record that lies outside, or work
// on after Err. Memory beside the ring is not accessible, so that to touch it ends the test.
type hostile struct {
	t   testing.TB
	mem []byte
	w   *Writer
	r   *Reader
	buf []byte
	err [2]error // of the writer, of the reader, once set
}

func newHostile(t testing.TB, size int) *hostile {
	mem := guarded(t, size)
	w, r := newRing(t, mem)
	return &hostile{t: t, mem: mem, w: w, r: r, buf: make([]byte, 2*size)}
}

func (h *hostile) step(op byte, x uint16) {
	switch op % 6 {
	case 0:
		n := 1 + int(x)%h.w.MaxRecord()
		h.wrote(h.w.Put(h.buf[:n/2], h.buf[n/2:n]))
	case 1:
		h.wrote(h.w.Write(h.buf[:int(x)%len(h.buf)]) != 0)
	case 2:
		h.wrote(h.w.Block() && h.w.Err() != nil)
	case 3:
		h.r.Ready()
		_, tail, short := h.r.Headed()
		head, rest, ok := h.r.Next()
		if short && (!ok || len(rest) != 0 || len(head) != headLen+len(tail)) {
			h.t.Fatalf("Headed shows a record with %d bytes behind its head, Next %d+%d bytes, %v", len(tail), len(head), len(rest), ok)
		}
		h.read(ok)
		if !within(h.mem, head) || !within(h.mem, rest) || len(head) > Inline || ok && len(head) == 0 {
			h.t.Fatalf("a record of %d+%d bytes outside the ring", len(head), len(rest))
		}
		for _, b := range [][]byte{head, rest} {
			copy(h.buf, b)
		}
	case 4:
		h.read(h.r.Release())
	case 5:
		for range x % 32 { // what a correct reader does
			h.step(3, 0)
			h.step(4, 0)
		}
	}
}

func (h *hostile) wrote(did bool) { h.after(0, h.w.Err(), did) }
func (h *hostile) read(did bool)  { h.after(1, h.r.Err(), did) }

// after checks that an error stays, and ends the work.
func (h *hostile) after(side int, err error, did bool) {
	h.t.Helper()
	if h.err[side] != nil && (err != h.err[side] || did) {
		h.t.Fatalf("side %d: after error %v: error %v, works %v", side, h.err[side], err, did)
	}
	if err != nil && !errors.Is(err, ErrCorrupt) {
		h.t.Fatalf("side %d: error %v", side, err)
	}
	h.err[side] = err
}

// scribble stores into a word of the ring: word x of it, or one that matters.
func (h *hostile) scribble(op byte, x uint16, value uint64) {
	at := int(x) % (len(h.mem) / 8) * 8
	switch op % 4 {
	case 1: // the next cell that the reader looks at, with the sequence it expects
		at = cellsAt + int(h.r.next&h.r.mask)*lineSize
		value = uint64(h.r.want)<<32 | value&0xffffffff
	case 2:
		at = int(x) % 2 * 8
		value = h.w.next + value%64 - 32
	case 3:
		at = 8
		value = h.w.head + value%8192 - 4096
	}
	binary.NativeEndian.PutUint64(h.mem[at:], value)
}

func (h *hostile) run(prog []byte) {
	for len(prog) >= 4 {
		op, x := prog[0], binary.LittleEndian.Uint16(prog[2:])
		if prog[1]%4 != 0 {
			h.step(op, x)
			prog = prog[4:]
			continue
		}
		prog = prog[4:]
		if len(prog) < 8 {
			return
		}
		h.scribble(op, x, binary.LittleEndian.Uint64(prog))
		prog = prog[8:]
	}
}

func FuzzRing(f *testing.F) {
	put, take := "\x00\x01\x30\x01", "\x05\x01\x1f\x00"
	f.Add(uint8(0), []byte(put+put+take+put+take))
	f.Add(uint8(1), []byte("\x01\x01\xff\xff\x02\x01\x00\x00"+take+"\x01\x01\xff\xff"))
	f.Add(uint8(2), []byte(put+"\x01\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff"+take+put+take))
	f.Add(uint8(0), []byte(put+"\x02\x00\x00\x00\x21\x00\x00\x00\x00\x00\x00\x00\x02\x01\x00\x00"+put))
	f.Add(uint8(3), []byte(put+take+"\x03\x00\x00\x00\x01\x10\x00\x00\x00\x00\x00\x00\x01\x01\xff\xff\x01\x01\xff\xff"))
	f.Fuzz(func(t *testing.T, size uint8, prog []byte) {
		newHostile(t, minRing+int(size)%49*lineSize).run(prog)
	})
}

// TestEveryWordScribbled writes bad values over each word of a ring in use, and uses it on.
func TestEveryWordScribbled(t *testing.T) {
	const size = 2048
	found := 0
	for at := 0; at < size; at += 8 {
		for _, value := range []uint64{0, 1, 2, 57, 1 << 31, 1 << 32, 5<<32 | 1, 5<<32 | 1<<31, 6<<32 | 0xffff, 1<<63 + 1, ^uint64(0)} {
			h := newHostile(t, size)
			for range 4 {
				h.step(0, 100)
				h.step(5, 1)
			}
			h.step(0, 40)
			h.step(0, 200)
			binary.NativeEndian.PutUint64(h.mem[at:], value)
			for i := range 40 {
				h.step(byte(i), uint16(i*37))
				h.step(2, 0)
				h.step(5, 3)
			}
			if h.w.Err() != nil || h.r.Err() != nil {
				found++
			}
		}
	}
	if found == 0 {
		t.Error("no scribbling was ever found")
	}
}

// TestFindsScribbling: each kind of bad word is found, not waited for.
func TestFindsScribbling(t *testing.T) {
	const put = 20 // records put before, of which 10 are taken: more than one lap of the 8 cells
	seq := func(ordinal uint64) uint64 { return (ordinal + 1) << 32 }
	for _, c := range []struct {
		name   string
		at     func(h *hostile) int
		value  func(h *hostile) uint64
		writer bool
	}{
		{"length zero", nextCell, func(h *hostile) uint64 { return seq(h.r.next) }, false},
		{"length beyond the longest", nextCell, func(h *hostile) uint64 { return seq(h.r.next) + uint64(h.w.max) + 1 }, false},
		{"length with the top bit", nextCell, func(h *hostile) uint64 { return seq(h.r.next) + 1<<31 }, false},
		{"word erased", nextCell, func(h *hostile) uint64 { return 0 }, false},
		{"a later sequence", nextCell, func(h *hostile) uint64 { return seq(h.r.next+8) + 4 }, false},
		{"cells going back", consumedCells, func(h *hostile) uint64 { return h.w.cellLimit - h.w.mask - 2 }, true},
		{"cells beyond", consumedCells, func(h *hostile) uint64 { return h.w.next + 1 }, true},
		{"cells far beyond", consumedCells, func(h *hostile) uint64 { return ^uint64(0) }, true},
		{"bytes going back", consumedBytes, func(h *hostile) uint64 { return h.w.dataLimit - h.w.size - 1 }, true},
		{"bytes beyond", consumedBytes, func(h *hostile) uint64 { return h.w.head + 1 }, true},
	} {
		h := newHostile(t, minRing)
		for range put / 2 {
			h.step(0, 70)
			h.step(5, 1)
		}
		h.w.Block()
		h.step(0, 70)
		binary.NativeEndian.PutUint64(h.mem[c.at(h):], c.value(h))
		h.w.Block()
		h.r.Next()
		if (h.w.Err() != nil) != c.writer || (h.r.Err() != nil) == c.writer {
			t.Errorf("%s: writer %v, reader %v", c.name, h.w.Err(), h.r.Err())
		}
	}
}

func nextCell(h *hostile) int    { return cellsAt + int(h.r.next&h.r.mask)*lineSize }
func consumedCells(*hostile) int { return 0 }
func consumedBytes(*hostile) int { return 8 }
