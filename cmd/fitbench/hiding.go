//go:build linux

package main

import (
	"slices"

	"github.com/fitmpi/fitmpi/mpi"
)

// hidingTests are the tests of what communication costs computation, and the other way round.
func hidingTests() []test {
	return []test{
		{"send", "what a late rank costs the other one", 2, lateSizes, lateSend},
		{"isend-wait", "what is left to wait for after computing longer than the transfer", 2, isendWaitSizes, isendWait},
		{"overlap", "how much of an exchange, or of each nonblocking collective, computation hides", 2, overlapSizes, overlap},
		{"solve", "an iteration of an exchange beside a fixed amount of work, in a ring of all ranks", 2, solveSizes, solve},
		{"partitioned", "partitions that leave when they are computed, beside one send of all", 2, partitionedSizes, partitioned},
		{"slowdown", "what the worker costs a program that does not communicate", 2, nil, slowdown},
		{"wakeup", "from sending to seeing while every core computes", 2, nil, wakeup},
	}
}

var (
	lateSizes        = []int{1 << 10, 4 << 10, 16 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 4 << 20, 16 << 20}
	isendWaitSizes   = []int{10, 100, 1 << 10, 10 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 4 << 20, 16 << 20}
	partitionedSizes = []int{1 << 10, 64 << 10, 1 << 20, 16 << 20}
	overlapSizes     = []int{4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20}
)

// before measures what must be measured before the job starts, when nothing else
// runs: how fast this process computes, and of test slowdown the baseline.
func before(opt *options) {
	switch opt.test.name {
	case "send", "bsend", "isend-wait", "overlap", "solve", "partitioned", "wakeup":
		pace()
	case "slowdown":
		alone = measureAlone(opt)
	}
}

// few is how often to repeat one of these tests, which take long: -iterations or
// else n; and how often before that without measuring.
func (e *env) few(n int) (iterations, warmup int) {
	if e.opt.iterations > 0 {
		n = e.opt.iterations
	}
	if e.opt.warmup >= 0 {
		return n, e.opt.warmup
	}
	return n, 5
}

// repeat runs once after ready, warmup + n times, and returns what it measured the
// last n times.
func repeat(n, warmup int, ready func() error, once func() (float64, error)) ([]float64, error) {
	xs := make([]float64, 0, n)
	for i := range warmup + n {
		if err := ready(); err != nil {
			return nil, err
		}
		x, err := once()
		if err != nil {
			return nil, err
		}
		if i >= warmup {
			xs = append(xs, x)
		}
	}
	return xs, nil
}

// reportOf is report of what rank from measured. It and rank 0 call it.
func (e *env) reportOf(from int, kase string, size int, measure, unit string, xs []float64) error {
	if from != 0 && from != e.rank && e.rank != 0 {
		return nil
	}
	xs, err := e.gather(from, xs)
	if err == nil && e.rank == 0 {
		e.report(kase, size, measure, unit, xs)
	}
	return err
}

// tell gives rank 1 the x of rank 0; both call it.
func (e *env) tell(x float64) (float64, error) {
	b := [1]float64{x}
	if e.rank == 0 {
		return x, mpi.Send(e.world, b[:], 1, resultTag)
	}
	_, err := mpi.Recv(e.world, b[:], 0, resultTag)
	return b[0], err
}

// choose returns those of all that -case asks for; name names one.
func choose[T any](e *env, all []T, name func(T) string) ([]T, error) {
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = name(c)
	}
	chosen, err := e.cases(names...)
	if err != nil || len(chosen) == len(all) {
		return all, err
	}
	i := slices.Index(names, chosen[0])
	return all[i : i+1], nil
}
