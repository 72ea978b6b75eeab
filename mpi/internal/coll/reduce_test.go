package coll

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// reduction is one collective of this family as the tests see it.
type reduction struct {
	kind  Kind
	build func(g Graph, alg Algorithm, rank, size, root int, in, out Buf, red Reducer) []Step
	// want gives the result of a rank, nil if it has none, from the operands in order.
	want func(t *testing.T, op func(acc, in []byte) error, rank, root int, in [][]byte) []byte
}

var reductions = []reduction{
	{KindReduce,
		func(g Graph, alg Algorithm, rank, size, root int, in, out Buf, red Reducer) []Step {
			return Reduce(g, alg, rank, size, root, in, out, red)
		},
		func(t *testing.T, op func(acc, in []byte) error, rank, root int, in [][]byte) []byte {
			if rank != root {
				return nil
			}
			return naive(t, op, in)
		}},
	{KindAllreduce,
		func(g Graph, alg Algorithm, rank, size, _ int, in, out Buf, red Reducer) []Step {
			return Allreduce(g, alg, rank, size, in, out, red)
		},
		func(t *testing.T, op func(acc, in []byte) error, _, _ int, in [][]byte) []byte {
			return naive(t, op, in)
		}},
	{KindScan,
		func(g Graph, alg Algorithm, rank, size, _ int, in, out Buf, red Reducer) []Step {
			return Scan(g, alg, rank, size, in, out, red)
		},
		func(t *testing.T, op func(acc, in []byte) error, rank, _ int, in [][]byte) []byte {
			return naive(t, op, in[:rank+1])
		}},
	{KindExscan,
		func(g Graph, alg Algorithm, rank, size, _ int, in, out Buf, red Reducer) []Step {
			return Exscan(g, alg, rank, size, in, out, red)
		},
		func(t *testing.T, op func(acc, in []byte) error, rank, _ int, in [][]byte) []byte {
			if rank == 0 {
				return nil
			}
			return naive(t, op, in[:rank])
		}},
}

func TestReductions(t *testing.T) {
	smallSegments(t)
	for _, red := range reductions {
		if testLayout != nil && !red.kind.Has(TwoLevel) {
			continue // does not ask
		}
		for _, alg := range algorithms(red.kind) {
			t.Run(fmt.Sprintf("%v/%v", red.kind, alg), func(t *testing.T) {
				for _, size := range sizes() {
					for _, n := range lengths() {
						seeds(t, 1, func(seed uint64) { testReduction(t, red, alg, size, n, seed) })
					}
				}
			})
		}
	}
}

// testReduction runs one reduction with an operation that does not commute, or with one that does;
// in place or not.
func testReduction(t *testing.T, c reduction, alg Algorithm, size, n int, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 2))
	red := Reducer{ElemSize: 8, Combine: affine}
	if rng.IntN(3) == 0 {
		red = Reducer{ElemSize: 8, Combine: sum, Commutative: true}
	}
	orig, root, inPlace := vectors(rng, size, n), rng.IntN(size), rng.IntN(2) == 0
	reduceSegmentBytes = 8 * (1 + rng.IntN(60))
	in, out := make([][]byte, size), make([][]byte, size)
	for r := range size {
		in[r], out[r] = make([]byte, 8*n), make([]byte, 8*n)
		if c.kind == KindReduce && r != root {
			out[r] = nil
		} else if inPlace {
			out[r] = in[r]
		}
	}
	reset := func() {
		for r := range size {
			clear(out[r])
			copy(in[r], orig[r])
		}
	}
	form := formsOf(seed)
	build := func(r int, g Graph) []Step {
		return c.build(g, alg, r, size, root, form.buf(r, in[r]), form.buf(r, out[r]), red)
	}
	simulate(t, seed, size, build, reset, func() error {
		for r := range size {
			want := c.want(t, red.Combine, r, root, orig)
			if want != nil {
				if err := wantBytes(r, out[r], want); err != nil {
					return fmt.Errorf("%v %v size %d n %d root %d in place %v: %w", c.kind, alg, size, n, root, inPlace, err)
				}
			}
			if (want == nil || !inPlace) && !bytes.Equal(in[r], orig[r]) {
				return fmt.Errorf("%v %v size %d n %d: in of rank %d changed", c.kind, alg, size, n, r)
			}
		}
		return nil
	})
}

// All ranks of Allreduce hold the same bits, and Reduce gives them at every root, in every run,
// even if the operation is not quite associative, as with floating point. MPI 4.1, 6.9.1: "the same
// result be obtained whenever the function is applied on the same arguments, appearing in the same
// order".
func TestSameBits(t *testing.T) {
	smallSegments(t)
	const n = 19
	for _, commutative := range []bool{false, true} {
		red := Reducer{ElemSize: 8, Combine: shape, Commutative: commutative}
		for _, size := range sizes() {
			orig := vectors(rand.New(rand.NewPCG(uint64(size), 3)), size, n)
			for _, c := range reductions[:2] {
				for _, alg := range c.kind.Algorithms() {
					var want []byte
					for root := range size {
						seeds(t, 1, func(seed uint64) { want = sameBits(t, c, alg, root, orig, red, want, seed) })
					}
				}
			}
		}
	}
}

// sameBits runs c once and returns its result, which must be want if that is not nil. One root in
// two works in place.
func sameBits(t *testing.T, c reduction, alg Algorithm, root int, orig [][]byte, red Reducer, want []byte, seed uint64) []byte {
	size := len(orig)
	in, out := make([][]byte, size), make([][]byte, size)
	for r := range size {
		in[r] = bytes.Clone(orig[r])
		out[r] = in[r]
		if root%2 == 0 {
			out[r] = make([]byte, len(in[r]))
		}
	}
	reset := func() {
		for r := range size {
			copy(in[r], orig[r])
		}
	}
	form := formsOf(seed)
	build := func(r int, g Graph) []Step {
		return c.build(g, alg, r, size, root, form.buf(r, in[r]), form.buf(r, out[r]), red)
	}
	simulate(t, seed, size, build, reset, func() error {
		for r := range size {
			if c.kind == KindReduce && r != root {
				continue
			}
			if want == nil {
				want = bytes.Clone(out[r])
			}
			if err := wantBytes(r, out[r], want); err != nil {
				return fmt.Errorf("%v %v size %d root %d: %w", c.kind, alg, size, root, err)
			}
		}
		return nil
	})
	return want
}

// Every rank gets the same bits in every run of every reduction: what differs between ranks by
// nature may not differ between runs.
func TestSameBitsEachRank(t *testing.T) {
	smallSegments(t)
	scatters := reduction{kind: KindReduceScatter, build: func(g Graph, alg Algorithm, rank, size, _ int, in, out Buf, red Reducer) []Step {
		counts := cuts(in.Len(), red.ElemSize, size)
		for r := range size {
			counts[r] = counts[r+1] - counts[r]
		}
		return ReduceScatter(g, alg, rank, size, in, out, counts[:size], red)
	}}
	for _, commutative := range []bool{false, true} {
		red := Reducer{ElemSize: 8, Combine: shape, Commutative: commutative}
		for _, size := range sizes() {
			orig := vectors(rand.New(rand.NewPCG(uint64(size), 4)), size, 2*size+1)
			for _, c := range append(reductions[2:], scatters) {
				for _, alg := range c.kind.Algorithms() {
					want := make([][]byte, size)
					seeds(t, 3, func(seed uint64) { sameBitsEachRank(t, c, alg, orig, red, want, seed) })
				}
			}
		}
	}
}

// sameBitsEachRank runs c twice and compares the results with want, which the first run sets. Runs
// of even seeds are in place.
func sameBitsEachRank(t *testing.T, c reduction, alg Algorithm, orig [][]byte, red Reducer, want [][]byte, seed uint64) {
	size := len(orig)
	in, out := make([][]byte, size), make([][]byte, size)
	for r := range size {
		in[r] = bytes.Clone(orig[r])
		if out[r] = in[r]; seed%2 == 1 {
			out[r] = make([]byte, len(in[r]))
		}
	}
	reset := func() {
		for r := range size {
			copy(in[r], orig[r])
		}
	}
	form := formsOf(seed)
	build := func(r int, g Graph) []Step {
		return c.build(g, alg, r, size, 0, form.buf(r, in[r]), form.buf(r, out[r]), red)
	}
	simulate(t, seed, size, build, reset, func() error {
		for r := range size {
			got := out[r]
			switch {
			case c.kind == KindReduceScatter:
				parts := cuts(len(orig[r]), red.ElemSize, size)
				got = got[:parts[r+1]-parts[r]]
			case c.kind == KindExscan && r == 0:
				got = nil
			}
			if want[r] == nil {
				want[r] = bytes.Clone(got)
			}
			if err := wantBytes(r, got, want[r]); err != nil {
				return fmt.Errorf("%v %v size %d: %w", c.kind, alg, size, err)
			}
		}
		return nil
	})
}

func TestReduceScatter(t *testing.T) {
	smallSegments(t)
	for _, alg := range algorithms(KindReduceScatter) {
		t.Run(alg.String(), func(t *testing.T) {
			for _, size := range sizes() {
				seeds(t, 20, func(seed uint64) { testReduceScatter(t, alg, size, seed) })
			}
		})
	}
}

func testReduceScatter(t *testing.T, alg Algorithm, size int, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 2))
	red := Reducer{ElemSize: 8, Combine: affine}
	if rng.IntN(2) == 0 {
		red = Reducer{ElemSize: 8, Combine: sum, Commutative: true}
	}
	reduceSegmentBytes = 8 * (1 + rng.IntN(60))
	counts, at := make([]int, size), make([]int, size+1)
	regular := rng.IntN(3) == 0
	for r := range counts {
		if regular {
			counts[r] = 8 * int(seed%9)
		} else if rng.IntN(3) > 0 {
			counts[r] = 8 * rng.IntN(9)
		}
		at[r+1] = at[r] + counts[r]
	}
	in := vectors(rng, size, at[size]/8)
	orig, out := make([][]byte, size), make([][]byte, size)
	inPlace := rng.IntN(2) == 0
	for r := range size {
		orig[r], out[r] = bytes.Clone(in[r]), make([]byte, counts[r])
		if inPlace {
			out[r] = in[r][:counts[r]]
		}
	}
	reset := func() {
		for r := range size {
			copy(in[r], orig[r])
		}
	}
	form := formsOf(seed)
	build := func(r int, g Graph) []Step {
		from, to := form.buf(r, in[r]), form.buf(r, out[r])
		if inPlace {
			to = from.Part(0, counts[r])
		}
		if regular {
			return ReduceScatterBlock(g, alg, r, size, from, to, red)
		}
		return ReduceScatter(g, alg, r, size, from, to, counts, red)
	}
	want := naive(t, func(acc, in []byte) error { return red.Combine(acc, in) }, orig)
	simulate(t, seed, size, build, reset, func() error {
		for r := range size {
			if err := wantBytes(r, out[r], want[at[r]:at[r+1]]); err != nil {
				return fmt.Errorf("size %d counts %v in place %v: %w", size, counts, inPlace, err)
			}
		}
		return nil
	})
}
