//go:build linux && !fitmpi_portable

package shm

import (
	"runtime"
	"testing"
)

// spin waits for a record, as a rank that has a core for itself does. On a machine with one it must
// let the other run.
func spin(r *Reader) (head, rest []byte) {
	for i := 1; !r.Ready(); i++ {
		if i%1000 == 0 {
			runtime.Gosched()
		}
	}
	head, rest, _ = r.Next()
	return head, rest
}

// BenchmarkPutTake is both sides in one goroutine: what the instructions cost, without the cache
// line's way.
func BenchmarkPutTake(b *testing.B) {
	for _, c := range []struct {
		name       string
		head, body int
	}{{"head32", 32, 0}, {"head32+8", 32, 8}, {"head32+24", 32, 24}, {"head32+200", 32, 200}} {
		b.Run(c.name, func(b *testing.B) {
			w, r := newRing(b, Alloc(512<<10))
			head, body := make([]byte, c.head), make([]byte, c.body)
			for b.Loop() {
				w.Put(head, body)
				r.Next()
				r.Release()
			}
		})
	}
}

// BenchmarkPoll is one look at a ring without a record.
func BenchmarkPoll(b *testing.B) {
	_, r := newRing(b, Alloc(512<<10))
	ready := 0
	for b.Loop() {
		if r.Ready() {
			ready++
		}
	}
	if ready != 0 {
		b.Fatal("ready")
	}
}

// BenchmarkPingPong is one way, in ns: half of a round trip of 40 bytes between two goroutines that
// spin.
func BenchmarkPingPong(b *testing.B) {
	there, here := newSides(b)
	done := make(chan struct{})
	go func() {
		defer close(done)
		w, r := there.w, there.r
		rec := make([]byte, 40)
		for {
			head, _ := spin(r)
			end := len(head) == 1
			copy(rec, head)
			r.Release()
			if end {
				return
			}
			w.Put(rec[:32], rec[32:])
		}
	}()
	rec, trips := make([]byte, 40), 0
	for b.Loop() {
		here.w.Put(rec[:32], rec[32:])
		head, _ := spin(here.r)
		copy(rec, head)
		here.r.Release()
		trips++
	}
	b.StopTimer()
	here.w.Put(rec[:1], nil)
	<-done
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(2*trips), "ns/one-way")
}

type side struct {
	w *Writer
	r *Reader
}

// newSides is a ring each way.
func newSides(b *testing.B) (x, y side) {
	x.w, y.r = newRing(b, Alloc(512<<10))
	y.w, x.r = newRing(b, Alloc(512<<10))
	return x, y
}

// stream sends records of head and body bytes from one goroutine to another, which copies them out.
func stream(b *testing.B, head, body int) {
	w, r := newRing(b, Alloc(512<<10))
	done := make(chan struct{})
	go func() {
		defer close(done)
		into := make([]byte, head+body)
		for {
			h, rest := spin(r)
			end := len(h) == 1
			copy(into[copy(into, h):], rest)
			r.Release()
			if end {
				return
			}
		}
	}()
	x, y := make([]byte, head), make([]byte, body)
	b.SetBytes(int64(head + body))
	put := func(x, y []byte) {
		for i := 1; !w.Put(x, y); i++ {
			if i%1000 == 0 {
				runtime.Gosched()
			}
		}
	}
	for b.Loop() {
		put(x, y)
	}
	put(x[:1], nil)
	<-done
}

func BenchmarkRate40(b *testing.B)       { stream(b, 32, 8) }
func BenchmarkBandwidth4K(b *testing.B)  { stream(b, 32, 4096) }
func BenchmarkBandwidth16K(b *testing.B) { stream(b, 32, 16384) }

// BenchmarkWrite256K is a long payload through the ring: Write on one side, copies out of it on the
// other.
func BenchmarkWrite256K(b *testing.B) {
	w, r := newRing(b, Alloc(512<<10))
	payload := make([]byte, 256<<10)
	b.SetBytes(int64(len(payload)))
	done := make(chan struct{})
	go func() {
		defer close(done)
		into := make([]byte, len(payload))
		for at := 0; ; at %= len(into) {
			head, rest := spin(r)
			if len(head) == 1 {
				r.Release()
				return
			}
			at += copy(into[at:], head)
			at += copy(into[at:], rest)
			r.Release()
		}
	}()
	for b.Loop() {
		for i, sent := 1, 0; sent < len(payload); i++ {
			sent += w.Write(payload[sent:])
			if i%1000 == 0 {
				runtime.Gosched()
			}
		}
	}
	for !w.Put(payload[:1], nil) {
		runtime.Gosched()
	}
	<-done
}
