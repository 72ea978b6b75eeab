//go:build linux

package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fitmpi/fitmpi/internal/bench"
	"github.com/fitmpi/fitmpi/mpi"
)

const (
	wakeups     = 20                     // repetitions, each of which has its own percentiles
	perWakeup   = 200                    // messages of a repetition
	testEvery   = 5 * time.Microsecond   // rank 1 looks, of computing
	glanceEvery = 100 * time.Microsecond // the other goroutines look whether it is over
)

// sendEvery is how long rank 0 pauses between messages. Immutable but for the tests, which set it
// before any of them runs.
var sendEvery = time.Millisecond

// wakeup measures how long after it was sent a message is seen by a rank all of whose
// cores compute. The ranks must be on one machine: the sender's clock is compared with
// the receiver's.
//
// Between messages rank 0 computes if every rank has a core of its own, so that its
// core is not there for the others' workers; otherwise it sleeps, so that it does not
// take the receiver's.
func wakeup(e *env) error {
	if _, err := e.cases(); err != nil || e.rank > 1 {
		return err
	}
	n, warmup := e.few(wakeups)
	if e.opt.warmup < 0 {
		warmup = 1
	}
	runtime.GC() // now rather than between two messages
	if err := e.sync(); err != nil {
		return err
	}
	if e.rank == 0 {
		if err := e.sendClock((warmup + n) * perWakeup); err != nil {
			return err
		}
	}
	var percentiles [3][]float64
	if e.rank == 1 {
		var err error
		if percentiles, err = e.seeClocks(n, warmup); err != nil {
			return err
		}
	}
	for i, name := range []string{"p50", "p90", "p99"} {
		if err := e.reportOf(1, "", 8, name, "us", percentiles[i]); err != nil {
			return err
		}
	}
	return nil
}

// sendClock is rank 0.
func (e *env) sendClock(count int) error {
	pause := time.Sleep
	if runtime.NumCPU() >= e.ranks {
		var work chain
		pause = func(d time.Duration) { work.spend(d) }
	}
	var clock [1]int64
	for range count {
		pause(sendEvery)
		t, err := machineTime()
		if err != nil {
			return err
		}
		clock[0] = t
		if err := mpi.Send(e.world, clock[:], 1, dataTag); err != nil {
			return err
		}
	}
	return nil
}

// seeClocks is rank 1: as many computing goroutines as it has cores, of which the
// caller's is one.
func (e *env) seeClocks(n, warmup int) (percentiles [3][]float64, err error) {
	var over atomic.Bool
	var others sync.WaitGroup
	defer others.Wait()
	defer over.Store(true)
	for range e.cores() - 1 {
		others.Go(func() {
			var work chain
			for !over.Load() {
				work.spend(glanceEvery)
			}
		})
	}
	var work chain
	delays := make([]float64, perWakeup)
	for i := range warmup + n {
		for k := range delays {
			if delays[k], err = e.seeClock(&work); err != nil {
				return percentiles, err
			}
		}
		if i < warmup {
			continue
		}
		bench.Summarise(delays, false) // sorts
		for p, percent := range []int{50, 90, 99} {
			percentiles[p] = append(percentiles[p], delays[percent*perWakeup/100-1])
		}
	}
	return percentiles, nil
}

// seeClock computes until a message is there, and returns its age in microseconds.
func (e *env) seeClock(work *chain) (float64, error) {
	var sent [1]int64
	r := mpi.Irecv(e.world, sent[:], 0, dataTag)
	for {
		work.spend(testEvery)
		_, done, err := r.Test()
		if err != nil {
			return 0, err
		}
		if done {
			seen, err := machineTime()
			return float64(seen-sent[0]) / 1e3, err
		}
	}
}

// cores is how many cores this rank has: a process has one P more for each of its
// workers; the ranks of RunThreads share the machine.
func (e *env) cores() int {
	n := launched()
	if n == 0 {
		return max(1, runtime.NumCPU()/e.ranks)
	}
	return max(1, (runtime.GOMAXPROCS(0)-n)/n)
}
