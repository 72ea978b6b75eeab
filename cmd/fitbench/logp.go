//go:build linux

package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/bench"
	"github.com/fitmpi/fitmpi/mpi"
)

// The extended LogP model of the FiTMPI paper tells what a message costs the thread that
// computes from what it costs the machine. In the model a message of m bytes takes
//
//	os + L + or + (m-1) G
//
// of which the worker pays os and or; the computing thread pays osb to hand the message
// over and orb to get it. The parameters, each as it is measured here:
//
//   - os, or: the host's overhead to bring a message into the network, and to take it out. It is
//     measured where no other thread can do that work: on a pair of engines of policy caller,
//     beside the job. Rank 0 sends, computes until the answer of rank 1 lies in its kernel, and
//     receives it. os is its time in Send, which returns when the kernel has every byte; or is its
//     time in Recv. Up to hostMax bytes only: more do not fit into the kernel's buffers, and Send
//     would wait for the receiver.
//   - L: the latency, half a round trip of the smallest message over the same pair, less os and or.
//     Over loopback the sender's system call carries the message to the receiver's socket and goes
//     on after the receiver can see it. The overheads overlap then, and L is 0.
//   - one-way, model: half a round trip over the same pair as it is, and as the model predicts it,
//     with os, or and L of the smallest message. Where the overheads overlap the model predicts
//     more.
//   - osb, orb: the overhead of a buffered message, in mpi.Send and mpi.Recv of the job. Both ranks
//     sync; rank 0 sends; rank 1 computes until the message has arrived, and receives it. osb is
//     the time in Send: the copy to the library buffer; under assist also the system call, if the
//     worker sleeps and the caller writes for itself; under caller it is os. orb is the time in
//     Recv: the copy out of the buffer, if the worker has received the message; beyond
//     FITMPI_EAGER_MAX none is sent before its receive is posted, so orb has its transfer in it.
//   - gs, gr: the gap, the time per message of a stream of small ones, at the sender (until it may
//     reuse the memory) and at the receiver (until it has them all). Messages that leave together
//     share their overheads: gs may be less than os.
//   - G: the gap per byte, the time per byte of a stream of large messages, at the receiver.
//
// How long a rank computes is found with ping-pongs: twice the usual round trip, and at least
// hostDelay or jobDelay.

const (
	hostMax    = 64 << 10 // bytes up to which the kernel surely buffers a message
	gapWindow  = 1000     // messages of a stream that measures gs and gr
	bulkWindow = 16       // messages of a stream that measures G
	hostDelay  = 20e3     // nanoseconds in which a short message surely arrives; less than a waiting rank polls
	jobDelay   = 1e6      // nanoseconds in which the worker surely wakes and receives it
	trials     = 11       // ping-pongs that find out how long a message needs
)

// logp measures the parameters.
func logp(e *env) (err error) {
	if _, err := e.cases(); err != nil {
		return err
	}
	if e.way != "tcp" {
		return fmt.Errorf("test logp: the model is of a network, but the transport is %s: give -transport tcp", e.way)
	}
	hasCore, err := e.hasCore()
	if err != nil || e.rank > 1 {
		return err
	}
	host, err := openRaw(e, engine.Caller, hasCore)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, host.close()) }()
	sizes := slices.Sorted(slices.Values(e.sizes()))
	least, err := e.hostParameters(host, sizes)
	if err != nil {
		return err
	}
	for _, size := range sizes {
		if err := e.jobOverheads(size); err != nil {
			return err
		}
	}
	if err := e.gaps(sizes[0]); err != nil {
		return err
	}
	perByte, err := e.bulk(sizes[len(sizes)-1])
	if err != nil {
		return err
	}
	for _, size := range sizes {
		if size <= hostMax {
			e.report("", size, "model", "us", []float64{least + float64(max(size-1, 0))*perByte/1e3})
		}
	}
	return nil
}

// hostParameters measures os and or, from those of the smallest size L, and half round trips. At
// rank 0 it returns os + L + or of the smallest size, in microseconds.
func (e *env) hostParameters(host *rawEnd, sizes []int) (least float64, err error) {
	for i, size := range sizes {
		if size > hostMax {
			break
		}
		x := host.route("", size)
		both, err := e.hostOverheads(&x, size)
		if err != nil {
			return 0, err
		}
		halves, err := e.bounces(&x, e.iterations(size), e.warmup(size))
		if err != nil {
			return 0, err
		}
		if i == 0 {
			least = both + e.latency(size, halves, both)
		}
		e.report("", size, "one-way", "us", halves)
	}
	return least, nil
}

// hostOverheads reports os and or; their values' sum is returned at rank 0.
func (e *env) hostOverheads(x *route, size int) (float64, error) {
	delay, err := e.delay(x, hostDelay)
	if err != nil {
		return 0, err
	}
	n, warmup := e.series(size, 5)
	sends, recvs := make([]float64, 0, n), make([]float64, 0, n)
	for i := range warmup + n {
		send, recv, err := e.delayedBounce(x, delay)
		if err != nil {
			return 0, err
		}
		if i >= warmup {
			sends, recvs = append(sends, send), append(recvs, recv)
		}
	}
	e.report("", size, "os", "us", sends)
	e.report("", size, "or", "us", recvs)
	return value(sends) + value(recvs), nil
}

// delayedBounce is a ping-pong in which rank 0 computes before it receives, so that it need not
// wait in Recv: its times in both calls, in microseconds.
func (e *env) delayedBounce(x *route, delay int64) (send, recv float64, err error) {
	if e.rank == 1 {
		return 0, 0, x.bounce(1)
	}
	start := now()
	if err := x.send(); err != nil {
		return 0, 0, err
	}
	send = micros(start)
	busy(delay)
	start = now()
	err = x.recv()
	return send, micros(start), err
}

// busy keeps this rank as busy as a program that does not communicate, for some nanoseconds.
func busy(delay int64) {
	for end := now() + delay; now() < end; {
	}
}

// value is the value of measurements of a time, 0 without any.
func value(xs []float64) float64 { return bench.Summarise(xs, false).Sextile1 }

// delay is for how many nanoseconds a rank computes so that a message arrives meanwhile,
// or goes and comes back; the same at both ranks.
func (e *env) delay(x *route, least float64) (int64, error) {
	xs, err := e.bounces(x, trials, 1)
	if err != nil {
		return 0, err
	}
	d, err := e.tell(max(4e3*bench.Summarise(xs, false).Median, least))
	return int64(d), err
}

// jobOverheads reports osb and orb.
func (e *env) jobOverheads(size int) error {
	x := typed(e, "", buffer(size), buffer(size))
	delay, err := e.delay(&x, jobDelay)
	if err != nil {
		return err
	}
	n, warmup := e.series(size, 20)
	sends, recvs := make([]float64, 0, n), make([]float64, 0, n)
	for i := range warmup + n {
		t, err := e.late(&x, delay)
		switch {
		case err != nil:
			return err
		case i < warmup:
		case e.rank == 0:
			sends = append(sends, t)
		default:
			recvs = append(recvs, t)
		}
	}
	if recvs, err = e.gather(1, recvs); err != nil {
		return err
	}
	e.report("", size, "osb", "us", sends)
	e.report("", size, "orb", "us", recvs)
	return nil
}

// late is one message with a late receiver: the time in microseconds of this rank's call.
func (e *env) late(x *route, delay int64) (float64, error) {
	if err := e.sync(); err != nil {
		return 0, err
	}
	call := x.send
	if e.rank == 1 {
		call = x.recv
		busy(delay)
	}
	start := now()
	err := call()
	return micros(start), err
}

// latency reports L: what half round trips take beyond the overheads of both ends, at least 0. Its
// value is returned.
func (e *env) latency(size int, halves []float64, overheads float64) float64 {
	xs := make([]float64, len(halves))
	for i, half := range halves {
		xs[i] = max(half-overheads, 0)
	}
	e.report("", size, "L", "us", xs)
	return value(xs)
}

// gaps reports the time per message of a stream of small ones, at both ends.
func (e *env) gaps(size int) error {
	n, warmup := e.series(size, 50)
	out, in := buffer(size), buffer(size)
	sends, recvs := make([]float64, 0, n), make([]float64, 0, n)
	for i := range warmup + n {
		t, err := e.stream(out, in, gapWindow)
		switch {
		case err != nil:
			return err
		case i < warmup:
		case e.rank == 0:
			sends = append(sends, t/gapWindow)
		default:
			recvs = append(recvs, t/gapWindow)
		}
	}
	recvs, err := e.gather(1, recvs)
	if err != nil {
		return err
	}
	e.report("", size, "gs", "us", sends)
	e.report("", size, "gr", "us", recvs)
	return nil
}

// bulk reports the time per byte of a stream of large messages, until the receiver has them. Its
// value, in nanoseconds, is returned at rank 0.
func (e *env) bulk(size int) (float64, error) {
	n, warmup := e.series(size, 20)
	out, in := buffer(size), buffer(size)
	xs := make([]float64, 0, n)
	for i := range warmup + n {
		t, err := e.stream(out, in, bulkWindow)
		if err != nil {
			return 0, err
		}
		if i >= warmup {
			xs = append(xs, t*1e3/float64(max(bulkWindow*size, 1)))
		}
	}
	xs, err := e.gather(1, xs)
	if err != nil {
		return 0, err
	}
	e.report("", size, "G", "ns/byte", xs)
	return value(xs), nil
}

// stream sends count messages to receives that are posted, and returns the time in
// microseconds that this rank needed for its part of them.
func (e *env) stream(out, in []byte, count int) (float64, error) {
	rs := make([]*mpi.Request, 0, count)
	if e.rank == 1 {
		for range count {
			rs = append(rs, mpi.Irecv(e.world, in, 0, dataTag))
		}
	}
	if err := e.sync(); err != nil {
		return 0, err
	}
	start := now()
	if e.rank == 0 {
		for range count {
			rs = append(rs, mpi.Isend(e.world, out, 1, dataTag))
		}
	}
	_, err := mpi.WaitAll(rs...)
	return micros(start), err
}
