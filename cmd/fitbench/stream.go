//go:build linux

package main

import "github.com/fitmpi/fitmpi/mpi"

// bw measures the bandwidth from rank 0 to rank 1 with many messages on their way.
func bw(e *env) error {
	return e.streams(20, (*stream).oneWay, "bandwidth", "MB/s", bandwidth)
}

// bibw measures the bandwidth of both directions together.
func bibw(e *env) error {
	return e.streams(20, (*stream).bothWays, "bandwidth", "MB/s", func(s *stream, ns float64) float64 {
		return 2 * bandwidth(s, ns)
	})
}

// rate measures how many messages a second go from rank 0 to rank 1. The windows are as many as
// single messages are repeated elsewhere: of fewer most are of the first milliseconds, in which a
// program's heap grows for the first time.
func rate(e *env) error {
	return e.streams(1, (*stream).oneWay, "rate", "1/s", func(s *stream, ns float64) float64 {
		return float64(s.window) / (ns / 1e9)
	})
}

// bandwidth is that of a window that took ns nanoseconds, in MB/s, which are bytes per
// microsecond.
func bandwidth(s *stream, ns float64) float64 {
	return float64(s.window) * float64(len(s.out)) / (ns / 1e3)
}

// streams measures a way to move a window of messages, for every size, as often as one message is
// repeated divided by share; figure makes of the nanoseconds that a window took what is reported.
func (e *env) streams(share int, move func(s *stream) error, measure, unit string, figure func(s *stream, ns float64) float64) error {
	for _, size := range e.sizes() {
		s := newStream(e, size)
		n, warmup := e.series(size, share)
		ns, err := e.repeat(n, warmup, func() error { return move(s) })
		if err != nil {
			return err
		}
		e.report("", size, measure, unit, each(ns, func(ns float64) float64 { return figure(s, ns) }))
	}
	return nil
}

// stream is what one rank needs to move windows of messages of one size.
type stream struct {
	*env
	window  int
	out, in []byte // of every message of the window
	ack     [1]byte
	reqs    []*mpi.Request
	_       [apart]byte // the next one may be another rank's
}

func newStream(e *env, size int) *stream {
	window := e.opt.window
	switch {
	case window > 0:
	case size < 1<<20:
		window = 64
	default:
		window = 16
	}
	return &stream{env: e, window: window, out: buffer(size), in: buffer(size), reqs: make([]*mpi.Request, 0, 2*window)}
}

// oneWay moves a window from rank 0 to rank 1, which then says that it is there.
func (s *stream) oneWay() error {
	s.reqs = s.reqs[:0]
	if s.rank == 0 {
		s.isend()
	} else {
		s.irecv()
	}
	if _, err := mpi.WaitAll(s.reqs...); err != nil {
		return err
	}
	if s.rank == 0 {
		_, err := mpi.Recv(s.world, s.ack[:], 1, ackTag)
		return err
	}
	return mpi.Send(s.world, s.ack[:], 0, ackTag)
}

// bothWays moves a window each way at once. Then each says that its own is there.
func (s *stream) bothWays() error {
	s.reqs = s.reqs[:0]
	s.irecv()
	s.isend()
	if _, err := mpi.WaitAll(s.reqs...); err != nil {
		return err
	}
	return s.sync()
}

func (s *stream) isend() {
	for range s.window {
		s.reqs = append(s.reqs, mpi.Isend(s.world, s.out, s.partner(), dataTag))
	}
}

func (s *stream) irecv() {
	for range s.window {
		s.reqs = append(s.reqs, mpi.Irecv(s.world, s.in, s.partner(), dataTag))
	}
}
