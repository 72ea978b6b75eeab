package coll

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// spread is a Layout of every third byte of its memory, backwards, each with its bits reversed: no
// algorithm gets anywhere by looking at the memory.
type spread struct{ b []byte }

func (s *spread) at(i int) *byte { return &s.b[len(s.b)-1-3*i] }

func (s *spread) Len() int { return len(s.b) / 3 }

func (s *spread) Pack(dst []byte, off int) {
	for i := range dst {
		dst[i] = ^*s.at(off + i)
	}
}

func (s *spread) Unpack(off int, src []byte) {
	for i, v := range src {
		*s.at(off + i) = ^v
	}
}

func (s *spread) Run(lo, hi int) ([]byte, bool) { return nil, lo == hi }

// windowed is a Layout of memory as it is, of which only the first half is called a run.
type windowed struct{ b []byte }

func (w *windowed) Len() int                   { return len(w.b) }
func (w *windowed) Pack(dst []byte, off int)   { copy(dst, w.b[off:]) }
func (w *windowed) Unpack(off int, src []byte) { copy(w.b[off:], src) }

func (w *windowed) Run(lo, hi int) ([]byte, bool) {
	if hi > len(w.b)/2 {
		return nil, lo == hi
	}
	return w.b[lo:hi:hi], true
}

// forms gives each rank's operands a form of its own, which follows from the seed: memory, or a
// layout of it. Equal operands of one rank are equal buffers.
type forms struct {
	seed  uint64
	known map[*byte]*windowed
}

func formsOf(seed uint64) *forms { return &forms{seed, map[*byte]*windowed{}} }

func (f *forms) buf(rank int, b []byte) Buf {
	if len(b) == 0 || f.seed>>(rank%40)&4 == 0 {
		return Memory(b)
	}
	w := f.known[&b[0]]
	if w == nil || len(w.b) != len(b) {
		w = &windowed{b}
		f.known[&b[0]] = w
	}
	return LaidOut(w)
}

// all is buf of each of a rank's blocks.
func (f *forms) all(rank int, blocks [][]byte) []Buf {
	all := make([]Buf, len(blocks))
	for i, b := range blocks {
		all[i] = f.buf(rank, b)
	}
	return all
}

// bytes are what b holds.
func (b Buf) bytes() []byte {
	v := make([]byte, b.Len())
	b.Pack(v, 0)
	return v
}

// Parts of a layout are the bytes of its vector, and memory where they can be.
func TestBufParts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	want := randomBytes(rng, 100)
	laid := LaidOut(&spread{make([]byte, 300)})
	laid.Unpack(0, want)
	for _, b := range []Buf{Memory(bytes.Clone(want)), laid, LaidOut(&windowed{bytes.Clone(want)})} {
		for range 100 {
			lo := rng.IntN(101)
			hi := lo + rng.IntN(101-lo)
			part := b.Part(lo, hi)
			if got := part.bytes(); part.Len() != hi-lo || !bytes.Equal(got, want[lo:hi]) {
				t.Fatalf("bytes %d to %d are %x, want %x", lo, hi, got, want[lo:hi])
			}
			mid := rng.IntN(hi - lo + 1)
			if got := part.Part(mid, hi-lo).bytes(); !bytes.Equal(got, want[lo+mid:hi]) {
				t.Fatalf("a part of a part is %x, want %x", got, want[lo+mid:hi])
			}
		}
	}
	first, second := LaidOut(&windowed{want}).Part(0, 50), LaidOut(&windowed{want}).Part(50, 100)
	if m, ok := first.Memory(); !ok || !same(m, want) {
		t.Error("a run of a layout is not memory")
	}
	if _, ok := second.Memory(); ok {
		t.Error("what is no run of a layout is memory")
	}
}

// Bytes move between memory and layouts of any kind, in pieces if there is none.
func TestMoveBuf(t *testing.T) {
	want := randomBytes(rand.New(rand.NewPCG(3, 4)), 2*moveChunk+7)
	memory := func() Buf { return Memory(make([]byte, len(want))) }
	laid := func() Buf { return LaidOut(&spread{make([]byte, 3*len(want))}) }
	for _, from := range []func() Buf{memory, laid} {
		for _, to := range []func() Buf{memory, laid} {
			src, dst := from(), to()
			src.Unpack(0, want)
			s := newSim(1, 1)
			moveBuf(s.ranks[0], dst, src, nil)
			if err := s.run(); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(dst.bytes(), want) {
				t.Errorf("%T to %T: the bytes differ", src.layout, dst.layout)
			}
		}
	}
	l := laid()
	if len(moveBuf(newSim(1, 1).ranks[0], l.Part(3, 9), l.Part(3, 9), nil)) > 0 {
		t.Error("the same bytes are moved")
	}
}
