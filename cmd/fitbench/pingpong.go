//go:build linux

package main

import "github.com/fitmpi/fitmpi/mpi"

// pingpong measures half the time in which a message goes from rank 0 to rank 1
// and one of the same size comes back.
func pingpong(e *env) error {
	for _, size := range e.sizes() {
		out, in := buffer(size), buffer(size)
		ns, err := e.repeat(e.iterations(size), e.warmup(size), func() error { return e.bounce(out, in) })
		if err != nil {
			return err
		}
		kase := ""
		if e.opt.any {
			kase = "any"
		}
		e.report(kase, size, "half-rtt", "us", each(ns, func(ns float64) float64 { return ns / 2e3 }))
	}
	return nil
}

// bounce sends out and receives in at rank 0, the other way round at rank 1.
func (e *env) bounce(out, in []byte) error {
	source, tag := 1-e.rank, dataTag
	if e.opt.any {
		source, tag = mpi.AnySource, mpi.AnyTag
	}
	if e.rank == 0 {
		if err := mpi.Send(e.world, out, 1, dataTag); err != nil {
			return err
		}
		_, err := mpi.Recv(e.world, in, source, tag)
		return err
	}
	if _, err := mpi.Recv(e.world, in, source, tag); err != nil {
		return err
	}
	return mpi.Send(e.world, out, 0, dataTag)
}

// pingping measures the time in which ranks 0 and 1 send each other a message at once.
func pingping(e *env) error {
	for _, size := range e.sizes() {
		out, in := buffer(size), buffer(size)
		ns, err := e.repeat(e.iterations(size), e.warmup(size), func() error {
			sent := mpi.Isend(e.world, out, e.partner(), dataTag)
			if _, err := mpi.Recv(e.world, in, e.partner(), dataTag); err != nil {
				return err
			}
			_, err := sent.Wait()
			return err
		})
		if err != nil {
			return err
		}
		e.report("", size, "exchange", "us", each(ns, func(ns float64) float64 { return ns / 1e3 }))
	}
	return nil
}
