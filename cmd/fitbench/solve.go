//go:build linux

package main

import (
	"cmp"
	"runtime"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

var solveSizes = []int{8, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20}

// workCase is an amount of work of test solve: so many times that of the size.
type workCase struct {
	name  string
	times int
}

var workCases = []workCase{{"work-1", 1}, {"work-3", 3}, {"work-9", 9}}

// workOf is how long a rank alone computes beside a message of this size, once.
func workOf(size int) time.Duration {
	for _, class := range []struct {
		upTo int
		work time.Duration
	}{
		{8, 20 * time.Microsecond}, {16 << 10, 40 * time.Microsecond}, {64 << 10, 100 * time.Microsecond}, {256 << 10, 300 * time.Microsecond},
		{1 << 20, time.Millisecond}, {4 << 20, 4 * time.Millisecond},
	} {
		if size <= class.upTo {
			return class.work
		}
	}
	return 16 * time.Millisecond
}

// solveCount is how many iterations with so much work are measured unless -iterations says: as many
// as half a second of that work holds. So it is the same for all that are measured, however slow
// they are, and no rank has to ask another one whether it goes on.
func solveCount(work time.Duration) int {
	const bound, least, most = 500 * time.Millisecond, 10, 2000
	return min(max(int(bound/work), least), most)
}

// solve measures how long an iteration takes that exchanges a message with a neighbour of the ring
// and does a fixed amount of work. Nothing holds the ranks together but the messages, and nothing
// is subtracted: what communication takes from the work, and what is left to wait for, is in it.
func solve(e *env) error {
	cases, err := choose(e, workCases, func(c workCase) string { return c.name })
	if err != nil {
		return err
	}
	for _, size := range e.sizes() {
		s := &solver{e: e, size: size, out: buffer(size), in: buffer(size)}
		for _, c := range cases {
			if err := s.measure(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// solver is one rank of the ring, with messages of one size.
type solver struct {
	e        *env
	size     int
	out, in  []byte
	requests [2]*mpi.Request
	work     chain
	steps    int // of the work of an iteration

	took, worked []float64 // an iteration, and the work in it, in microseconds
}

// measure measures with one amount of work.
func (s *solver) measure(c workCase) error {
	work := workOf(s.size) * time.Duration(c.times)
	if err := s.agree(work); err != nil {
		return err
	}
	n := cmp.Or(s.e.opt.iterations, solveCount(work))
	warmup := s.e.warmupBefore(n)
	s.took, s.worked = make([]float64, 0, n), make([]float64, 0, n)
	runtime.GC() // now rather than in an iteration
	if err := mpi.Barrier(s.e.world); err != nil {
		return err
	}
	whole, err := s.iterate(n, warmup)
	if err != nil {
		return err
	}
	return s.report(c, whole/float64(n))
}

// agree makes the work of an iteration as many steps as take so long at rank 0: every rank does as
// much as every other one, whatever its own calibration met.
func (s *solver) agree(work time.Duration) error {
	steps, err := s.e.tellAll(float64(s.e.opt.stepsOf(work)))
	s.steps = int(steps)
	return err
}

// stepsOf is how many steps the work of test solve has that takes so long: by -pace, or as
// calibrated.
func (opt *options) stepsOf(work time.Duration) int {
	if opt.pace > 0 {
		return int(int64(work) * int64(opt.pace) / int64(time.Millisecond))
	}
	return stepsOf(work)
}

// iterate does warmup + n iterations, one right after the other, and returns how many microseconds
// the last n took together.
func (s *solver) iterate(n, warmup int) (whole float64, err error) {
	last := now()
	begun := last
	for i := range warmup + n {
		if i == warmup {
			begun = last
		}
		worked, err := s.once()
		if err != nil {
			return 0, err
		}
		end := now()
		if i >= warmup {
			s.took, s.worked = append(s.took, float64(end-last)/1e3), append(s.worked, worked)
		}
		last = end
	}
	return float64(last-begun) / 1e3, nil
}

// once is one iteration. It returns the microseconds that the work in it took.
func (s *solver) once() (float64, error) {
	right, left := (s.e.rank+1)%s.e.ranks, (s.e.rank+s.e.ranks-1)%s.e.ranks
	s.requests[0] = mpi.Irecv(s.e.world, s.in, left, dataTag)
	s.requests[1] = mpi.Isend(s.e.world, s.out, right, dataTag)
	start := now()
	s.work.run(s.steps)
	worked := micros(start)
	_, err := mpi.WaitAll(s.requests[:]...)
	return worked, err
}

// report reports what rank 0 saw, and the mean of all iterations at the rank where it is longest.
func (s *solver) report(c workCase, mean float64) error {
	slowest, err := s.e.slowest([]float64{mean})
	if err != nil || s.e.rank != 0 {
		return err
	}
	s.e.report(c.name, s.size, "iteration", "us", s.took)
	s.e.report(c.name, s.size, "mean-iteration", "us", slowest)
	s.e.report(c.name, s.size, "work", "us", s.worked)
	s.e.report(c.name, s.size, "steps", "1", []float64{float64(s.steps)})
	return nil
}
