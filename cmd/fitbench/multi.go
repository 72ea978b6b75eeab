//go:build linux

package main

import "github.com/fitmpi/fitmpi/mpi"

// multi measures what pingpong and pingping do, while all pairs of ranks do it: ranks 0 and 1, 2
// and 3, and so on (Multi-PingPong and Multi-PingPing of the McMPI thesis). A repetition takes as
// long as it takes the pair that is slowest in it. The last of an odd number of ranks looks on.
func multi(e *env) error {
	cases, err := choose(e, multiCases, func(c multiCase) string { return c.name })
	if err != nil {
		return err
	}
	for _, c := range cases {
		for _, size := range e.sizes() {
			if err := e.timePairs(c, size); err != nil {
				return err
			}
		}
	}
	return nil
}

// multiCase is what each pair does.
type multiCase struct {
	name, measure string
	parts         float64 // a repetition is so many times what is reported
	once          func(e *env, out, in []byte) error
}

var multiCases = []multiCase{
	{"pingpong", "half-rtt", 2, (*env).bounce},
	{"pingping", "exchange", 1, (*env).cross},
}

// timePairs measures one case with one size. Every rank of a pair measures, and rank 0 reports the
// slowest.
func (e *env) timePairs(c multiCase, size int) error {
	out, in := buffer(size), buffer(size)
	n, warmup := e.iterations(size), e.warmup(size)
	xs := make([]float64, n)
	if err := mpi.Barrier(e.world); err != nil {
		return err
	}
	if e.partner() < e.ranks {
		for i := range warmup + n {
			start := now()
			if err := c.once(e, out, in); err != nil {
				return err
			}
			if i >= warmup {
				xs[i-warmup] = micros(start) / c.parts
			}
		}
	}
	xs, err := e.slowest(xs)
	if err == nil && e.rank == 0 {
		e.report(c.name, size, c.measure, "us", xs)
	}
	return err
}
