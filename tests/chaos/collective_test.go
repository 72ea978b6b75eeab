//go:build linux

package chaos

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fitmpi/fitmpi/mpi"
)

// collectives calls n collective operations over c, drawn from the seed of the epoch, and checks
// what they give.
func (x *exchange) collectives(c *mpi.Comm, epoch, n int) error {
	for k := range n {
		f := flow{seed: x.seed, epoch: epoch, strand: 200}
		h := mix(f.key() + uint64(k))
		size := []int{1, 7, 300, 5000, 40000}[h>>8%5]
		if err := collectiveOps[h%uint64(len(collectiveOps))](&collective{x, c, c.Rank(), c.Size(), size, h}); err != nil {
			return x.drain(err, nil)
		}
		x.collected.Add(1)
	}
	return nil
}

// collective is one call: of n elements, with values that follow from h.
type collective struct {
	x        *exchange
	c        *mpi.Comm
	me, size int
	n        int
	h        uint64
}

// value is element i of what rank r gives.
func (x *collective) value(r, i int) uint64 { return mix(x.h ^ uint64(r)<<40 ^ uint64(i)) }

// given is what rank r gives: n elements from i on.
func (x *collective) given(r, i, n int) []uint64 {
	v := make([]uint64, n)
	for k := range v {
		v[k] = x.value(r, i+k)
	}
	return v
}

// summed is the sum of what all ranks give: n elements from i on.
func (x *collective) summed(i, n int) []uint64 {
	v := make([]uint64, n)
	for k := range v {
		for r := range x.size {
			v[k] += x.value(r, i+k)
		}
	}
	return v
}

func (x *collective) want(what string, got, want []uint64) error {
	if !slices.Equal(got, want) {
		return wrongf("%s of %d elements over %d ranks gives rank %d %.100s, want %.100s", what, x.n, x.size, x.me, fmt.Sprint(got), fmt.Sprint(want))
	}
	return nil
}

func (x *collective) root() int { return int(x.h >> 16 % uint64(x.size)) }

// done gives the first error, or what check finds.
func done(err error, check func() error) error {
	if err != nil {
		return err
	}
	return check()
}

func waited(r *mpi.Request) error {
	_, err := r.Wait()
	return err
}

var collectiveOps = []func(x *collective) error{
	func(x *collective) error { return mpi.Barrier(x.c) },
	func(x *collective) error {
		out := make([]uint64, x.n)
		return done(mpi.Allreduce(x.c, x.given(x.me, 0, x.n), out, mpi.Sum), func() error { return x.want("Allreduce", out, x.summed(0, x.n)) })
	},
	func(x *collective) error {
		out := make([]uint64, x.n)
		r := mpi.Iallreduce(x.c, x.given(x.me, 0, x.n), out, mpi.Sum)
		b := mpi.Ibarrier(x.c)
		if err := waited(b); err != nil {
			return x.x.drain(err, []*mpi.Request{r})
		}
		return done(waited(r), func() error { return x.want("Iallreduce", out, x.summed(0, x.n)) })
	},
	func(x *collective) error {
		b := x.given(x.me, 0, x.n)
		return done(mpi.Bcast(x.c, b, x.root()), func() error { return x.want("Bcast", b, x.given(x.root(), 0, x.n)) })
	},
	func(x *collective) error {
		n := min(x.n, 5000)
		in, out := x.given(x.me, 0, n*x.size), make([]uint64, n*x.size)
		return done(mpi.Alltoall(x.c, in, out), func() error {
			var want []uint64
			for r := range x.size {
				want = append(want, x.given(r, n*x.me, n)...)
			}
			return x.want("Alltoall", out, want)
		})
	},
	func(x *collective) error {
		out := make([]uint64, x.n*x.size)
		return done(waited(mpi.Iallgather(x.c, x.given(x.me, 0, x.n), out)), func() error {
			var want []uint64
			for r := range x.size {
				want = append(want, x.given(r, 0, x.n)...)
			}
			return x.want("Iallgather", out, want)
		})
	},
	func(x *collective) error {
		out := make([]uint64, x.n)
		return done(mpi.ReduceScatterBlock(x.c, x.given(x.me, 0, x.n*x.size), out, mpi.Sum), func() error {
			return x.want("ReduceScatterBlock", out, x.summed(x.n*x.me, x.n))
		})
	},
	func(x *collective) error {
		in, out := []string{fmt.Sprintf("<%d.%x>", x.me, x.h)}, []string{""}
		return done(mpi.Allreduce(x.c, in, out, mpi.Sum), func() error {
			var want strings.Builder
			for r := range x.size {
				want.WriteString(fmt.Sprintf("<%d.%x>", r, x.h))
			}
			if out[0] != want.String() {
				return wrongf("Allreduce of strings gives %q, want %q", out[0], want.String())
			}
			return nil
		})
	},
}
