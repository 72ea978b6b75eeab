//go:build linux && !fitmpi_portable

package shm

import (
	"bytes"
	"errors"
	"testing"
)

// wantRecord takes the next record and compares it.
func wantRecord(t testing.TB, why string, r *Reader, want []byte) (unblocked bool) {
	t.Helper()
	if !r.Ready() {
		t.Fatalf("%s: no record ready", why)
	}
	wantHeaded(t, why, r, want)
	head, rest, ok := r.Next()
	if !ok {
		t.Fatalf("%s: no record: %v", why, r.Err())
	}
	if len(head) != min(len(want), Inline) || len(head)+len(rest) != len(want) {
		t.Fatalf("%s: record of %d+%d bytes, want %d", why, len(head), len(rest), len(want))
	}
	if !bytes.Equal(head, want[:len(head)]) || !bytes.Equal(rest, want[len(head):]) {
		t.Fatalf("%s: record of %d bytes differs", why, len(want))
	}
	return r.Release()
}

// wantHeaded holds Headed to Next: it shows the records that lie in their cells and are long enough
// for a head, and no others.
func wantHeaded(t testing.TB, why string, r *Reader, want []byte) {
	t.Helper()
	h, rest, ok := r.Headed()
	if ok != (len(want) >= headLen && len(want) <= Inline) {
		t.Fatalf("%s: Headed says %v of a record of %d bytes", why, ok, len(want))
	}
	if !ok {
		return
	}
	var head [headLen]byte
	h.put(&head)
	if !bytes.Equal(head[:], want[:headLen]) || !bytes.Equal(rest, want[headLen:]) {
		t.Fatalf("%s: Headed shows another record of %d bytes", why, len(want))
	}
}

func wantEmpty(t testing.TB, why string, r *Reader) {
	t.Helper()
	if r.Ready() {
		t.Fatalf("%s: ready", why)
	}
	if _, _, ok := r.Headed(); ok {
		t.Fatalf("%s: Headed shows a record", why)
	}
	if _, _, ok := r.Next(); ok || r.Err() != nil {
		t.Fatalf("%s: a record %v or an error %v", why, ok, r.Err())
	}
	if r.Release() {
		t.Fatalf("%s: Release without a record woke the writer", why)
	}
}

func TestGeometry(t *testing.T) {
	for n := minRing; n <= 1<<20; n += lineSize {
		checkGeometry(t, n)
	}
	checkGeometry(t, maxRing)
	for _, n := range []int{minRing + 1, minRing + 63, 100_001} {
		if geometryOf(n) != geometryOf(n&^63) {
			t.Errorf("%d bytes: an incomplete line is used", n)
		}
	}
}

func checkGeometry(t *testing.T, n int) {
	t.Helper()
	g := geometryOf(n)
	used := cellsAt + g.cells*lineSize + g.size
	longest := uint64(g.max - Inline)
	switch {
	case g.cells&(g.cells-1) != 0 || g.cells < minCells || g.cells > maxCells:
		t.Fatalf("%d bytes: %d cells", n, g.cells)
	case g.size%lineSize != 0 || used > uint64(n) || used+lineSize <= uint64(n):
		t.Fatalf("%d bytes: %d cells and %d bytes of data use %d", n, g.cells, g.size, used)
	case longest%lineSize != 0 || longest < lineSize || longest > g.size/2:
		t.Fatalf("%d bytes: longest record has %d, data area %d", n, g.max, g.size)
	case 2*longest-lineSize+g.size/4 > g.size:
		t.Fatalf("%d bytes: the longest record does not fit behind a skip and a quarter", n)
	}
	if c := chunkOf(g); c <= Inline || c > g.max {
		t.Fatalf("%d bytes: chunk of %d, longest record %d", n, c, g.max)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, mem := range map[string][]byte{
		"short":     Alloc(minRing - 1),
		"unaligned": Alloc(minRing + 8)[8:],
		"nil":       nil,
	} {
		if _, err := NewWriter(mem); err == nil {
			t.Errorf("%s: a writer", name)
		}
		if _, err := NewReader(mem); err == nil {
			t.Errorf("%s: a reader", name)
		}
	}
}

// TestEveryLength puts records of all lengths, cut at all places, through a small ring: through
// each cell, and over each end of the data area.
func TestEveryLength(t *testing.T) {
	for _, size := range []int{MinRing(), MinRing() + 192, 4096} {
		w, r := newRing(t, Alloc(size))
		b := make([]byte, w.MaxRecord())
		for n := 1; n <= len(b); n++ {
			for cut := 0; cut <= n; cut += max(1, n/64) {
				for i := range n {
					b[i] = byte(i*7 + n + cut)
				}
				if !w.Put(b[:cut], b[cut:n]) {
					t.Fatalf("ring of %d: no room for %d bytes in an empty ring", size, n)
				}
				wantRecord(t, "put", r, b[:n])
			}
		}
		wantEmpty(t, "all taken", r)
	}
}

func TestNextAgain(t *testing.T) {
	w, r := newRing(t, Alloc(4096))
	long := bytes.Repeat([]byte("x"), 500)
	w.Put([]byte("one"), nil)
	w.Put(long, nil)
	for range 3 {
		if head, rest, ok := r.Next(); !ok || string(head) != "one" || rest != nil {
			t.Fatalf("first record is %q %q %v", head, rest, ok)
		}
	}
	r.Release()
	r.Next()
	r.Next()
	wantRecord(t, "looked at twice before", r, long)
	wantEmpty(t, "both taken", r)
}

func TestPutRefusesOurBugs(t *testing.T) {
	w, _ := newRing(t, Alloc(4096))
	for _, n := range []int{0, w.MaxRecord() + 1} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("record of %d bytes: no panic", n)
				}
			}()
			w.Put(make([]byte, n), nil)
		}()
	}
}

// TestFull fills a ring until it takes no more, for each kind of record, and finds every record in
// it.
func TestFull(t *testing.T) {
	for _, n := range []int{1, Inline, Inline + 1, 200, 1000} {
		w, r := newRing(t, Alloc(16<<10))
		rec := bytes.Repeat([]byte{byte(n)}, n)
		for round := range 5 {
			put := 0
			for w.Put(rec, nil) {
				put++
			}
			g := geometryOf(16 << 10)
			least := g.cells
			if n > Inline {
				least = min(g.cells, (g.size*3/4)/lines(uint64(n-Inline))-1)
			}
			if round == 0 && uint64(put) < least {
				t.Errorf("records of %d bytes: only %d fit", n, put)
			}
			if w.Err() != nil {
				t.Fatalf("full is no error: %v", w.Err())
			}
			for range put {
				wantRecord(t, "full ring", r, rec)
			}
			wantEmpty(t, "drained", r)
		}
	}
}

// TestSequenceWraps starts just before the sequence goes from 2^32-1 to 0.
func TestSequenceWraps(t *testing.T) {
	mem := Alloc(4096)
	w, r := newRing(t, mem)
	start := uint64(1)<<32 - 20
	cells := w.mask + 1
	for i := start - cells; i < start; i++ {
		cellAt(w.cells, i&w.mask).word.Store((i+1)<<32 | 1)
	}
	w.next, w.cellLimit = start, start+cells
	w.consumed.cells.Store(start)
	r.next, r.want, r.cell, r.cellMark = start, uint32(start+1), cellAt(r.cells, start&r.mask), start+cells/4
	s := newScript(1, w.MaxRecord())
	for range 200 {
		wantEmpty(t, "before a put", r)
		rec := s.record()
		if !w.Put(rec, nil) {
			t.Fatal("no room", w.Err())
		}
		wantRecord(t, "around the wrap", r, rec)
	}
}

// TestWrite sends a stream through rings of several sizes; no byte is lost, and a long stream makes
// no crumbs.
func TestWrite(t *testing.T) {
	for _, size := range []int{MinRing(), 4096, 64 << 10, 512 << 10} {
		w, r := newRing(t, Alloc(size))
		stream := make([]byte, 5*size+123)
		for i := range stream {
			stream[i] = byte(i * 31 >> 3)
		}
		var got []byte
		records, sent := 0, 0
		for len(got) < len(stream) {
			sent += w.Write(stream[sent:])
			if !r.Ready() {
				t.Fatalf("ring of %d: nothing moves after %d of %d bytes", size, sent, len(stream))
			}
			for range 1 + records%3 {
				head, rest, ok := r.Next()
				if !ok {
					break
				}
				got = append(append(got, head...), rest...)
				records++
				r.Release()
			}
		}
		if !bytes.Equal(got, stream) {
			t.Errorf("ring of %d: the stream arrived changed", size)
		}
		if least := w.chunk / 4; len(stream)/records < least {
			t.Errorf("ring of %d: %d records of %d bytes on average, want %d at least", size, records, len(stream)/records, least)
		}
	}
}

// TestWriteShort: a stream that ends short is put whole, however short.
func TestWriteShort(t *testing.T) {
	w, r := newRing(t, Alloc(4096))
	for n := 1; n < 200; n++ {
		b := bytes.Repeat([]byte{byte(n)}, n)
		if got := w.Write(b); got != n {
			t.Fatalf("wrote %d of %d", got, n)
		}
		wantRecord(t, "short stream", r, b)
	}
	if w.Write(nil) != 0 {
		t.Error("wrote something of nothing")
	}
}

func TestErrCorruptWraps(t *testing.T) {
	mem := Alloc(4096)
	w, r := newRing(t, mem)
	w.Put([]byte("x"), nil)
	cellAt(w.cells, 0).word.Store(1<<32 | 0xffff)
	if !r.Ready() {
		t.Error("an impossible record is not ready: nobody would look at it")
	}
	if _, _, ok := r.Next(); ok || !errors.Is(r.Err(), ErrCorrupt) {
		t.Errorf("impossible length: record %v, error %v", ok, r.Err())
	}
	consumedOf(mem).cells.Store(2)
	if w.Block() || !errors.Is(w.Err(), ErrCorrupt) {
		t.Errorf("more consumed than put: error %v", w.Err())
	}
	if w.Put([]byte("y"), nil) || w.Write([]byte("y")) != 0 {
		t.Error("a broken ring takes records")
	}
	cellAt(w.cells, 0).word.Store(1<<32 | 1)
	if _, _, ok := r.Next(); ok || r.Ready() {
		t.Error("a broken ring shows records")
	}
}

// TestExpect: cells that are asked for ahead of their records, at the end of the ring and with
// records in them, stay as they are.
func TestExpect(t *testing.T) {
	mem := Alloc(minRing)
	w, err := NewWriter(mem)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(mem)
	if err != nil {
		t.Fatal(err)
	}
	put, taken := byte(0), byte(0)
	for range 50 {
		for w.Put([]byte{put, put + 1}, nil) {
			put++
			w.Expect()
		}
		if put == taken {
			t.Fatal("no room in an empty ring")
		}
		for ; taken != put; taken++ {
			wantRecord(t, "after Expect", r, []byte{taken, taken + 1})
		}
		wantEmpty(t, "after Expect", r)
	}
}
