//go:build linux

package main

import (
	"runtime"
	"time"

	"github.com/fitmpi/fitmpi/internal/bench"
	"github.com/fitmpi/fitmpi/mpi"
)

// overlapCase is something nonblocking whose overlap is measured.
type overlapCase struct {
	name string
	pair bool // ranks 0 and 1 do it, not all
	bare bool // it carries nothing, so it has no sizes
	// prepare makes the buffers for messages of size bytes. start starts the operation
	// with them and returns its requests, in a slice that the next start reuses.
	prepare func(e *env, size int) (start func() []*mpi.Request)
}

// overlapCases are all cases of test overlap.
func overlapCases() []overlapCase {
	return append([]overlapCase{{name: "exchange", pair: true, prepare: exchange}}, collectives()...)
}

// overlap measures how much of an operation's time computation hides, as the OSU micro-benchmarks
// define it. It compares how long the operation takes by itself with how much of that is left when
// computation of the same length stands between starting it and waiting for it.
func overlap(e *env) error {
	ops, err := choose(e, overlapCases(), func(op overlapCase) string { return op.name })
	if err != nil {
		return err
	}
	for _, op := range ops {
		sizes := e.sizes()
		if op.bare {
			sizes = []int{0}
		}
		for _, size := range sizes {
			if op.pair && e.rank > 1 {
				continue
			}
			if err := e.overlapOf(op, size); err != nil {
				return err
			}
		}
	}
	return nil
}

// overlapOf measures one operation at one size.
func (e *env) overlapOf(op overlapCase, size int) error {
	o := overlapper{e: e, start: op.prepare(e, size)}
	ready, tell := func() error { return mpi.Barrier(e.world) }, e.tellAll
	if op.pair {
		ready, tell = e.sync, e.tell
	}
	runtime.GC() // of the last size's buffers: now rather than in a repetition
	n, warmup := e.few(30)
	pure, err := repeat(n, warmup, ready, o.pure)
	if err != nil {
		return err
	}
	median, err := tell(bench.Summarise(pure, false).Median)
	if err != nil {
		return err
	}
	o.median = median
	totals, err := repeat(n, warmup, ready, o.total)
	if err != nil {
		return err
	}
	e.report(op.name, size, "pure", "us", pure)
	e.report(op.name, size, "total", "us", totals)
	e.report(op.name, size, "overlap", "%", o.hidden[warmup:])
	return nil
}

// overlapper measures one operation at one rank.
type overlapper struct {
	e      *env
	start  func() []*mpi.Request
	work   chain
	median float64   // of pure at rank 0, in microseconds
	hidden []float64 // of each total the part of the operation that computing hid, in percent
}

// pure starts the operation and waits for it.
func (o *overlapper) pure() (float64, error) {
	start := now()
	_, err := mpi.WaitAll(o.start()...)
	return micros(start), err
}

// total starts the operation, computes as long as it takes by itself, and waits for it.
func (o *overlapper) total() (float64, error) {
	start := now()
	requests := o.start()
	computed := o.work.spend(time.Duration(o.median * 1e3))
	_, err := mpi.WaitAll(requests...)
	total := micros(start)
	left := total - float64(computed)/1e3
	o.hidden = append(o.hidden, min(max(100*(1-left/o.median), 0), 100))
	return total, err
}

// tellAll gives every rank the x of rank 0.
func (e *env) tellAll(x float64) (float64, error) {
	b := [1]float64{x}
	err := mpi.Bcast(e.world, b[:], 0)
	return b[0], err
}

// exchange sends to the other rank of the pair and receives from it.
func exchange(e *env, size int) func() []*mpi.Request {
	in, out := buffer(size), buffer(size)
	peer := 1 - e.rank
	requests := make([]*mpi.Request, 2)
	return func() []*mpi.Request {
		requests[0] = mpi.Irecv(e.world, in, peer, dataTag)
		requests[1] = mpi.Isend(e.world, out, peer, dataTag)
		return requests
	}
}
