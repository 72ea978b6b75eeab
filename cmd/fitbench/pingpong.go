//go:build linux

package main

import "github.com/fitmpi/fitmpi/mpi"

// pingpong measures half the time in which a message goes from rank 0 to rank 1
// and one of the same size comes back. Other ranks watch.
func pingpong(e *env) error {
	if e.rank > 1 {
		return nil
	}
	for _, size := range e.sizes() {
		out, in := buffer(size), buffer(size)
		n, warmup := e.iterations(size), e.warmup(size)
		xs := make([]float64, 0, n)
		if err := e.sync(); err != nil {
			return err
		}
		for i := range warmup + n {
			start := now()
			if err := e.bounce(out, in); err != nil {
				return err
			}
			if i >= warmup {
				xs = append(xs, micros(start)/2)
			}
		}
		e.report("", size, "half-rtt", "us", xs)
	}
	return nil
}

// bounce sends out and receives in at rank 0, the other way round at rank 1.
func (e *env) bounce(out, in []byte) error {
	if e.rank == 0 {
		if err := mpi.Send(e.world, out, 1, dataTag); err != nil {
			return err
		}
		_, err := mpi.Recv(e.world, in, 1, dataTag)
		return err
	}
	if _, err := mpi.Recv(e.world, in, 0, dataTag); err != nil {
		return err
	}
	return mpi.Send(e.world, out, 0, dataTag)
}
