//go:build linux

package main

import (
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/fitmpi/fitmpi/internal/bench"
	"github.com/fitmpi/fitmpi/mpi"
)

// partitioned measures a message whose parts are computed by several goroutines of rank
// 0: as partitions, each of which leaves when its goroutine is done with it, and beside
// that, by turns, as one send after all are done. The time is from the beginning of the
// computation until rank 0 knows that rank 1 has all.
func partitioned(e *env) error {
	if _, err := e.cases(); err != nil {
		return err
	}
	for _, size := range e.sizes() {
		if size%e.opt.partitions != 0 {
			return fmt.Errorf("test %s: size %d is not %d partitions of equal length: give other -sizes or -partitions", e.test, size, e.opt.partitions)
		}
	}
	if e.rank > 1 {
		return nil
	}
	for _, size := range e.sizes() {
		x := newPartitioner(e, size)
		runtime.GC() // now rather than in a repetition
		if err := x.measure(); err != nil {
			return err
		}
	}
	return nil
}

// partitioner is one rank, with messages of one size.
type partitioner struct {
	e     *env
	size  int
	parts int
	work  []chain // one for each goroutine
	each  time.Duration
	part  *mpi.Request
	whole *mpi.Request
}

func newPartitioner(e *env, size int) *partitioner {
	x := &partitioner{e: e, size: size, parts: e.opt.partitions, work: make([]chain, e.opt.goroutines)}
	if e.opt.goroutines == 0 {
		x.work = make([]chain, min(e.cores(), x.parts))
	}
	if e.rank == 0 {
		x.part = mpi.PsendInit(e.world, buffer(size), x.parts, 1, dataTag)
		x.whole = mpi.SendInit(e.world, buffer(size), 1, dataTag)
	} else {
		x.part = mpi.PrecvInit(e.world, buffer(size), x.parts, 0, dataTag)
		x.whole = mpi.RecvInit(e.world, buffer(size), 0, dataTag)
	}
	return x
}

func (x *partitioner) measure() error {
	if err := x.pace(); err != nil {
		return err
	}
	n, warmup := x.e.few(100)
	var parted, whole, ratio []float64
	for i := range warmup + n {
		p, err := x.once(x.part, x.inParts)
		if err != nil {
			return err
		}
		w, err := x.once(x.whole, x.asOne)
		if err != nil {
			return err
		}
		if i >= warmup {
			parted, whole, ratio = append(parted, p), append(whole, w), append(ratio, p/w)
		}
	}
	x.e.report("partitions", x.size, "time", "us", parted)
	x.e.report("one-send", x.size, "time", "us", whole)
	x.e.report("", x.size, "ratio", "1", ratio)
	return nil
}

// pace sets how long a goroutine computes for each partition: so that all of them
// compute as long as the message takes as one send, unless -compute says otherwise.
func (x *partitioner) pace() error {
	long := x.e.opt.compute
	if long < 0 {
		xs, err := repeat(20, 5, func() error { return nil }, func() (float64, error) { return x.once(x.whole, x.asOne) })
		if err != nil {
			return err
		}
		long = time.Duration(bench.Summarise(xs, false).Median * 1e3)
	}
	rounds := (x.parts + len(x.work) - 1) / len(x.work)
	x.each = long / time.Duration(rounds)
	return nil
}

// once is one repetition by way of r, which rank 0 fills and sends by send. It returns
// microseconds, at rank 0.
func (x *partitioner) once(r *mpi.Request, send func() error) (float64, error) {
	var ack [1]byte
	if x.e.rank == 1 {
		if err := r.Start(); err != nil {
			return 0, err
		}
	}
	if err := x.e.sync(); err != nil {
		return 0, err
	}
	if x.e.rank == 1 {
		if _, err := r.Wait(); err != nil {
			return 0, err
		}
		return 1, mpi.Send(x.e.world, ack[:], 0, ackTag)
	}
	start := now()
	if err := send(); err != nil {
		return 0, err
	}
	_, err := mpi.Recv(x.e.world, ack[:], 1, ackTag)
	return micros(start), err
}

// inParts makes each partition ready as soon as it is computed.
func (x *partitioner) inParts() error {
	if err := x.part.Start(); err != nil {
		return err
	}
	if err := x.compute(x.part.Pready); err != nil {
		return err
	}
	_, err := x.part.Wait()
	return err
}

// asOne sends when all is computed.
func (x *partitioner) asOne() error {
	if err := x.compute(func(int) error { return nil }); err != nil {
		return err
	}
	if err := x.whole.Start(); err != nil {
		return err
	}
	_, err := x.whole.Wait()
	return err
}

// compute lets each goroutine compute its partitions, and calls done after each.
func (x *partitioner) compute(done func(partition int) error) error {
	errs := make([]error, len(x.work))
	var all sync.WaitGroup
	for g := range x.work {
		all.Go(func() {
			for i := g; i < x.parts && errs[g] == nil; i += len(x.work) {
				x.work[g].spend(x.each)
				errs[g] = done(i)
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
