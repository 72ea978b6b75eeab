//go:build linux && !fitmpi_portable

package shm

import (
	"os"
	"runtime"
	"testing"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// seed varies from run to run; a failure prints it.
var seed = uint64(os.Getpid())

// stress moves records from w to r, which look at the same ring.
func stress(t *testing.T, w *Writer, r *Reader, records int) {
	t.Helper()
	t.Logf("seed %d", seed)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s, cut := newScript(seed, w.MaxRecord()), newScript(seed+1, 1)
		for range records {
			a, b := cut.split(s.record())
			for !w.Put(a, b) {
				runtime.Gosched()
			}
		}
	}()
	s := newScript(seed, w.MaxRecord())
	for range records {
		for !r.Ready() {
			runtime.Gosched()
		}
		wantRecord(t, "stress", r, s.record())
	}
	<-done
	wantEmpty(t, "after the stress", r)
	if w.Err() != nil {
		t.Error(w.Err())
	}
}

// TestStressHeap runs under the race detector too, which follows Go memory.
func TestStressHeap(t *testing.T) {
	for _, size := range []int{minRing, 4096, 64 << 10} {
		w, r := newRing(t, Alloc(size))
		stress(t, w, r, effort.Share(50_000))
	}
}

// TestStressMappings uses two mappings of one segment, at different addresses.
func TestStressMappings(t *testing.T) {
	one, f := newSegment(t, 3)
	other := openSegment(t, f)
	w, err := NewWriter(one.Ring(2, 1))
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(other.Ring(2, 1))
	if err != nil {
		t.Fatal(err)
	}
	stress(t, w, r, effort.Share(5_000))
}

func TestNoAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	w, r := newRing(t, Alloc(64<<10))
	head, body, stream := make([]byte, 32), make([]byte, 4096), make([]byte, 100<<10)
	check := func(what string, f func()) {
		if n := testing.AllocsPerRun(1000, f); n != 0 {
			t.Errorf("%s: %v allocations", what, n)
		}
	}
	take := func() {
		for r.Ready() {
			r.Next()
			r.Release()
		}
	}
	check("short", func() { w.Put(head, body[:8]); take() })
	check("long", func() { w.Put(head, body); take() })
	check("stream", func() { w.Write(stream); w.Block(); take() })
	into := make([]byte, len(cookie))
	addr, _ := ownCookie()
	if _, err := ReadProcess(os.Getpid(), into, addr); err == nil {
		check("ReadProcess", func() { ReadProcess(os.Getpid(), into, addr) })
	}
}
