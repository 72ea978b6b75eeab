//go:build linux && !fitmpi_portable

package shm

import (
	"bytes"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// TestFill: however a piece is written, it is there as a whole, and nothing behind it is touched.
func TestFill(t *testing.T) {
	if !hasFill {
		t.Skip("pieces are just copied here")
	}
	ways := map[string]func(dst, src []byte){"ahead": copyAhead, "around": copyAround}
	for name, fill := range ways {
		t.Run(name, func(t *testing.T) {
			from := make([]byte, 3*fillStep)
			for i := range from {
				from[i] = byte(i*31 + i>>8)
			}
			for n := lineSize; n <= 2*fillStep+3*lineSize; n += 1 + n%13 {
				mem := Alloc(3 * fillStep)
				src := from[n%61 : n%61+n]
				fill(mem, src)
				if !bytes.Equal(mem[:n], src) || !bytes.Equal(mem[n:], make([]byte, len(mem)-n)) {
					t.Fatalf("%d bytes, from %d on", n, n%61)
				}
			}
		})
	}
}

// TestStressFar: the reader sees what was written around the caches, as a whole, once it sees the
// record.
func TestStressFar(t *testing.T) {
	one, f := newSegment(t, 2)
	other := openSegment(t, f)
	w, err := NewWriter(one.Ring(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(other.Ring(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	w.filler.far, w.filler.untimed = true, 1<<30
	stress(t, w, r, effort.Share(20_000))
	if hasFill && !raceEnabled && w.filler.untimed == 1<<30 {
		t.Error("nothing was written around the caches")
	}
}

// TestFarEnds: after so many pieces the writer tries the caches again, and looks how long that
// takes.
func TestFarEnds(t *testing.T) {
	if !hasFill || raceEnabled {
		t.Skip("pieces are just copied")
	}
	w, r := newRing(t, Alloc(512<<10))
	payload := make([]byte, 8<<10)
	put := func() {
		t.Helper()
		if !w.Put(payload, nil) {
			t.Fatal("no room")
		}
		r.Next()
		r.Release()
	}
	for put(); w.head < w.size; put() { // the memory is new
	}
	f := &w.filler
	f.far, f.slow, f.untimed = true, slowMost, farFor
	for i := range farFor {
		if !f.far || f.untimed != farFor-i {
			t.Fatalf("after %d pieces: %+v", i, *f)
		}
		put()
	}
	put() // is timed
	if f.untimed != nearFor && f.untimed != farFor || f.far != (f.untimed == farFor) {
		t.Errorf("after a piece that was timed: %+v", *f)
	}
}

// TestLearn: two pieces in a row that are slow say that the reader is far, and one that is not says
// that it is near.
func TestLearn(t *testing.T) {
	var f filler
	for i, step := range []struct {
		n       int
		took    time.Duration
		far     bool
		untimed int
	}{
		{16 << 10, 850, false, nearFor},
		{16 << 10, 4200, false, 0}, // may have been interrupted
		{16 << 10, 4000, false, nearFor},
		{16 << 10, time.Second, false, 0},
		{4 << 10, 1100, true, farFor},
		{4 << 10, 1100, true, farFor}, // it is far still
		{4 << 10, 1000, false, nearFor},
		{4 << 10, 1100, false, 0},
	} {
		f.untimed = 0
		if f.learn(step.n, step.took); f.far != step.far || f.untimed != step.untimed {
			t.Errorf("step %d, %d bytes in %v: %+v", i, step.n, step.took, f)
		}
	}
}

// TestLongPayloads: a payload is long until its end, though it takes several Writes, and the next
// is not.
func TestLongPayloads(t *testing.T) {
	w, r := newRing(t, Alloc(512<<10))
	drain := func() {
		for _, _, ok := r.Next(); ok; _, _, ok = r.Next() {
			r.Release()
		}
	}
	p := make([]byte, 3*w.size)
	for len(p) > 0 {
		p = p[w.Write(p):]
		if want := len(p) > 0; w.filler.long != want {
			t.Fatalf("%d bytes before the end, long is %v", len(p), w.filler.long)
		}
		drain()
	}
	w.Write(make([]byte, 2*w.size)) // of which the rest is never written
	drain()
	if w.Write(make([]byte, w.size)); w.filler.long {
		t.Errorf("%d bytes are long", w.size)
	}
}
