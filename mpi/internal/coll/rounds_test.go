package coll

import (
	"fmt"
	"testing"
)

// counter is a Graph that only counts.
type counter struct {
	steps int
	lent  []byte
}

func (c *counter) add() Step                           { c.steps++; return Step(c.steps - 1) }
func (c *counter) Send(int, Buf, ...Step) Step         { return c.add() }
func (c *counter) Recv(int, Buf, ...Step) Step         { return c.add() }
func (c *counter) SendFrom(int, *[]byte, ...Step) Step { return c.add() }
func (c *counter) RecvInto(int, *[]byte, ...Step) Step { return c.add() }
func (c *counter) Stream(int)                          {}
func (c *counter) Do(_ func() error, _ ...Step) Step   { return c.add() }
func (c *counter) Copy(_, _ []byte, _ ...Step) Step    { return c.add() }
func (c *counter) Combine(Combination, ...Step) Step   { return c.add() }

// plain is a Graph without Scratch.
type plain struct{ Graph }

// Scratch lends the same memory to all: nothing runs.
func (c *counter) Scratch(n int) []byte {
	if n > cap(c.lent) {
		c.lent = make([]byte, n)
	}
	return c.lent[:n]
}

// Not in place, the last result falls into out, so that nothing is copied.
func TestFoldEndsInOut(t *testing.T) {
	for size := 2; size <= 40; size++ {
		for rank := range size {
			in, out := make([]byte, 8), make([]byte, 8)
			red := Reducer{ElemSize: 8, Combine: affine}
			for name, rounds := range map[string][]round{
				"tree": treeRounds(rank, size, size/2, span{0, 8}),
				"scan": scanRounds(rank, 0, size, span{0, 8}),
			} {
				acc, _ := fold(plain{&counter{}}, red, in, out, rounds, nil)
				receives := 0
				for _, r := range rounds {
					if r.receives() {
						receives++
					}
				}
				if want := receives > 0; same(acc, out) != want || same(acc, in) == want {
					t.Errorf("%s: size %d rank %d: after %d operands, result in out: %v, in in: %v", name, size, rank, receives,
						same(acc, out), same(acc, in))
				}
			}
		}
	}
}

// What a small collective costs before anything moves.
func BenchmarkBuild(b *testing.B) {
	for _, size := range []int{2, 4, 64} {
		for _, n := range []int{8, 1 << 20} {
			b.Run(fmt.Sprintf("allreduce/ranks=%d/bytes=%d", size, n), func(b *testing.B) {
				in, out := make([]byte, n), make([]byte, n)
				red := Reducer{ElemSize: 8, Combine: affine, Commutative: true}
				var c counter
				b.ReportAllocs()
				for b.Loop() {
					c.steps = 0
					Allreduce(&c, Auto, size-1, size, Memory(in), Memory(out), red)
				}
				b.ReportMetric(float64(c.steps), "steps/op")
			})
		}
		b.Run(fmt.Sprintf("allreduce/ranks=%d/bytes=8/hosts=2", size), func(b *testing.B) {
			in, out := make([]byte, 8), make([]byte, 8)
			red := Reducer{ElemSize: 8, Combine: affine, Commutative: true}
			g := &placed{Graph: &counter{}, p: NewPlaces(blocks((size + 1) / 2)(size))}
			b.ReportAllocs()
			for b.Loop() {
				Allreduce(g, Auto, size-1, size, Memory(in), Memory(out), red)
			}
		})
		b.Run(fmt.Sprintf("barrier/ranks=%d", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Barrier(&counter{}, 0, size)
			}
		})
	}
}
