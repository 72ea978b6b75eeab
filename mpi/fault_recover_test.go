package mpi

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// TestRecover: ranks die at random points of mixed traffic, and of the recovery itself. A rank that
// sees an error revokes. All that live shrink and go on with the next communicator, until a whole
// round of everything works at all of them.
func TestRecover(t *testing.T) {
	seeds := uint64(25)
	if testing.Short() {
		seeds = 5
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 5))
		n := 3 + rng.IntN(4)
		dies := make([]int, n) // at the so manieth operation; never: -1
		for r := range dies {
			if dies[r] = rng.IntN(80); rng.IntN(3) == 0 {
				dies[r] = -1
			}
		}
		dies[rng.IntN(n)] = -1
		var l ledger
		err := runMortals(n, func(c *Comm) error {
			p := &patient{c: c, dies: dies[c.Rank()]}
			on := c
			for round := 0; ; round++ {
				failed := p.traffic(on)
				if failed != nil && !isFailure(failed) {
					return failed
				}
				if failed != nil {
					p.step()
					if err := on.Revoke(); err != nil {
						return err
					}
				}
				p.step()
				well, err := on.Agree(ok(failed))
				if err != nil && !errors.Is(err, ErrProcFailed) {
					return err
				}
				if err := l.note(fmt.Sprint(on.p2p, " is well"), fmt.Sprint(well, ClassOf(err))); err != nil {
					return err
				}
				if well == 1 && err == nil {
					return nil
				}
				if failed, err := on.Failed(); err != nil || failed.Rank() != Undefined {
					return fmt.Errorf("the failed are %v, %v", failed, err)
				}
				if _, err := on.AckFailed(on.Size()); err != nil {
					return err
				}
				p.step()
				if on, err = on.Shrink(); err != nil {
					return err
				}
				if err := l.note(fmt.Sprint("round ", round), fmt.Sprint(on.group, on.p2p)); err != nil {
					return err
				}
			}
		})
		if err != nil {
			t.Fatalf("seed %d, %d ranks that die at their operations %v: %v", seed, n, dies, err)
		}
	}
}

func ok(err error) int {
	if err != nil {
		return 0
	}
	return 1
}

func isFailure(err error) bool { return errors.Is(err, ErrProcFailed) || errors.Is(err, ErrRevoked) }

// patient is a rank that dies at one of its operations.
type patient struct {
	c    *Comm
	dies int // operations left; negative: it lives on
}

// step is a point at which the rank may die.
func (p *patient) step() {
	if p.dies == 0 {
		p.c.Die()
	}
	p.dies--
}

// traffic does some of everything on c, and returns the first error.
func (p *patient) traffic(c *Comm) error {
	n, r := c.Size(), c.Rank()
	right, left := (r+1)%n, (r+n-1)%n
	sum, all := []int{0}, make([]int, n)
	equal := func(what string, got, want []int) error {
		if !slices.Equal(got, want) {
			return fmt.Errorf("%s gives %v, want %v, on %v", what, got, want, c)
		}
		return nil
	}
	ramp := make([]int, n)
	for i := range ramp {
		ramp[i] = i
	}
	persistent := AllreduceInit(c, []int{1}, sum, Sum)
	for k, op := range []func() error{
		func() error { return Barrier(c) },
		func() error {
			in := make([]int, 30000)
			_, err := Sendrecv(c, make([]int, 30000), right, 1, in, left, 1)
			return err
		},
		func() error {
			if err := Allreduce(c, []int{r}, sum, Sum); err != nil {
				return err
			}
			return equal("Allreduce", sum, []int{n * (n - 1) / 2})
		},
		func() error {
			a, b := Iallgather(c, []int{r}, all), Ibarrier(c)
			runtime.Gosched()
			if _, err := WaitAll(a, b); err != nil {
				return err
			}
			return equal("Iallgather", all, ramp)
		},
		func() error {
			for range 2 {
				if err := persistent.Start(); err != nil {
					return err
				}
				if _, err := persistent.Wait(); err != nil {
					return err
				}
			}
			return equal("AllreduceInit", sum, []int{n})
		},
		func() error {
			out := make([]int, n)
			if err := Alltoall(c, ramp, out); err != nil {
				return err
			}
			return equal("Alltoall", out, slices.Repeat([]int{r}, n))
		},
		func() error {
			words := []string{""}
			if r == n-1 {
				words[0] = "word"
			}
			if err := Bcast(c, words, n-1); err != nil || words[0] != "word" {
				return errors.Join(err, equal("Bcast", []int{len(words[0])}, []int{4}))
			}
			return Gather(c, []int{r}, all, 0)
		},
		func() error {
			if err := Scan(c, []int{1}, sum, Sum); err != nil {
				return err
			}
			return equal("Scan", sum, []int{r + 1})
		},
		func() error {
			d, err := c.Dup(nil)
			if err != nil {
				return err
			}
			half, err := d.Split(r%2, -r)
			if err != nil {
				return errors.Join(err, d.Revoke())
			}
			if err := Allreduce(half, []int{1}, sum, Sum); err != nil {
				return err
			}
			return equal("Allreduce of a half", sum, []int{(n + 1 - r%2) / 2})
		},
		func() error {
			in := []int{0}
			recv, send := Irecv(c, in, AnySource, 2), Isend(c, []int{r}, right, 2)
			if _, err := WaitAll(recv, send); err != nil {
				return err
			}
			return equal("Irecv", in, []int{left})
		},
	} {
		p.step()
		if err := op(); err != nil {
			return fmt.Errorf("operation %d: %w", k, err)
		}
	}
	return nil
}
