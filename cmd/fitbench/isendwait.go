//go:build linux

package main

import (
	"runtime"
	"time"

	"github.com/fitmpi/fitmpi/internal/bench"
	"github.com/fitmpi/fitmpi/mpi"
)

// isendWait measures what is left of a message for Wait when both ranks computed
// longer than the message takes, and what the message took from the computation
// (table 1 of the FiTMPI paper).
func isendWait(e *env) error {
	if _, err := e.cases(); err != nil || e.rank > 1 {
		return err
	}
	for _, size := range e.sizes() {
		s := isendWaiter{e: e, size: size, out: buffer(size), in: buffer(size)}
		runtime.GC() // now rather than in a repetition
		if err := s.measure(); err != nil {
			return err
		}
	}
	return nil
}

// isendWaiter is one rank, with messages of one size.
type isendWaiter struct {
	e       *env
	size    int
	out, in []byte
	work    chain

	post, wait, kept []float64
}

func (s *isendWaiter) measure() error {
	long, err := s.longer()
	if err != nil {
		return err
	}
	n, warmup := s.e.few(20)
	s.post, s.wait, s.kept = make([]float64, 0, n), make([]float64, 0, n), make([]float64, 0, n)
	for i := range warmup + n {
		if i == warmup {
			s.post, s.wait, s.kept = s.post[:0], s.wait[:0], s.kept[:0]
		}
		if err := s.e.sync(); err != nil {
			return err
		}
		if err := s.once(long); err != nil {
			return err
		}
	}
	return s.report()
}

// longer is how long to compute: longer than the message takes.
func (s *isendWaiter) longer() (time.Duration, error) {
	const shortest = 2 * time.Millisecond
	xs, err := repeat(10, 0, func() error { return nil }, func() (float64, error) {
		start := now()
		err := s.e.bounce(s.out, s.in)
		return float64(now()-start) / 2, err
	})
	if err != nil {
		return 0, err
	}
	long := max(2*bench.Summarise(xs, false).Sextile1, float64(shortest))
	long, err = s.e.tell(long)
	return time.Duration(long), err
}

// once is one repetition.
func (s *isendWaiter) once(long time.Duration) error {
	start := now()
	r := s.start()
	posted := micros(start)
	took := s.work.spend(long)
	start = now()
	_, err := r.Wait()
	s.wait = append(s.wait, micros(start))
	s.post = append(s.post, posted)
	s.kept = append(s.kept, 100*float64(long)/float64(took))
	return err
}

// start starts the message: rank 0 sends, rank 1 receives.
func (s *isendWaiter) start() *mpi.Request {
	if s.e.rank == 0 {
		return mpi.Isend(s.e.world, s.out, 1, dataTag)
	}
	return mpi.Irecv(s.e.world, s.in, 0, dataTag)
}

func (s *isendWaiter) report() error {
	for rank, names := range [][3]string{{"isend", "wait-send", "kept-send"}, {"irecv", "wait-recv", "kept-recv"}} {
		for i, xs := range [][]float64{s.post, s.wait, s.kept} {
			unit := "us"
			if i == 2 {
				unit = "%"
			}
			if err := s.e.reportOf(rank, "", s.size, names[i], unit, xs); err != nil {
				return err
			}
		}
	}
	return nil
}
