package buffer

import (
	"testing"

	"pgregory.net/rapid"
)

func TestRingModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r Ring[*int]
		var want []*int
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				for range rapid.IntRange(1, 20).Draw(t, "n") {
					v := new(int)
					r.Push(v)
					want = append(want, v)
				}
			},
			"pop": func(t *rapid.T) {
				for range min(len(want), rapid.IntRange(1, 20).Draw(t, "n")) {
					if *r.Front() != want[0] {
						t.Fatal("wrong front")
					}
					if r.PopFront() != want[0] {
						t.Fatal("popped the wrong element")
					}
					want = want[1:]
				}
			},
			"change": func(t *rapid.T) {
				if len(want) == 0 {
					t.Skip("empty")
				}
				i := rapid.IntRange(0, len(want)-1).Draw(t, "i")
				want[i] = new(int)
				*r.At(i) = want[i]
			},
			"clear": func(t *rapid.T) {
				r.Clear()
				want = nil
			},
			"": func(t *rapid.T) {
				if r.Len() != len(want) {
					t.Fatalf("length %d, want %d", r.Len(), len(want))
				}
				for i, v := range want {
					if *r.At(i) != v {
						t.Fatalf("wrong element %d", i)
					}
				}
				held := 0
				for _, v := range r.slots {
					if v != nil {
						held++
					}
				}
				if held != len(want) {
					t.Fatalf("%d slots hold something, %d elements", held, len(want))
				}
			},
		})
	})
}

func TestRingEmpty(t *testing.T) {
	var r Ring[int]
	wantPanic(t, "front of nothing", func() { r.Front() })
	wantPanic(t, "pop of nothing", func() { r.PopFront() })
	r.Push(1)
	wantPanic(t, "negative index", func() { r.At(-1) })
	wantPanic(t, "index too large", func() { r.At(1) })
}

func TestRingAllocs(t *testing.T) {
	var r Ring[[4]*int]
	round := func() {
		for range 100 {
			r.Push([4]*int{})
		}
		for r.Len() > 0 {
			r.PopFront()
		}
	}
	round()
	if n := testing.AllocsPerRun(100, round); n != 0 {
		t.Fatalf("%v allocations per round", n)
	}
}

func BenchmarkRing(b *testing.B) {
	var r Ring[[8]uint64]
	for range 10 {
		r.Push([8]uint64{})
	}
	for b.Loop() {
		r.Push([8]uint64{1})
		r.PopFront()
	}
}
