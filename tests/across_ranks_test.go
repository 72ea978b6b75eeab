//go:build linux

package tests

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

// The programs of jobs across hosts, but for the suite.

func init() {
	programs["exchange"] = exchangeRank
	programs["rounds"] = roundsRank
	programs["crowd of hosts"] = crowdOfHostsRank
	programs["marker"] = markerRank
}

// exchangeRank: each pair of ranks sends large and small messages both ways; rank 0 tells how fast
// its own were.
func exchangeRank() {
	mpi.Main(func(_ context.Context, c *mpi.Comm) error {
		for a := range c.Size() {
			for b := range a {
				if err := exchangePair(c, a, b); err != nil {
					return err
				}
			}
		}
		return mpi.Barrier(c)
	})
}

// exchangePair is what two ranks of c say to each other, and nothing for the others.
func exchangePair(c *mpi.Comm, a, b int) error {
	if c.Rank() != a && c.Rank() != b {
		return nil
	}
	other := a + b - c.Rank()
	const rounds = 20
	began := time.Now()
	for i := range rounds {
		in := []int{0}
		if _, err := mpi.Sendrecv(c, []int{i + c.Rank()}, other, 1, in, other, 1); err != nil {
			return err
		}
		if in[0] != i+other {
			return fmt.Errorf("round %d with rank %d brings %d", i, other, in[0])
		}
	}
	short := time.Since(began) / rounds
	out, in := make([]int32, 1<<18), make([]int32, 1<<18)
	for i := range out {
		out[i] = int32(i ^ c.Rank()<<20)
	}
	began = time.Now()
	if _, err := mpi.Sendrecv(c, out, other, 2, in, other, 2); err != nil {
		return err
	}
	long := time.Since(began)
	for i := range in {
		if in[i] != int32(i^other<<20) {
			return fmt.Errorf("element %d from rank %d is %x", i, other, in[i])
		}
	}
	if c.Rank() == min(a, b) {
		fmt.Printf("%d-%d by %s: exchange of 8 bytes %v, of 1 MiB %v\n", min(a, b), max(a, b), c.Transport(other), short, long)
	}
	return nil
}

// roundsRank: messages go round, with a reduction now and then, for ever.
func roundsRank() {
	mpi.Main(func(_ context.Context, c *mpi.Comm) error {
		right, left := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
		in := make([]int, 10_000)
		for round := 0; ; round++ {
			out := slices.Repeat([]int{round}, len(in))
			if _, err := mpi.Sendrecv(c, out, right, 1, in, left, 1); err != nil {
				return err
			}
			sum := []int{0}
			if err := mpi.Allreduce(c, []int{in[len(in)-1]}, sum, mpi.Sum); err != nil {
				return err
			}
			if sum[0] != round*c.Size() {
				return fmt.Errorf("round %d: the sum is %d", round, sum[0])
			}
			if round == 3 && c.Rank() == 0 {
				fmt.Println("going")
			}
		}
	})
}

// crowdOfHostsRank: reductions of all ranks; rank 0 tells how long they took.
func crowdOfHostsRank() {
	mpi.Main(func(_ context.Context, c *mpi.Comm) error {
		began := time.Now()
		for _, n := range []int{1, 1000, 20_000} {
			sum := make([]int, n)
			if err := mpi.Allreduce(c, slices.Repeat([]int{c.Rank() + 1}, n), sum, mpi.Sum); err != nil {
				return err
			}
			if want := c.Size() * (c.Size() + 1) / 2; sum[0] != want || sum[n-1] != want {
				return fmt.Errorf("the sum of %d elements is %d and %d, want %d", n, sum[0], sum[n-1], want)
			}
		}
		if c.Rank() == 0 {
			fmt.Printf("%d ranks, three reductions in %v\n", c.Size(), time.Since(began).Round(time.Millisecond))
		}
		return nil
	})
}

// marker is what a listener on the way must not be able to read.
const marker = "here is what nobody must read"

// markerRank: the first half of the ranks sends the marker to the second half, and gets it back.
func markerRank() {
	mpi.Main(func(_ context.Context, c *mpi.Comm) error {
		other := (c.Rank() + c.Size()/2) % c.Size()
		out := []byte(strings.Repeat(marker, 1<<15))
		in := make([]byte, len(out))
		for range 3 {
			if _, err := mpi.Sendrecv(c, out, other, 1, in, other, 1); err != nil {
				return err
			}
			if string(in) != string(out) {
				return fmt.Errorf("rank %d says something else", other)
			}
		}
		return nil
	})
}
