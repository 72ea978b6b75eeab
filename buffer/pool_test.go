package buffer

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func TestClassFor(t *testing.T) {
	prev, prevSize := 0, minBlock
	for n := range 1 << 16 {
		class, size := classFor(n)
		if size < n {
			t.Fatalf("classFor(%d): size %d", n, size)
		}
		if n > minBlock && 4*(size-n) > size {
			t.Fatalf("classFor(%d): size %d wastes more than a quarter", n, size)
		}
		if class != prev && (class != prev+1 || size <= prevSize || n != prevSize+1) {
			t.Fatalf("classFor(%d) = %d, %d after %d, %d", n, class, size, prev, prevSize)
		}
		if c, s := classFor(size); c != class || s != size {
			t.Fatalf("classFor(%d) = %d, %d, not its own class %d", size, c, s, class)
		}
		prev, prevSize = class, size
	}
	if class, size := classFor(maxBlock); class != numClasses-1 || size != maxBlock {
		t.Fatalf("classFor(maxBlock) = %d, %d; want %d, %d", class, size, numClasses-1, maxBlock)
	}
}

func TestPoolBudget(t *testing.T) {
	p := NewPool(1000)
	a, ok := p.Get(512)
	if !ok || len(a) != 512 || cap(a) != 512 {
		t.Fatalf("Get(512): len %d cap %d ok %v", len(a), cap(a), ok)
	}
	if _, ok := p.Get(500); ok {
		t.Fatal("Get beyond the budget")
	}
	b, ok := p.Get(400)
	if !ok || len(b) != 400 || cap(b) != 448 {
		t.Fatalf("Get(400): len %d cap %d ok %v", len(b), cap(b), ok)
	}
	f := p.Force(700)
	if len(f) != 700 || cap(f) != 768 || p.Used() != 512+448+768 {
		t.Fatalf("Force(700): len %d cap %d, used %d", len(f), cap(f), p.Used())
	}
	if _, ok := p.Get(0); ok {
		t.Fatal("Get(0) beyond the budget")
	}
	p.Put(f[:0])
	p.Put(a[:1])
	p.Put(b)
	if p.Used() != 0 || p.HighWater() != 512+448+768 || p.Stalls() != 2 || p.Budget() != 1000 {
		t.Fatalf("used %d, high water %d, stalls %d, budget %d", p.Used(), p.HighWater(), p.Stalls(), p.Budget())
	}
}

func TestPoolOddSizes(t *testing.T) {
	p := NewPool(1 << 20)
	b, ok := p.Get(0)
	if !ok || b == nil || len(b) != 0 || cap(b) != minBlock {
		t.Fatalf("Get(0): %v %v", b, ok)
	}
	p.Put(b)
	if _, ok := p.Get(1<<20 + 1); ok {
		t.Fatal("more than the budget")
	}
	if _, ok := p.Get(maxBlock); ok {
		t.Fatal("more than any budget")
	}
	whole, ok := p.Get(1 << 20)
	if !ok {
		t.Fatal("exactly the budget was refused")
	}
	p.Put(whole)

	wantPanic(t, "negative Get", func() { p.Get(-1) })
	wantPanic(t, "negative Force", func() { p.Force(-1) })
	wantPanic(t, "negative budget", func() { NewPool(-1) })
	wantPanic(t, "foreign capacity", func() { p.Put(make([]byte, 257)) })
	wantPanic(t, "nil", func() { p.Put(nil) })
	wantPanic(t, "moved start", func() { b, _ := p.Get(300); p.Put(b[1:]) })
	wantPanic(t, "double put", func() { p := NewPool(1000); b, _ := p.Get(300); p.Put(b); p.Put(b) })
	if _, ok := NewPool(0).Get(0); ok {
		t.Fatal("an empty budget gave a block")
	}
}

func TestPoolKeepsAndDrops(t *testing.T) {
	p := NewPool(4096)
	a, _ := p.Get(1024)
	first := &a[0]
	p.Put(a)
	a, _ = p.Get(1000)
	if &a[0] != first {
		t.Fatal("a block of the class was there and was not reused")
	}
	p.Put(a)
	b, ok := p.Get(4096) // needs the room that the kept block takes
	if !ok || p.kept != 0 {
		t.Fatalf("Get of the whole budget: %v, kept %d", ok, p.kept)
	}
	p.Put(b)
	if p.kept != 4096 {
		t.Fatalf("kept %d of 4096", p.kept)
	}
}

// model of Pool: sizes only.
func TestPoolModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		budget := rapid.IntRange(0, 1<<16).Draw(t, "budget")
		p := NewPool(budget)
		type held struct {
			b    []byte
			fill byte
		}
		var out []held
		used, high, stalls := 0, 0, 0
		size := rapid.OneOf(rapid.IntRange(0, 600), rapid.IntRange(0, 1<<15))
		fill := byte(0)
		hold := func(b []byte, n int) {
			if len(b) != n {
				t.Fatalf("length %d, want %d", len(b), n)
			}
			fill++
			for i := range b {
				b[i] = fill
			}
			out = append(out, held{b, fill})
			used += cap(b)
			high = max(high, used)
		}
		t.Repeat(map[string]func(*rapid.T){
			"get": func(t *rapid.T) {
				n := size.Draw(t, "n")
				_, class := classFor(n)
				b, ok := p.Get(n)
				if ok != (used+class <= budget) {
					t.Fatalf("Get(%d) = %v with %d of %d used", n, ok, used, budget)
				}
				if ok {
					hold(b, n)
				} else {
					stalls++
				}
			},
			"force": func(t *rapid.T) {
				n := size.Draw(t, "n")
				hold(p.Force(n), n)
			},
			"put": func(t *rapid.T) {
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
				used -= cap(h.b)
				p.Put(h.b[:rapid.IntRange(0, cap(h.b)).Draw(t, "len")])
				out[i] = out[len(out)-1]
				out = out[:len(out)-1]
			},
			"": func(t *rapid.T) {
				if p.Used() != used || p.HighWater() != high || p.Stalls() != stalls {
					t.Fatalf("used %d, %d, %d; want %d, %d, %d", p.Used(), p.HighWater(), p.Stalls(), used, high, stalls)
				}
				kept := 0
				for class, stack := range p.free {
					for _, b := range stack {
						if c, s := classFor(cap(b)); c != class || s != cap(b) {
							t.Fatalf("a block of capacity %d in class %d", cap(b), class)
						}
						kept += cap(b)
					}
				}
				if kept != p.Kept() || kept > 0 && used+kept > max(budget, used) {
					t.Fatalf("kept %d, counted %d, used %d of %d", p.kept, kept, used, budget)
				}
			},
		})
	})
}

func TestPoolAllocs(t *testing.T) {
	p := NewPool(1 << 20)
	sizes := []int{1, 256, 1000, 4096, 65536, 100_000}
	blocks := make([][]byte, 0, len(sizes))
	round := func() {
		for _, n := range sizes {
			b, ok := p.Get(n)
			if !ok {
				t.Fatal("stalled")
			}
			blocks = append(blocks, b)
		}
		blocks = append(blocks, p.Force(10))
		for _, b := range blocks {
			p.Put(b)
		}
		blocks = blocks[:0]
	}
	if n := testing.AllocsPerRun(100, round); n != 0 {
		t.Fatalf("%v allocations per round", n)
	}
}

func BenchmarkPool(b *testing.B) {
	for _, n := range []int{64, 4096, 1 << 20} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := NewPool(64 << 20)
			for b.Loop() {
				blk, _ := p.Get(n)
				p.Put(blk)
			}
		})
	}
	b.Run("mixed", func(b *testing.B) {
		p := NewPool(64 << 20)
		rng := rand.New(rand.NewPCG(1, 2))
		var held [64][]byte
		i := 0
		for b.Loop() {
			slot := &held[i%64]
			if *slot != nil {
				p.Put(*slot)
			}
			*slot, _ = p.Get(rng.IntN(64 << 10))
			i++
		}
	})
}

func wantPanic(t *testing.T, why string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if recover() == nil {
			t.Errorf("%s: no panic", why)
		}
	}()
	f()
}
