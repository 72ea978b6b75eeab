//go:build linux && !fitmpi_portable

package shm

import (
	"bytes"
	"testing"
)

// TestPutHeaded: a record put with a head is the one that Put makes of the same bytes, for all
// lengths, at all places of a small ring, until it is full, and after that.
func TestPutHeaded(t *testing.T) {
	h := Head{0x0706050403020100, 0x0f0e0d0c0b0a0908, 0x1716151413121110, 0x1f1e1d1c1b1a1918}
	want := make([]byte, 0, 4096)
	for i := range byte(headLen) {
		want = append(want, i)
	}
	for _, size := range []int{MinRing(), MinRing() + 192, 4096} {
		w, r := newRing(t, Alloc(size))
		plain, reader := newRing(t, Alloc(size))
		for n := 0; headLen+n <= w.MaxRecord(); n++ {
			rec := append(want, bytes.Repeat([]byte{byte(n + 1)}, n)...)
			put := 0
			for ; plain.Put(rec, nil); put++ {
				if !w.PutHeaded(h, rec[headLen:]) {
					t.Fatalf("ring of %d: no room for record %d of %d bytes, where Put finds some", size, put, len(rec))
				}
			}
			if put == 0 || w.PutHeaded(h, rec[headLen:]) || w.Err() != nil {
				t.Fatalf("ring of %d: record %d of %d bytes: Put finds no room, PutHeaded does, or the error %v", size, put, len(rec), w.Err())
			}
			for range put {
				wantRecord(t, "headed", r, rec)
				wantRecord(t, "plain", reader, rec)
			}
			wantEmpty(t, "all taken", r)
		}
	}
}

func TestPutHeadedRefusesOurBugs(t *testing.T) {
	w, _ := newRing(t, Alloc(4096))
	defer func() {
		if recover() == nil {
			t.Error("a record longer than MaxRecord: no panic")
		}
	}()
	w.PutHeaded(Head{}, make([]byte, w.MaxRecord()-headLen+1))
}
