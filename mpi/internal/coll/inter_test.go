package coll

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// sides are two groups of ranks, mixed, as a test sees them.
type sides struct {
	group [2][]int // the ranks of each
	side  []int    // of each rank
	at    []int    // its number in its group
}

func newSides(rng *rand.Rand, p, q int) sides {
	ranks := rng.Perm(p + q)
	s := sides{group: [2][]int{ranks[:p], ranks[p:]}, side: make([]int, p+q), at: make([]int, p+q)}
	for k, g := range s.group {
		for i, r := range g {
			s.side[r], s.at[r] = k, i
		}
	}
	return s
}

func (s sides) view(g Graph, rank int) Inter {
	k := s.side[rank]
	return NewInter(g, s.at[rank], s.group[k], s.group[1-k])
}

// remote is the ranks that are not in the group of rank.
func (s sides) remote(rank int) []int { return s.group[1-s.side[rank]] }

// of picks what the given ranks have.
func of[V any](all []V, ranks []int) []V {
	var picked []V
	for _, r := range ranks {
		picked = append(picked, all[r])
	}
	return picked
}

// eachSides calls f for groups of all small sizes.
func eachSides(t *testing.T, f func(rng *rand.Rand, s sides, seed uint64)) {
	for p := 1; p <= 5; p++ {
		for q := 1; q <= 5; q++ {
			seeds(t, 20, func(seed uint64) {
				rng := rand.New(rand.NewPCG(seed, 2))
				f(rng, newSides(rng, p, q), seed)
			})
		}
	}
}

// roots picks a root and says which ranks know it: from is the root's rank in its group at the
// ranks of the other group, none elsewhere.
func (s sides) roots(rng *rand.Rand) (root int, from func(rank int) int) {
	root = rng.IntN(len(s.side))
	return root, func(rank int) int {
		if s.side[rank] == s.side[root] {
			return none
		}
		return s.at[root]
	}
}

func TestInterBcast(t *testing.T) {
	smallSegments(t)
	eachSides(t, func(rng *rand.Rand, s sides, seed uint64) {
		root, from := s.roots(rng)
		n, alg := rng.IntN(300), algorithms(KindBcast)[rng.IntN(7)]
		want, buf, objects := randomBytes(rng, n), make([][]byte, len(s.side)), make([][]byte, len(s.side))
		for r := range buf {
			buf[r] = make([]byte, n)
		}
		reset := func() { copy(buf[root], want); clear(objects); objects[root] = want }
		form := formsOf(seed)
		build := func(r int, g Graph) []Step {
			x := s.view(g, r)
			switch f := from(r); {
			case f != none:
				done := x.Bcast(alg, f, form.buf(r, buf[r]))
				return with(done, s.view(after{g, done}, r).BcastObject(f, &objects[r])...)
			case r == root:
				done := x.SendTo(0, form.buf(r, buf[r]))
				return with(done, s.view(after{g, done}, r).SendObjectTo(0, &objects[r])...)
			}
			return nil
		}
		simulate(t, seed, len(s.side), build, reset, func() error {
			for r := range s.side {
				if from(r) == none {
					continue
				}
				if err := cmpErr(wantBytes(r, buf[r], want), wantBytes(r, objects[r], want)); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// Blocks go from every rank to every remote rank: what Alltoall, Allgather, Gather and Scatter are
// made of.
func TestInterBlocks(t *testing.T) {
	eachSides(t, func(rng *rand.Rand, s sides, seed uint64) {
		size := len(s.side)
		counts := make([][]int, size) // by sender and number of the receiver
		in, out, objects, got := make([][]byte, size), make([][]byte, size), make([][][]byte, size), make([][][]byte, size)
		for r := range size {
			for range s.remote(r) {
				counts[r] = append(counts[r], rng.IntN(30))
			}
			_, total := packed(counts[r])
			in[r] = randomBytes(rng, total)
		}
		expect := func(r int) (blocks [][]byte, counted []int) {
			for _, q := range s.remote(r) {
				displs, _ := packed(counts[q])
				b := block(in[q], counts[q], displs, s.at[r])
				blocks, counted = append(blocks, b), append(counted, len(b))
			}
			return blocks, counted
		}
		form := formsOf(seed)
		build := func(r int, g Graph) []Step {
			x := s.view(g, r)
			displs, _ := packed(counts[r])
			for i := range counts[r] {
				objects[r] = append(objects[r], block(in[r], counts[r], displs, i))
			}
			_, counted := expect(r)
			at, total := packed(counted)
			out[r], got[r] = make([]byte, total), make([][]byte, len(counted))
			done := with(x.Deal(form.buf(r, in[r]), counts[r], displs), x.Collect(form.buf(r, out[r]), counted, at)...)
			y := s.view(after{g, done}, r)
			return with(done, with(y.DealObject(objects[r]), y.CollectObject(got[r])...)...)
		}
		simulate(t, seed, size, build, nil, func() error {
			for r := range size {
				blocks, _ := expect(r)
				if err := cmpErr(wantBytes(r, out[r], bytes.Join(blocks, nil)), wantAll(got[r], blocks)); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func TestInterReductions(t *testing.T) {
	smallSegments(t)
	eachSides(t, func(rng *rand.Rand, s sides, seed uint64) {
		size := len(s.side)
		root, giver := s.roots(rng)
		reduceSegmentBytes = 8 * (1 + rng.IntN(20))
		alg := algorithms(KindReduce)[rng.IntN(5)]
		red := Reducer{ElemSize: 8, Combine: affine}
		// A sum of counts that blocks of both groups can have.
		n := len(s.group[0]) * len(s.group[1]) * rng.IntN(4)
		in, all, scattered, atRoot := vectors(rng, size, n), make([][]byte, size), make([][]byte, size), make([]byte, 8*n)
		counts := func(r int) []int {
			c, _ := even(len(s.group[s.side[r]]), 8*n/len(s.group[s.side[r]]))
			return c
		}
		inPlace, orig := rng.IntN(2) == 0, make([][]byte, size)
		for r := range size {
			orig[r], all[r], scattered[r] = bytes.Clone(in[r]), make([]byte, 8*n), make([]byte, counts(r)[0])
			if inPlace {
				all[r], scattered[r] = bytes.Clone(in[r]), in[r][:len(scattered[r])]
			}
		}
		reset := func() {
			for r := range size {
				copy(in[r], orig[r])
				clear(all[r])
				if inPlace {
					copy(all[r], orig[r])
				}
			}
		}
		form := formsOf(seed)
		build := func(r int, g Graph) []Step {
			x := s.view(g, r)
			own, to, from, dealt := form.buf(r, in[r]), form.buf(r, all[r]), form.buf(r, in[r]), form.buf(r, scattered[r])
			if inPlace {
				own, dealt = to, from.Part(0, len(scattered[r]))
			}
			var done []Step
			if f := giver(r); f != none {
				done = x.Reduce(alg, f, form.buf(r, in[r]), red)
			} else if r == root {
				done = x.RecvReduced(form.buf(r, atRoot), 8, 0)
			}
			done = with(done, s.view(after{g, done}, r).Allreduce(own, to, red)...)
			return with(done, s.view(after{g, done}, r).ReduceScatter(from, dealt, counts(r), red)...)
		}
		simulate(t, seed, size, build, reset, func() error {
			for r := range size {
				want := naive(t, red.Combine, of(orig, s.remote(r)))
				lo := s.at[r] * len(scattered[r])
				err := cmpErr(wantBytes(r, all[r], want), wantBytes(r, scattered[r], want[lo:lo+len(scattered[r])]))
				if r == root {
					err = cmpErr(err, wantBytes(r, atRoot, want))
				}
				if err != nil {
					return fmt.Errorf("groups %v n %d in place %v: %w", s.group, n, inPlace, err)
				}
			}
			return nil
		})
	})
}

// after is a Graph whose steps all wait for some others. A test builds one collective after the
// other so; in package mpi each has a schedule of its own.
type after struct {
	Graph
	steps []Step
}

func (a after) Send(peer int, data Buf, steps ...Step) Step {
	return a.Graph.Send(peer, data, with(a.steps, steps...)...)
}

func (a after) Recv(peer int, buf Buf, steps ...Step) Step {
	return a.Graph.Recv(peer, buf, with(a.steps, steps...)...)
}

func (a after) SendFrom(peer int, data *[]byte, steps ...Step) Step {
	return a.Graph.SendFrom(peer, data, with(a.steps, steps...)...)
}

func (a after) RecvInto(peer int, data *[]byte, steps ...Step) Step {
	return a.Graph.RecvInto(peer, data, with(a.steps, steps...)...)
}

func (a after) Do(f func() error, steps ...Step) Step {
	return a.Graph.Do(f, with(a.steps, steps...)...)
}

func (a after) Copy(dst, src []byte, steps ...Step) Step {
	return a.Graph.Copy(dst, src, with(a.steps, steps...)...)
}

func (a after) Combine(x Combination, steps ...Step) Step {
	return a.Graph.Combine(x, with(a.steps, steps...)...)
}

func TestInterReduceObjects(t *testing.T) {
	for what, build := range map[string]func(x Inter, red ObjectReducer, root int, isRoot bool, got *[]byte) []Step{
		"reduce": func(x Inter, red ObjectReducer, root int, isRoot bool, got *[]byte) []Step {
			switch {
			case root != none:
				return x.ReduceObject(root, red)
			case isRoot:
				return x.RecvObjectFrom(0, got)
			}
			return nil
		},
		"allreduce": func(x Inter, red ObjectReducer, _ int, _ bool, got *[]byte) []Step {
			return x.AllreduceObject(red, got)
		},
		"reduce-scatter": func(x Inter, red ObjectReducer, _ int, _ bool, got *[]byte) []Step {
			split := func(whole []byte, all [][]byte) error {
				for r := range all {
					all[r] = fmt.Appendf(nil, "%d:%s", r, whole)
				}
				return nil
			}
			return x.ReduceScatterObject(red, split, got)
		},
	} {
		t.Run(what, func(t *testing.T) {
			eachSides(t, func(rng *rand.Rand, s sides, seed uint64) {
				size := len(s.side)
				root, from := s.roots(rng)
				w, acc, got := words(rng, size), make([]string, size), make([][]byte, size)
				reset := func() {
					clear(got)
					for r := range acc {
						acc[r] = string(w[r])
					}
				}
				simulate(t, seed, size, func(r int, g Graph) []Step {
					return build(s.view(g, r), concat(&acc[r]), from(r), r == root, &got[r])
				}, reset, func() error {
					for r := range size {
						want := string(bytes.Join(of(w, s.remote(r)), nil))
						switch {
						case what == "reduce" && r != root:
							continue
						case what == "reduce-scatter":
							want = fmt.Sprintf("%d:%s", s.at[r], want)
						}
						if string(got[r]) != want {
							return fmt.Errorf("groups %v rank %d: got %q, want %q", s.group, r, strings.ToValidUTF8(string(got[r]), "?"), want)
						}
					}
					return nil
				})
			})
		})
	}
}
