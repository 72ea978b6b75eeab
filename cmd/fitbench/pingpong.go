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

// bounce sends out and receives in at the lower rank of a pair, the other way round at the higher.
func (e *env) bounce(out, in []byte) error {
	source, tag := e.partner(), dataTag
	if e.opt.any {
		source, tag = mpi.AnySource, mpi.AnyTag
	}
	if e.rank < e.partner() {
		if err := mpi.Send(e.world, out, e.partner(), dataTag); err != nil {
			return err
		}
		_, err := mpi.Recv(e.world, in, source, tag)
		return err
	}
	if _, err := mpi.Recv(e.world, in, source, tag); err != nil {
		return err
	}
	return mpi.Send(e.world, out, e.partner(), dataTag)
}

// cross sends out and receives in at both ranks of a pair at once.
func (e *env) cross(out, in []byte) error {
	sent := mpi.Isend(e.world, out, e.partner(), dataTag)
	if _, err := mpi.Recv(e.world, in, e.partner(), dataTag); err != nil {
		return err
	}
	_, err := sent.Wait()
	return err
}

// pingping measures the time in which ranks 0 and 1 send each other a message at once.
func pingping(e *env) error {
	for _, size := range e.sizes() {
		out, in := buffer(size), buffer(size)
		ns, err := e.repeat(e.iterations(size), e.warmup(size), func() error { return e.cross(out, in) })
		if err != nil {
			return err
		}
		e.report("", size, "exchange", "us", each(ns, func(ns float64) float64 { return ns / 1e3 }))
	}
	return nil
}
