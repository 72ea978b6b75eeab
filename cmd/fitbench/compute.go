//go:build linux

package main

import (
	"sync"
	"time"
)

// chain is computation that uses registers only: each step needs the result of the
// one before, so its speed is the latency of a multiplication and an addition, which
// neither memory nor a hyperthread beside it changes. What a number of steps takes
// longer than calibrated is therefore time in which this thread did not run.
//
// A chain belongs to one goroutine; x, where it has got to, is what keeps the
// compiler from leaving the steps out.
type chain struct{ x float64 }

// run does steps. It is not inlined, so that every caller runs the same code, at the
// same alignment, as the calibration; the runtime preempts the loop by a signal, so a
// stop of the world need not wait for its end.
//
//go:noinline
func (c *chain) run(steps int) {
	const near1 = 1 - 1./(1<<20)
	x := c.x
	for range steps {
		x = x*near1 + (1 - near1) // tends to 1: never a denormal number, which would be slow
	}
	c.x = x
}

// spend does what takes d on an undisturbed core, and returns how long it took.
func (c *chain) spend(d time.Duration) time.Duration {
	return c.timed(stepsOf(d))
}

// stepsOf is how many steps take d on an undisturbed core: the same number each time.
func stepsOf(d time.Duration) int { return int(float64(d) * pace()) }

// pace is how many steps of a chain this process does in a nanosecond. The first call
// measures it: make it when nothing else runs.
var pace = sync.OnceValue(func() float64 {
	const (
		trials = 50
		// One trial is long beside reading the clock and short beside a time slice of
		// the operating system, so some trials are undisturbed even where more ranks
		// than cores calibrate at once.
		long = 2 * time.Millisecond
	)
	var c chain
	steps := 1 << 16
	for c.timed(steps) < long {
		steps *= 2
	}
	best := c.timed(steps)
	for range trials {
		best = min(best, c.timed(steps))
	}
	return float64(steps) / float64(best)
})

func (c *chain) timed(steps int) time.Duration {
	start := now()
	c.run(steps)
	return time.Duration(now() - start)
}

// walk is computation that waits for memory: it reads one word of each cache line of
// 64 MiB, more than the caches hold, in order.
type walk struct {
	words []uint64
	sum   uint64
}

const (
	walkBytes = 64 << 20
	lineWords = 64 / 8
)

func newWalk() *walk {
	w := &walk{words: make([]uint64, walkBytes/8)}
	for i := range w.words {
		w.words[i] = uint64(i)
	}
	return w
}

// run walks once.
//
//go:noinline
func (w *walk) run() {
	sum := w.sum
	for i := 0; i < len(w.words); i += lineWords {
		sum += w.words[i]
	}
	w.sum = sum
}
