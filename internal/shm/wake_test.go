//go:build linux && !fitmpi_portable

package shm

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"pgregory.net/rapid"
)

// TestNobodyWaitsForNothing is a model of waiting for room: after a Block that found none, giving
// back all records wakes the writer at least once, and then there is room for the longest record.
func TestNobodyWaitsForNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mem := Alloc(rapid.SampledFrom([]int{minRing, minRing + 320, 4096, 16 << 10}).Draw(t, "size"))
		w, _ := NewWriter(mem)
		r, _ := NewReader(mem)
		rec := make([]byte, w.MaxRecord())
		inside, woken, blocked := 0, 0, false
		release := func() {
			if _, _, ok := r.Next(); !ok {
				t.Fatalf("no record, but %d are inside", inside)
			}
			inside--
			if r.Release() {
				woken++
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				n := rapid.OneOf(rapid.IntRange(1, Inline), rapid.IntRange(1, len(rec))).Draw(t, "bytes")
				for range rapid.IntRange(1, 40).Draw(t, "times") {
					if !w.Put(rec[:n], nil) {
						break
					}
					inside++
				}
			case 1:
				for range rapid.IntRange(0, inside).Draw(t, "releases") {
					release()
				}
			case 2:
				if !w.Block() {
					blocked, woken = true, 0
				}
			}
		}
		if blocked = !w.Block(); blocked {
			woken = 0
		}
		for inside > 0 {
			release()
		}
		if blocked && woken == 0 {
			t.Fatal("all records given back, and the writer still sleeps")
		}
		if !blocked && woken != 0 && waitingOf(mem).flag.Load() != 0 {
			t.Fatal("woken, and still noted")
		}
		if !w.Block() || !w.Put(rec, nil) {
			t.Fatalf("an empty ring has no room for the longest record: %v", w.Err())
		}
	})
}

// sleeper is one side that can sleep: what Block.Armed and an eventfd are between processes.
type sleeper struct {
	armed *Block
	bell  chan struct{}
}

func newSleeper() sleeper { return sleeper{armed: NewBlock(), bell: make(chan struct{}, 1)} }

// wake is what a sender does after it has put something.
func (s sleeper) wake() {
	if s.armed.Armed.Load() != 0 && s.armed.Armed.Swap(0) != 0 {
		s.ring()
	}
}

func (s sleeper) ring() {
	select {
	case s.bell <- struct{}{}:
	default:
	}
}

// sleep returns at once if there is something to do.
func (s sleeper) sleep(ready func() bool) {
	s.armed.Armed.Store(1)
	if !ready() {
		<-s.bell
	}
	s.armed.Armed.Store(0)
}

// TestSleepingSides moves records between a reader and a writer that sleep whenever they can. If
// one were left asleep, the test would not end.
func TestSleepingSides(t *testing.T) {
	records := effort.Share(200_000)
	if raceEnabled {
		records = min(records, 20_000)
	}
	for _, size := range []int{minRing, 4096} {
		w, r := newRing(t, Alloc(size))
		reader, writer := newSleeper(), newSleeper()
		done := make(chan struct{})
		go func() {
			defer close(done)
			s := newScript(7, w.MaxRecord())
			for range records {
				rec := s.record()
				for !w.Put(rec, nil) {
					if !w.Block() {
						<-writer.bell
					}
				}
				reader.wake()
			}
		}()
		s := newScript(7, w.MaxRecord())
		for range records {
			for !r.Ready() {
				reader.sleep(r.Ready)
			}
			if wantRecord(t, "between sleepers", r, s.record()) {
				writer.ring()
			}
		}
		<-done
	}
}

// TestSleepingReaderOfHeaded: a reader that goes to sleep at the moment at which a record of
// PutHeaded comes sees that, or is seen to sleep, if the writer releases a mutex before it looks.
func TestSleepingReaderOfHeaded(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("on one processor nothing is seen late")
	}
	records := int64(effort.Share(500_000))
	if raceEnabled {
		records = min(records, 20_000)
	}
	w, r := newRing(t, Alloc(minRing))
	var armed, rung, over atomic.Bool
	var taken atomic.Int64
	done := make(chan struct{})
	go func() { // ends after the last record, or when over is set
		defer close(done)
		for i := range records {
			if armed.Store(true); !r.Ready() {
				for !rung.Load() && !over.Load() { // it sleeps
				}
			}
			armed.Store(false)
			for !r.Ready() && !over.Load() { // the bell was for another record
			}
			r.Next()
			r.Release()
			rung.Store(false)
			taken.Store(i + 1)
		}
	}()
	defer func() {
		over.Store(true)
		<-done
	}()
	var mu sync.Mutex
	for i := range records {
		for range i % 50 { // now a little earlier, now a little later
			w.Expect()
		}
		mu.Lock()
		w.PutHeaded(Head{}, nil)
		mu.Unlock()
		if armed.Load() {
			rung.Store(true)
		}
		for late := time.Now().Add(10 * time.Second); taken.Load() <= i; {
			if time.Now().After(late) {
				t.Fatalf("record %d: the reader sleeps, and the writer has not seen it", i)
			}
		}
	}
}
