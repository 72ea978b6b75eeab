package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

// solver is the method of conjugate gradients (Hestenes and Stiefel, 1952).
type solver struct {
	ctx   context.Context
	a     *distributed
	tol   float64 // wanted ‖b − A·x‖ / ‖b‖
	limit int     // iterations
	out   io.Writer

	iterations int
	products   int
	normB      float64
	residual   float64 // computed afresh
	elapsed    time.Duration
}

// solve returns this rank's part of the solution of A·x = b.
func (s *solver) solve(b []float64) (x []float64, err error) {
	if err := mpi.Barrier(s.a.world); err != nil {
		return nil, err
	}
	began := time.Now()
	defer func() { s.elapsed = time.Since(began) }()
	bb, err := s.a.dot(b, b)
	if err != nil {
		return nil, err
	}
	if bb == 0 {
		return nil, errors.New("cg: the matrix is not positive definite: it maps the known solution to 0")
	}
	s.normB = math.Sqrt(bb)
	x = make([]float64, len(b))
	last := math.Inf(1)
	for {
		r, err := s.restart(b, x)
		if err != nil || s.residual <= s.tol {
			return x, err
		}
		if !(s.residual < last/2) { // also NaN
			return nil, fmt.Errorf("cg: the residual stays at %.2g: rounding allows no better; choose a larger -tol", s.residual)
		}
		last = s.residual
		if err := s.iterate(x, r); err != nil {
			return nil, err
		}
	}
}

// restart computes the residual r = b − A·x afresh.
func (s *solver) restart(b, x []float64) (r []float64, err error) {
	r = make([]float64, len(b))
	if err := s.a.multiply(r, x); err != nil {
		return nil, err
	}
	s.products++
	for i := range r {
		r[i] = b[i] - r[i]
	}
	rr, err := s.a.dot(r, r)
	s.residual = math.Sqrt(rr) / s.normB
	return r, err
}

// iterate improves x until the residual, by the recurrence, is small enough. r is the residual of
// x.
func (s *solver) iterate(x, r []float64) error {
	p, q := append([]float64(nil), r...), make([]float64, len(r))
	rr, err := s.a.dot(r, r)
	for err == nil && math.Sqrt(rr) > s.tol*s.normB {
		if s.iterations == s.limit {
			return fmt.Errorf("cg: no solution after %d iterations: the residual is %.2g; raise -max or -tol",
				s.limit, math.Sqrt(rr)/s.normB)
		}
		if s.ctx.Err() != nil {
			return context.Cause(s.ctx)
		}
		s.iterations++
		if rr, err = s.iterateOnce(x, r, p, q, rr); err == nil {
			s.show(math.Sqrt(rr) / s.normB)
		}
	}
	return err
}

// iterateOnce is one iteration; rr is r·r before and after.
func (s *solver) iterateOnce(x, r, p, q []float64, rr float64) (float64, error) {
	if err := s.a.multiply(q, p); err != nil {
		return 0, err
	}
	s.products++
	pq, err := s.a.dot(p, q)
	if err != nil {
		return 0, err
	}
	if !(pq > 0) { // also NaN
		return 0, fmt.Errorf("cg: the matrix is not positive definite: p·Ap is %v in iteration %d", pq, s.iterations)
	}
	alpha := rr / pq
	for i := range x {
		x[i] += alpha * p[i]
		r[i] -= alpha * q[i]
	}
	next, err := s.a.dot(r, r)
	beta := next / rr
	for i := range p {
		p[i] = r[i] + beta*p[i]
	}
	return next, err
}

// show prints iterations 1, 2, 5, 10, 20, 50 and so on.
func (s *solver) show(residual float64) {
	n := s.iterations
	for n%10 == 0 {
		n /= 10
	}
	if n == 1 || n == 2 || n == 5 {
		fmt.Fprintf(s.out, "iteration %5d: residual %.3e\n", s.iterations, residual)
	}
}

// report prints the outcome. x is the solution.
func (s *solver) report(x []float64) error {
	entries, err := s.a.entries()
	if err != nil {
		return err
	}
	off := []float64{0}
	first := firstRow(s.a.world.Rank(), s.a.world.Size(), s.a.size)
	for i, v := range x {
		off[0] = max(off[0], math.Abs(v-solution(first+i)))
	}
	if err := mpi.Allreduce(s.a.world, off, off, mpi.Max); err != nil {
		return err
	}
	// A product takes 2 operations an entry; an iteration beside it two dot products and three
	// updates, 2 a row each.
	flop := 2*float64(entries)*float64(s.products) + 10*float64(s.a.size)*float64(s.iterations)
	fmt.Fprintf(s.out, "%d iterations in %v: %v per iteration, %.3g GFlop/s\n", s.iterations, round(s.elapsed),
		round(s.elapsed/time.Duration(max(s.iterations, 1))), flop/s.elapsed.Seconds()/1e9)
	fmt.Fprintf(s.out, "check: residual |b - Ax| / |b| computed afresh is %.3e, wanted %.1e\n", s.residual, s.tol)
	fmt.Fprintf(s.out, "check: largest distance of an element from the known solution is %.1e\n", off[0])
	return nil
}

// round keeps three or four digits.
func round(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 10_000 {
		unit *= 10
	}
	return d.Round(unit)
}
