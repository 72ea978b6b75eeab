//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

const (
	loops       = 100
	movingSize  = 1 << 20
	firstWindow = 16
	lastWindow  = 1 << 14
	settleTime  = 50 * time.Millisecond // until what went before has come to rest
)

// How long things take. Immutable but for the tests, which take less of everything and set it
// before any of them runs.
var (
	loopTime = 10 * time.Millisecond // of one loop of chain by itself
	walks    = 8                     // in one loop of memory: some 10 ms too, longer than a time slice
	idleTime = 2 * time.Second       // for which an idle rank is watched
)

// loop is work of fixed size that communicates nothing.
type loop struct {
	name string
	run  func()
}

// baseline is what measureAlone found. It is written before the job starts; only rank
// 0 reads it.
type baseline struct {
	loops []loop
	times map[string][]float64 // of each loop, in milliseconds
	err   error
}

var alone *baseline

// measureAlone times the loops that are asked for in a process that has no job yet. The
// processes of a job take turns, so that each of them is alone on the machine.
func measureAlone(opt *options) *baseline {
	e := &env{opt: opt, test: opt.test.name}
	loops, err := choose(e, slowdownLoops(), func(l loop) string { return l.name })
	if err != nil {
		return &baseline{err: err}
	}
	b := &baseline{loops: loops, times: map[string][]float64{}}
	b.err = inTurn(func() {
		for _, l := range b.loops {
			n, warmup := loopCount(opt)
			b.times[l.name], _ = repeat(n, warmup, nothing, l.timed)
		}
	})
	return b
}

// inTurn runs f while no other process of this program runs its own.
func inTurn(f func()) error {
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("taking turns: %w", err)
	}
	defer self.Close() // releases the lock
	for {
		switch err := syscall.Flock(int(self.Fd()), syscall.LOCK_EX); err {
		case nil:
			f()
			return nil
		case syscall.EINTR:
		default:
			return fmt.Errorf("taking turns: %w", os.NewSyscallError("flock", err))
		}
	}
}

// slowdownLoops are the cases of test slowdown.
func slowdownLoops() []loop {
	c, w := &chain{}, newWalk()
	steps := int(float64(loopTime) * pace())
	walk := func() {
		for range walks {
			w.run()
		}
	}
	return []loop{{"compute", func() { c.run(steps) }}, {"memory", walk}}
}

func loopCount(opt *options) (n, warmup int) {
	e := env{opt: opt}
	return e.few(loops)
}

func nothing() error { return nil }

// timed runs the loop once and returns how long it took, in milliseconds.
func (l loop) timed() (float64, error) {
	start := now()
	l.run()
	return micros(start) / 1e3, nil
}

// slowdown measures how much longer rank 0 computes when it has a job: an idle one,
// and one whose messages arrive while it computes. It also measures what an idle rank
// uses of a core. Rank 1 sends what arrives, and otherwise waits to be asked.
func slowdown(e *env) error {
	if alone.err != nil || e.rank > 1 {
		return alone.err
	}
	if e.rank == 1 {
		return e.sendWindows()
	}
	runtime.GC() // now rather than in a loop
	for _, l := range alone.loops {
		if err := e.slowdownOf(l); err != nil {
			return err
		}
	}
	if e.opt.kase == "" {
		if err := e.idleCPU(); err != nil {
			return err
		}
	}
	return e.askWindow(0)
}

// slowdownOf measures one loop at rank 0.
func (e *env) slowdownOf(l loop) error {
	n, warmup := loopCount(e.opt)
	time.Sleep(settleTime)
	idle, err := repeat(n, warmup, nothing, l.timed)
	if err != nil {
		return err
	}
	moving, err := e.moving(l, n, warmup)
	if err != nil {
		return err
	}
	e.report(l.name, 0, "alone", "ms", alone.times[l.name])
	e.report(l.name, 0, "idle", "ms", idle)
	e.report(l.name, movingSize, "moving", "ms", moving)
	return nil
}

// moving times the loop while messages arrive. The loop does not call the library, so receives for
// all that may arrive meanwhile are posted before it. If they turn out to be too few, the loop does
// not count and there are twice as many in the next.
func (e *env) moving(l loop, n, warmup int) ([]float64, error) {
	in := buffer(movingSize)
	xs := make([]float64, 0, n)
	for window, i := firstWindow, 0; i < warmup+n; {
		x, lasted, err := e.movingOnce(l, in, window)
		switch {
		case err != nil:
			return nil, err
		case !lasted && window == lastWindow:
			return nil, fmt.Errorf("%d messages arrive before the loop %s ends", window, l.name)
		case !lasted:
			window *= 2
			continue
		case i >= warmup:
			xs = append(xs, x)
		}
		i++
	}
	return xs, nil
}

// movingOnce times the loop once, from the arrival of the first message; lasted says
// that more messages were to come when it ended.
func (e *env) movingOnce(l loop, in []byte, window int) (ms float64, lasted bool, err error) {
	requests := make([]*mpi.Request, window)
	for i := range requests {
		requests[i] = mpi.Irecv(e.world, in, 1, dataTag)
	}
	if err := e.askWindow(window); err != nil {
		return 0, false, err
	}
	if _, err := requests[0].Wait(); err != nil {
		return 0, false, err
	}
	ms, _ = l.timed()
	_, over, err := requests[window-1].Test()
	_, waitErr := mpi.WaitAll(requests...)
	return ms, !over, errors.Join(err, waitErr)
}

// askWindow tells rank 1 to send so many messages, or that there are no more to send.
func (e *env) askWindow(n int) error { return mpi.Send(e.world, []int64{int64(n)}, 1, ackTag) }

// sendWindows is what rank 1 does: it sends what rank 0 asks for.
func (e *env) sendWindows() error {
	out := buffer(movingSize)
	for {
		n, err := e.nextWindow()
		if n == 0 || err != nil {
			return err
		}
		requests := make([]*mpi.Request, n)
		for i := range requests {
			requests[i] = mpi.Isend(e.world, out, 0, dataTag)
		}
		if _, err := mpi.WaitAll(requests...); err != nil {
			return err
		}
	}
}

// nextWindow receives what askWindow sent.
func (e *env) nextWindow() (int64, error) {
	var n [1]int64
	_, err := mpi.Recv(e.world, n[:], 0, ackTag)
	return n[0], err
}

// idleCPU reports what part of a core this process uses while its user sleeps and
// nothing is outstanding.
func (e *env) idleCPU() error {
	time.Sleep(settleTime)
	used, err := cpuTime()
	start := now()
	time.Sleep(idleTime)
	usedThen, thenErr := cpuTime()
	if err := errors.Join(err, thenErr); err != nil {
		return err
	}
	e.report("", 0, "idle-cpu", "%", []float64{100 * float64(usedThen-used) / float64(now()-start)})
	return nil
}

// cpuTime is the processor time that this process has used.
func cpuTime() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, os.NewSyscallError("getrusage", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
