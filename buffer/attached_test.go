package buffer

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func TestAttachedFillsBySum(t *testing.T) {
	// MPI 4.1, section 3.6: the sizes of the messages plus the overhead for each are enough, also
	// the second time.
	sizes := []int{0, 1, 100, 8, 1000, 0}
	total := 0
	for _, n := range sizes {
		total += n + Overhead
	}
	a := NewAttached(make([]byte, total))
	for round := range 3 {
		var blocks [][]byte
		for _, n := range sizes {
			b, ok := a.Alloc(n)
			if !ok || len(b) != n {
				t.Fatalf("round %d: Alloc(%d): %d bytes, %v", round, n, len(b), ok)
			}
			blocks = append(blocks, b)
		}
		if a.InUse() != total || a.Blocks() != len(sizes) {
			t.Fatalf("in use %d of %d, %d blocks", a.InUse(), total, a.Blocks())
		}
		if _, ok := a.Alloc(0); ok {
			t.Fatal("a full buffer gave a block")
		}
		for i := range blocks {
			a.Free(blocks[(i+round)%len(blocks)])
		}
		if a.InUse() != 0 || a.Blocks() != 0 {
			t.Fatalf("in use %d, %d blocks after all were freed", a.InUse(), a.Blocks())
		}
	}
}

func TestAttachedOdd(t *testing.T) {
	for n := range Overhead {
		if _, ok := NewAttached(make([]byte, n)).Alloc(0); ok {
			t.Fatalf("a block in a buffer of %d bytes", n)
		}
	}
	a := NewAttached(make([]byte, 1000))
	if _, ok := a.Alloc(1000); ok {
		t.Fatal("no room for the overhead")
	}
	if _, ok := a.Alloc(int(^uint(0) >> 1)); ok {
		t.Fatal("the largest int fits")
	}
	b, ok := a.Alloc(1000 - Overhead)
	if !ok {
		t.Fatal("the whole buffer does not fit")
	}
	wantPanic(t, "negative", func() { a.Alloc(-1) })
	wantPanic(t, "foreign", func() { a.Free(make([]byte, 1000)) })
	wantPanic(t, "moved start", func() { a.Free(b[1:]) })
	wantPanic(t, "nil", func() { a.Free(nil) })
	a.Free(b[:0])
	wantPanic(t, "double free", func() { a.Free(b) })
	wantPanic(t, "free in an empty buffer", func() { NewAttached(nil).Free(nil) })
}

// circular is the model implementation of MPI 4.1, section 3.6.1, literally: a queue of pending
// message entries in the order of their allocation, completed ones leaving only at its head.
type circular struct {
	size  int
	queue []*entry
}

type entry struct {
	off, size int
	done      bool
}

func (c *circular) alloc(n int) (*entry, bool) {
	for len(c.queue) > 0 && c.queue[0].done {
		c.queue = c.queue[1:]
	}
	e := &entry{size: n}
	if len(c.queue) > 0 {
		head, last := c.queue[0].off, c.queue[len(c.queue)-1]
		tail := last.off + last.size
		switch {
		case tail > head && tail+n <= c.size, tail <= head && tail+n <= head:
			e.off = tail
		case tail > head && n <= head:
			e.off = 0
		default:
			return nil, false
		}
	} else if n > c.size {
		return nil, false
	}
	c.queue = append(c.queue, e)
	return e, true
}

// TestAttachedModel checks the allocator's own invariants all the time, and MPI's promise (see
// Attached) until the first time that MPI's model runs out of space: up to there, our allocator
// must not.
func TestAttachedModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(0, 600).Draw(t, "size")
		mem := make([]byte, size)
		a := NewAttached(mem)
		model := &circular{size: size}
		promised := true
		type held struct {
			b    []byte
			fill byte
			e    *entry // nil once nothing is promised
		}
		var out []held
		inUse := 0
		fill := byte(0)
		t.Repeat(map[string]func(*rapid.T){
			"alloc": func(t *rapid.T) {
				n := rapid.IntRange(0, 120).Draw(t, "n")
				var e *entry
				if promised {
					e, promised = model.alloc(n + Overhead)
				}
				b, ok := a.Alloc(n)
				if !ok {
					if promised {
						t.Fatalf("Alloc(%d) failed where the model implementation has space", n)
					}
					if hole := largestHole(a); hole >= n+Overhead {
						t.Fatalf("Alloc(%d) failed with a hole of %d", n, hole)
					}
					return
				}
				if len(b) != n {
					t.Fatalf("Alloc(%d) gave %d", n, len(b))
				}
				fill++
				for i := range b {
					b[i] = fill
				}
				inUse += n + Overhead
				out = append(out, held{b, fill, e})
			},
			"free": func(t *rapid.T) {
				if len(out) == 0 {
					t.Skip("nothing held")
				}
				i := rapid.IntRange(0, len(out)-1).Draw(t, "i")
				h := out[i]
				for k, v := range h.b {
					if v != h.fill {
						t.Fatalf("byte %d of a held block changed", k)
					}
				}
				if h.e != nil {
					h.e.done = true
				}
				inUse -= len(h.b) + Overhead
				a.Free(h.b)
				out = append(out[:i], out[i+1:]...)
			},
			"": func(t *rapid.T) {
				if a.InUse() != inUse || a.Blocks() != len(out) || len(a.index) != len(out) {
					t.Fatalf("in use %d, blocks %d, indexed %d; want %d, %d", a.InUse(), a.Blocks(), len(a.index), inUse, len(out))
				}
				checkSpans(t, a)
			},
		})
	})
}

func walk(a *Attached, f func(s int32, sp span)) {
	first := a.tailAt
	for a.spans[first].off != 0 {
		first = a.spans[first].prev
	}
	for s := first; ; {
		f(s, a.spans[s])
		if s = a.spans[s].next; s == first {
			return
		}
	}
}

func largestHole(a *Attached) int {
	largest := 0
	walk(a, func(_ int32, sp span) {
		if !sp.used {
			largest = max(largest, sp.size)
		}
	})
	return largest
}

func checkSpans(t *rapid.T, a *Attached) {
	end, used, prevHole := 0, 0, false
	walk(a, func(s int32, sp span) {
		if sp.off != end {
			t.Fatalf("span at %d, previous one ends at %d", sp.off, end)
		}
		if prevHole && !sp.used {
			t.Fatalf("two holes meet at %d", sp.off)
		}
		if a.spans[sp.next].prev != s {
			t.Fatalf("broken links at %d", sp.off)
		}
		if s == a.tailAt && (a.tail < sp.off || a.tail > sp.off+sp.size) {
			t.Fatalf("tail %d is not in its span [%d, %d)", a.tail, sp.off, sp.off+sp.size)
		}
		if sp.used {
			used += sp.size
		}
		end, prevHole = sp.off+sp.size, !sp.used
	})
	if end != len(a.mem) || used != a.inUse {
		t.Fatalf("spans cover %d of %d, use %d of %d", end, len(a.mem), used, a.inUse)
	}
}

func TestAttachedAllocs(t *testing.T) {
	a := NewAttached(make([]byte, 1<<16))
	var blocks [][]byte
	round := func() {
		for n := range 32 {
			b, ok := a.Alloc(n * 10)
			if !ok {
				t.Fatal("full")
			}
			blocks = append(blocks, b)
		}
		for i := range blocks {
			a.Free(blocks[i*7%32])
		}
		blocks = blocks[:0]
	}
	round()
	if n := testing.AllocsPerRun(100, round); n != 0 {
		t.Fatalf("%v allocations per round", n)
	}
}

func BenchmarkAttachedFIFO(b *testing.B) {
	for _, pending := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprint(pending), func(b *testing.B) {
			a := NewAttached(make([]byte, (pending+1)*(100+Overhead)))
			var q Ring[[]byte]
			for range pending {
				blk, _ := a.Alloc(100)
				q.Push(blk)
			}
			for b.Loop() {
				a.Free(q.PopFront())
				blk, ok := a.Alloc(100)
				if !ok {
					b.Fatal("full")
				}
				q.Push(blk)
			}
		})
	}
}
