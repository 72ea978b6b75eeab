package coll

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// words gives each rank a value of its own length, empty for some.
func words(rng *rand.Rand, size int) [][]byte {
	w := make([][]byte, size)
	for r := range w {
		if rng.IntN(4) > 0 {
			w[r] = fmt.Appendf(nil, "<%d%s>", r, strings.Repeat(".", rng.IntN(20)))
		}
	}
	return w
}

func TestBcastObject(t *testing.T) {
	for _, size := range sizes() {
		seeds(t, 10, func(seed uint64) {
			rng := rand.New(rand.NewPCG(seed, 2))
			root, data := rng.IntN(size), make([][]byte, size)
			var want []byte
			build := func(r int, g Graph) []Step {
				if r != root {
					return BcastObject(g, r, size, root, &data[r])
				}
				// The value comes to be while the schedule runs.
				made := g.Do(func() error { data[r] = want; return nil })
				return BcastObject(g, r, size, root, &data[r], made)
			}
			simulate(t, seed, size, build, func() { clear(data); want = words(rng, 1)[0] }, func() error {
				for r := range size {
					if err := wantBytes(r, data[r], want); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}

func TestGatherScatterObject(t *testing.T) {
	for _, size := range sizes() {
		seeds(t, 10, func(seed uint64) {
			rng := rand.New(rand.NewPCG(seed, 2))
			root, mine, all, back := rng.IntN(size), words(rng, size), make([][]byte, size), make([][]byte, size)
			build := func(r int, g Graph) []Step {
				slots := all
				if r != root {
					slots = nil
				}
				done := GatherObject(g, r, size, root, &mine[r], slots)
				return ScatterObject(g, r, size, root, slots, &back[r], done...)
			}
			simulate(t, seed, size, build, func() { clear(all); clear(back) }, func() error {
				if err := wantAll(all, mine); err != nil {
					return err
				}
				return wantAll(back, mine)
			})
		})
	}
}

func TestAllgatherAlltoallObject(t *testing.T) {
	for _, size := range sizes() {
		seeds(t, 10, func(seed uint64) {
			mine := words(rand.New(rand.NewPCG(seed, 2)), size)
			all, out := make([][][]byte, size), make([][][]byte, size)
			for r := range size {
				all[r], out[r] = make([][]byte, size), make([][]byte, size)
			}
			build := func(r int, g Graph) []Step {
				done := AllgatherObject(g, r, size, &mine[r], all[r])
				return AlltoallObject(g, r, size, all[r], out[r], done...)
			}
			simulate(t, seed, size, build, nil, func() error {
				for r := range size {
					if err := wantAll(all[r], mine); err != nil {
						return err
					}
					for q := range size {
						if err := wantBytes(r, out[r][q], mine[r]); err != nil { // what q has for r is all[q][r]
							return err
						}
					}
				}
				return nil
			})
		})
	}
}

// concat is the operation of strings under which the order of ranks shows.
func concat(acc *string) ObjectReducer {
	return ObjectReducer{
		Encode:        func() ([]byte, error) { return []byte(*acc), nil },
		CombineHigher: func(in []byte) error { *acc += string(in); return nil },
		CombineLower:  func(in []byte) error { *acc = string(in) + *acc; return nil },
		Set:           func(in []byte) error { *acc = string(in); return nil },
	}
}

func TestReduceScatterObject(t *testing.T) {
	for _, size := range sizes() {
		seeds(t, 10, func(seed uint64) {
			rng := rand.New(rand.NewPCG(seed, 2))
			w, acc, mine := words(rng, size), make([]string, size), make([][]byte, size)
			reset := func() {
				clear(mine)
				for r := range acc {
					acc[r] = string(w[r])
				}
			}
			build := func(r int, g Graph) []Step {
				split := func(all [][]byte) error {
					for q := range all {
						all[q] = fmt.Appendf(nil, "%d:%s", q, acc[r])
					}
					return nil
				}
				return ReduceScatterObject(g, r, size, concat(&acc[r]), split, &mine[r])
			}
			all := string(bytes.Join(w, nil))
			simulate(t, seed, size, build, reset, func() error {
				for r := range size {
					if err := wantBytes(r, mine[r], fmt.Appendf(nil, "%d:%s", r, all)); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}

func TestReduceObjects(t *testing.T) {
	join := func(w [][]byte) string {
		var s strings.Builder
		for _, b := range w {
			s.Write(b)
		}
		return s.String()
	}
	for name, c := range map[string]struct {
		build func(g Graph, rank, size, root int, red ObjectReducer) []Step
		want  func(rank, root int, w [][]byte) string // "?" where it does not matter
	}{
		"reduce": {
			func(g Graph, rank, size, root int, red ObjectReducer) []Step {
				return ReduceObject(g, rank, size, root, red)
			},
			func(rank, root int, w [][]byte) string {
				if rank != root {
					return "?"
				}
				return join(w)
			}},
		"allreduce": {
			func(g Graph, rank, size, _ int, red ObjectReducer) []Step {
				return AllreduceObject(g, rank, size, red)
			},
			func(_, _ int, w [][]byte) string { return join(w) }},
		"scan": {
			func(g Graph, rank, size, _ int, red ObjectReducer) []Step { return ScanObject(g, rank, size, red) },
			func(rank, _ int, w [][]byte) string { return join(w[:rank+1]) }},
		"exscan": {
			func(g Graph, rank, size, _ int, red ObjectReducer) []Step {
				return ExscanObject(g, rank, size, red)
			},
			func(rank, _ int, w [][]byte) string {
				if rank == 0 {
					return string(w[0])
				}
				return join(w[:rank])
			}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range sizes() {
				seeds(t, 10, func(seed uint64) {
					rng := rand.New(rand.NewPCG(seed, 2))
					w, acc, root := words(rng, size), make([]string, size), rng.IntN(size)
					reset := func() {
						for r := range acc {
							acc[r] = string(w[r])
						}
					}
					build := func(r int, g Graph) []Step { return c.build(g, r, size, root, concat(&acc[r])) }
					simulate(t, seed, size, build, reset, func() error {
						for r := range size {
							if want := c.want(r, root, w); want != "?" && acc[r] != want {
								return fmt.Errorf("size %d root %d rank %d: got %q, want %q", size, root, r, acc[r], want)
							}
						}
						return nil
					})
				})
			}
		})
	}
}
