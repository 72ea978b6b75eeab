package topo

import (
	"fmt"
	"math"
	"slices"
)

// Dims divides n ranks among the dimensions of a grid (MPI 4.1, section 8.5.2). Positive entries of
// dims are kept, zeros are replaced, in a new slice, so that the product is n: by numbers that do
// not increase from one to the next and are as close to each other as possible. That is: the
// difference of the largest and the smallest is the least, and of several such choices the largest
// is the least, then the second, and so on.
//
// n below 1, negative entries, and entries that do not divide n are errors.
func Dims(n int, dims []int) ([]int, error) {
	if n < 1 {
		return nil, fmt.Errorf("%d ranks: need 1 or more", n)
	}
	rest, free := n, 0
	for i, d := range dims {
		switch {
		case d < 0:
			return nil, fmt.Errorf("dimension %d is %d: need 0 to have it chosen, or a positive number to keep", i, d)
		case d == 0:
			free++
		case rest%d != 0:
			return nil, fmt.Errorf("%d ranks are not a multiple of the product of the dimensions that are given, %v", n, dims)
		default:
			rest /= d
		}
	}
	if free == 0 && rest != 1 {
		return nil, fmt.Errorf("the dimensions %v are all given, and their product is not %d", dims, n)
	}
	out, chosen := slices.Clone(dims), balanced(rest, free)
	for i, d := range out {
		if d == 0 {
			out[i], chosen = chosen[0], chosen[1:]
		}
	}
	return out, nil
}

// balanced are the k factors of n that Dims wants.
func balanced(n, k int) []int {
	s := balancer{spread: math.MaxInt}
	for d := range divisors(n) {
		s.divisors = append(s.divisors, d)
	}
	slices.Sort(s.divisors)
	s.search(n, k, n)
	return s.best
}

// divisors yields the divisors of n, in no particular order.
func divisors(n int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for d := 1; d <= n/d; d++ {
			if n%d != 0 {
				continue
			}
			if !yield(d) || d != n/d && !yield(n/d) {
				return
			}
		}
	}
}

// balancer searches the products of factors that do not increase, by depth, the smaller factors
// first.
type balancer struct {
	divisors []int // of the number to divide, rising
	factors  []int // chosen so far
	best     []int
	spread   int // of best: its first less its last
}

// search completes the factors chosen so far by k more, with the product n, none above most.
// Sequences come in lexicographic order, so that the first of one spread is the one that is wanted.
func (s *balancer) search(n, k, most int) {
	if k == 0 {
		if spread := s.current(); n == 1 && spread < s.spread {
			s.best, s.spread = slices.Clone(s.factors), spread
		}
		return
	}
	for _, f := range s.divisors {
		if f > most {
			return
		}
		if n%f != 0 || !reaches(f, k, n) {
			continue // even k such factors are too few
		}
		s.factors = append(s.factors, f)
		if s.couldWin(n/f, k-1) {
			s.search(n/f, k-1, f)
		}
		s.factors = s.factors[:len(s.factors)-1]
	}
}

func (s *balancer) current() int {
	if len(s.factors) == 0 {
		return 0
	}
	return s.factors[0] - s.factors[len(s.factors)-1]
}

// couldWin says whether k more factors with the product n may give a smaller spread than the best.
// The smallest of them is their geometric mean at most. So it is too small if the k-th power of the
// smallest factor that would do is greater than n.
func (s *balancer) couldWin(n, k int) bool {
	if k == 0 || s.best == nil {
		return true
	}
	least := s.factors[0] - s.spread + 1
	return least <= 1 || !reaches(least, k, n+1)
}

// reaches says whether f to the power of k is n or more.
func reaches(f, k, n int) bool {
	p := 1
	for range k {
		if p >= n || f > 1 && p > n/f {
			return true
		}
		if f == 1 {
			break
		}
		p *= f
	}
	return p >= n
}
