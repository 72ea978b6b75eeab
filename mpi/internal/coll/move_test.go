package coll

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// MPI 4.1, 6.3: "The call returns at any MPI process only after all group members have entered the
// call."
func TestBarrier(t *testing.T) {
	for _, size := range sizes() {
		seeds(t, 20, func(seed uint64) {
			entered := 0
			build := func(rank int, g Graph) []Step {
				enter := g.Do(func() error { entered++; return nil })
				done := Barrier(g, rank, size, enter)
				return []Step{g.Do(func() error {
					if entered != size {
						return fmt.Errorf("left when %d of %d had entered", entered, size)
					}
					return nil
				}, done...)}
			}
			simulate(t, seed, size, build, func() { entered = 0 }, func() error { return nil })
		})
	}
}

func TestBcast(t *testing.T) {
	smallSegments(t)
	for _, alg := range algorithms(KindBcast) {
		t.Run(alg.String(), func(t *testing.T) {
			for _, size := range sizes() {
				for _, n := range append(lengths(), 500) {
					seeds(t, 2, func(seed uint64) { testBcast(t, alg, size, n, seed) })
				}
			}
		})
	}
}

func testBcast(t *testing.T, alg Algorithm, size, n int, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 2))
	root, want := rng.IntN(size), randomBytes(rng, n)
	bufs := make([][]byte, size)
	for r := range bufs {
		bufs[r] = make([]byte, n)
	}
	reset := func() {
		for r := range bufs {
			clear(bufs[r])
		}
		copy(bufs[root], want)
	}
	form := formsOf(seed)
	build := func(r int, g Graph) []Step { return Bcast(g, alg, r, size, root, form.buf(r, bufs[r])) }
	simulate(t, seed, size, build, reset, func() error {
		for r := range size {
			if err := wantBytes(r, bufs[r], want); err != nil {
				return fmt.Errorf("size %d n %d root %d: %w", size, n, root, err)
			}
		}
		return nil
	})
}

func TestGatherScatter(t *testing.T) {
	for _, alg := range algorithms(KindGather) {
		t.Run(alg.String(), func(t *testing.T) {
			for _, size := range sizes() {
				for _, m := range []int{0, 1, 3, 8} {
					seeds(t, 3, func(seed uint64) {
						counts, displs := even(size, m)
						testGather(t, size, counts, displs, size*m, seed, func(g Graph, r, root int, in, out Buf) []Step {
							return Gather(g, alg, r, size, root, in, out)
						})
						testScatter(t, size, counts, displs, size*m, seed, func(g Graph, r, root int, in, out Buf) []Step {
							return Scatter(g, alg, r, size, root, in, out)
						})
					})
				}
			}
		})
	}
}

func TestGathervScatterv(t *testing.T) {
	for _, size := range sizes() {
		seeds(t, 20, func(seed uint64) {
			counts, displs, total := layout(rand.New(rand.NewPCG(seed, 9)), size)
			testGather(t, size, counts, displs, total, seed, func(g Graph, r, root int, in, out Buf) []Step {
				if r != root {
					return Gatherv(g, r, size, root, in, Buf{}, nil, nil)
				}
				return Gatherv(g, r, size, root, in, out, counts, displs)
			})
			testScatter(t, size, counts, displs, total, seed, func(g Graph, r, root int, in, out Buf) []Step {
				if r != root {
					return Scatterv(g, r, size, root, Buf{}, nil, nil, out)
				}
				return Scatterv(g, r, size, root, in, counts, displs, out)
			})
		})
	}
}

type rooted func(g Graph, rank, root int, in, out Buf) []Step

func testGather(t *testing.T, size int, counts, displs []int, total int, seed uint64, f rooted) {
	rng := rand.New(rand.NewPCG(seed, 2))
	root, inPlace, all := rng.IntN(size), rng.IntN(2) == 0, make([]byte, total)
	want := make([]byte, total)
	in := make([][]byte, size)
	for r := range in {
		in[r] = randomBytes(rng, counts[r])
		copy(want[displs[r]:], in[r])
	}
	own := bytes.Clone(in[root])
	if inPlace {
		in[root] = block(all, counts, displs, root)
	}
	reset, form := func() { clear(all); copy(in[root], own) }, formsOf(seed)
	build := func(r int, g Graph) []Step {
		if r != root {
			return f(g, r, root, form.buf(r, in[r]), Buf{})
		}
		return f(g, r, root, form.buf(r, in[r]), form.buf(r, all))
	}
	simulate(t, seed, size, build, reset, func() error { return wantBytes(root, all, want) })
}

func testScatter(t *testing.T, size int, counts, displs []int, total int, seed uint64, f rooted) {
	rng := rand.New(rand.NewPCG(seed, 2))
	root, inPlace, all := rng.IntN(size), rng.IntN(2) == 0, randomBytes(rng, total)
	out := make([][]byte, size)
	for r := range out {
		out[r] = make([]byte, counts[r])
	}
	if inPlace {
		out[root] = block(all, counts, displs, root)
	}
	form := formsOf(seed)
	build := func(r int, g Graph) []Step {
		if r != root {
			return f(g, r, root, Buf{}, form.buf(r, out[r]))
		}
		return f(g, r, root, form.buf(r, all), form.buf(r, out[r]))
	}
	simulate(t, seed, size, build, nil, func() error {
		for r := range size {
			if err := wantBytes(r, out[r], block(all, counts, displs, r)); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestAllgather(t *testing.T) {
	for _, alg := range algorithms(KindAllgather) {
		t.Run(alg.String(), func(t *testing.T) {
			for _, size := range sizes() {
				for _, m := range []int{0, 1, 5, 16} {
					seeds(t, 3, func(seed uint64) {
						counts, displs := even(size, m)
						testAllgather(t, size, counts, displs, size*m, seed, func(g Graph, r int, in, out Buf) []Step {
							return Allgather(g, alg, r, size, in, out)
						})
					})
				}
				seeds(t, 10, func(seed uint64) {
					counts, displs, total := layout(rand.New(rand.NewPCG(seed, 9)), size)
					testAllgather(t, size, counts, displs, total, seed, func(g Graph, r int, in, out Buf) []Step {
						return Allgatherv(g, alg, r, size, in, out, counts, displs)
					})
				})
			}
		})
	}
}

func testAllgather(t *testing.T, size int, counts, displs []int, total int, seed uint64,
	f func(g Graph, rank int, in, out Buf) []Step) {
	rng := rand.New(rand.NewPCG(seed, 2))
	inPlace, want := rng.IntN(2) == 0, make([]byte, total)
	in, out, orig := make([][]byte, size), make([][]byte, size), make([][]byte, size)
	for r := range size {
		in[r], out[r] = randomBytes(rng, counts[r]), make([]byte, total)
		orig[r] = bytes.Clone(in[r])
		copy(want[displs[r]:], in[r])
		if inPlace {
			in[r] = block(out[r], counts, displs, r)
		}
	}
	reset := func() {
		for r := range size {
			clear(out[r])
			copy(in[r], orig[r])
		}
	}
	form := formsOf(seed)
	build := func(r int, g Graph) []Step { return f(g, r, form.buf(r, in[r]), form.buf(r, out[r])) }
	simulate(t, seed, size, build, reset, func() error {
		for r := range size {
			if err := wantBytes(r, out[r], want); err != nil {
				return fmt.Errorf("counts %v displs %v in place %v: %w", counts, displs, inPlace, err)
			}
		}
		return nil
	})
}

func TestAlltoall(t *testing.T) {
	t.Run("whole", testAlltoalls)
	t.Run("pieces", func(t *testing.T) {
		smallPieces(t)
		testAlltoalls(t)
	})
}

// smallPieces makes blocks go by pieces, and exchanges in place swap them.
func smallPieces(t *testing.T) {
	piece, notch, apart := exchangePiece, notchBytes, exchangeApart
	exchangePiece, notchBytes, exchangeApart = 4, 1, 1
	t.Cleanup(func() { exchangePiece, notchBytes, exchangeApart = piece, notch, apart })
}

func testAlltoalls(t *testing.T) {
	for _, alg := range algorithms(KindAlltoall) {
		t.Run(alg.String(), func(t *testing.T) {
			for _, size := range sizes() {
				for _, m := range []int{0, 1, 5, 16} {
					seeds(t, 3, func(seed uint64) {
						in, out, want := make([][]byte, size), make([][]byte, size), make([][]byte, size)
						rng := rand.New(rand.NewPCG(seed, 2))
						for r := range size {
							in[r], out[r] = randomBytes(rng, size*m), make([]byte, size*m)
						}
						for r := range size {
							for q := range size {
								want[r] = append(want[r], in[q][r*m:(r+1)*m]...)
							}
						}
						inPlace, form := make([]bool, size), formsOf(seed)
						for r := range inPlace { // which is each rank's own affair
							inPlace[r] = rng.IntN(2) == 0
						}
						build := func(r int, g Graph) []Step {
							if inPlace[r] {
								return Alltoall(g, alg, r, size, form.buf(r, out[r]), form.buf(r, out[r]))
							}
							return Alltoall(g, alg, r, size, form.buf(r, in[r]), form.buf(r, out[r]))
						}
						reset := func() {
							for r := range size {
								clear(out[r])
								if inPlace[r] {
									copy(out[r], in[r])
								}
							}
						}
						simulate(t, seed, size, build, reset, func() error { return wantAll(out, want) })
					})
				}
			}
		})
	}
}

func wantAll(got, want [][]byte) error {
	for r := range got {
		if err := wantBytes(r, got[r], want[r]); err != nil {
			return err
		}
	}
	return nil
}

func TestAlltoallv(t *testing.T) {
	t.Run("whole", testAlltoallvs)
	t.Run("pieces", func(t *testing.T) {
		smallPieces(t)
		testAlltoallvs(t)
	})
}

func testAlltoallvs(t *testing.T) {
	for _, window := range []int{2, 3, 32} {
		old := linearWindow
		linearWindow = window
		for _, size := range sizes() {
			seeds(t, 5, func(seed uint64) { testAlltoallv(t, size, seed) })
		}
		linearWindow = old
	}
}

// In place with blocks that can be swapped, as those of MPI_IN_PLACE; beside ranks that do not work
// in place.
func TestAlltoallvSwap(t *testing.T) {
	smallPieces(t)
	old := linearWindow
	defer func() { linearWindow = old }()
	for _, linearWindow = range []int{2, 3, 32} {
		for _, size := range sizes() {
			seeds(t, 10, func(seed uint64) { testAlltoallvSwap(t, size, seed) })
		}
	}
}

func testAlltoallvSwap(t *testing.T, size int, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 2))
	lengths := make([][]int, size) // between any two ranks, the same both ways
	for r := range lengths {
		lengths[r] = make([]int, size)
		for q := range r + 1 {
			lengths[r][q] = rng.IntN(3) * rng.IntN(20)
			lengths[q][r] = lengths[r][q]
		}
	}
	counts, displs := lengths, make([][]int, size)
	in, out, want := make([][]byte, size), make([][]byte, size), make([][]byte, size)
	inPlace := make([]bool, size)
	for r := range size {
		displs[r] = make([]int, size)
		total := rng.IntN(3)
		for _, q := range rng.Perm(size) {
			displs[r][q] = total
			total += counts[r][q] + rng.IntN(3)
		}
		in[r], out[r], want[r] = randomBytes(rng, total), make([]byte, total), make([]byte, total)
		inPlace[r] = rng.IntN(3) > 0
	}
	reset := func() {
		for r := range size {
			clear(out[r])
			if inPlace[r] {
				copy(out[r], in[r])
			}
		}
	}
	for r := range size {
		if inPlace[r] {
			copy(want[r], in[r])
		}
		for q := range size {
			copy(want[r][displs[r][q]:], block(in[q], counts[q], displs[q], r))
		}
	}
	form := formsOf(seed)
	build := func(r int, g Graph) []Step {
		from := in[r]
		if inPlace[r] {
			from = out[r]
		}
		return Alltoallv(g, r, size, form.buf(r, from), counts[r], displs[r], form.buf(r, out[r]), counts[r], displs[r])
	}
	simulate(t, seed, size, build, reset, func() error { return wantAll(out, want) })
}

func testAlltoallv(t *testing.T, size int, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 2))
	sc, sd, rc, rd := make([][]int, size), make([][]int, size), make([][]int, size), make([][]int, size)
	in, out, want := make([][]byte, size), make([][]byte, size), make([][]byte, size)
	for r := range size {
		var total int
		sc[r], sd[r], total = layout(rng, size)
		in[r] = randomBytes(rng, total)
	}
	for r := range size {
		rc[r], rd[r] = make([]int, size), make([]int, size)
		total := rng.IntN(3)
		for _, q := range rng.Perm(size) {
			rc[r][q], rd[r][q] = sc[q][r], total
			total += rc[r][q] + rng.IntN(3)
		}
		out[r], want[r] = make([]byte, total), make([]byte, total)
		for q := range size {
			copy(want[r][rd[r][q]:], block(in[q], sc[q], sd[q], r))
		}
	}
	orig, inPlace := make([][]byte, size), seed%2 == 0
	for r := range size { // in place, in one slice that has room for both, with what is sent in the gaps of what comes
		orig[r] = in[r]
		if inPlace {
			n := max(len(in[r]), len(out[r]))
			in[r] = make([]byte, n)
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
		return Alltoallv(g, r, size, form.buf(r, in[r]), sc[r], sd[r], form.buf(r, out[r]), rc[r], rd[r])
	}
	simulate(t, seed, size, build, reset, func() error {
		for r := range size {
			for q := range size {
				if err := wantBytes(r, block(out[r], rc[r], rd[r], q), block(want[r], rc[r], rd[r], q)); err != nil {
					return fmt.Errorf("from rank %d, in place %v: %w", q, inPlace, err)
				}
			}
		}
		return nil
	})
}
