//go:build linux && !fitmpi_portable

package netpoll

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// BenchmarkWorkers is what a rank with several workers could gain at best
// (docs/decisions/0078-a-rank-has-one-worker.md): connections that bring messages are attended to
// by one goroutine on a thread of its own, or by one such goroutine each. That reads a message into
// memory of its connection, takes the mutex that all share, as for matching, and answers. The peers
// are threads, too, and wait for each answer. Beside them nothing runs, or as many goroutines
// compute as there are cores. All have a P each, so only the kernel decides which of them runs.
//
// It reports the time of a message and its answer (ns/op), how often threads slept or lost their
// core for it, and how much of all cores' time the computation got.
func BenchmarkWorkers(b *testing.B) {
	for _, size := range []int{8, 256 << 10} {
		for _, conns := range []int{1, 2, 4, 8} {
			for _, computing := range []bool{false, true} {
				for _, each := range []bool{false, true} {
					name := fmt.Sprintf("size=%d/conns=%d/computing=%t/each=%t", size, conns, computing, each)
					b.Run(name, func(b *testing.B) {
						w := &workers{B: b, size: size, conns: conns}
						w.run(each, computing)
					})
				}
			}
		}
	}
}

// workers is one benchmark.
type workers struct {
	*testing.B
	size, conns int

	matching  sync.Mutex
	matched   int // guarded by matching
	stopping  atomic.Bool
	attending sync.WaitGroup // those that attend to connections, and those that compute
	pollers   []*Poller      // of the former
	computed  atomic.Int64   // nanoseconds of cores
}

func (w *workers) run(each, computing bool) {
	cores := runtime.NumCPU()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2*w.conns + cores + 1)) // no goroutine here waits for a P
	near, far := make([]*Socket, w.conns), make([]*Socket, w.conns)
	for i := range near {
		near[i], far[i] = pair(w, newPoller(w), Options{NoDelay: true}, loopback4)
	}
	if each {
		for i := range near {
			w.attend(near[i : i+1])
		}
	} else {
		w.attend(near)
	}
	if computing {
		for range cores {
			w.attending.Go(w.compute)
		}
	}
	waits := make([]*Poller, w.conns)
	for i, s := range far {
		waits[i] = newPoller(w)
		if err := waits[i].Add(s, 0, false); err != nil {
			w.Fatal(err)
		}
	}
	before, begin := w.switches(), clock(w, unix.CLOCK_MONOTONIC)
	w.ResetTimer()
	var peers sync.WaitGroup
	for i, s := range far {
		peers.Go(func() { w.ask(waits[i], s, w.N/w.conns+min(1, w.N%w.conns/(i+1))) })
	}
	peers.Wait()
	w.StopTimer()
	w.ReportMetric(float64(w.switches()-before)/float64(w.N), "switches/op")
	end := clock(w, unix.CLOCK_MONOTONIC)
	w.stopping.Store(true)
	for _, p := range w.pollers {
		p.Wake()
	}
	w.attending.Wait()
	if computing {
		w.ReportMetric(100*float64(w.computed.Load())/float64(end-begin)/float64(cores), "%computing")
	}
}

// attend starts a worker for some connections.
func (w *workers) attend(conns []*Socket) {
	p := newPoller(w)
	for i, s := range conns {
		if err := p.Add(s, uint64(i), false); err != nil {
			w.Fatal(err)
		}
	}
	w.pollers = append(w.pollers, p)
	w.attending.Go(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		got, buf, evs := make([]int, len(conns)), make([]byte, w.size), make([]Event, len(conns))
		for !w.stopping.Load() {
			n, err := holdPoll(p, evs, MaxHold)
			if err != nil {
				w.Error(err)
				return
			}
			for _, ev := range evs[:n] {
				k, _ := conns[ev.Token].Read(buf[got[ev.Token]:])
				if got[ev.Token] += k; got[ev.Token] < w.size {
					continue
				}
				got[ev.Token] = 0
				w.matching.Lock()
				w.matched++
				w.matching.Unlock()
				if _, err := conns[ev.Token].Write(buf[:1]); err != nil {
					w.Error(err)
				}
			}
		}
	})
}

// ask sends n messages, and waits for the answer to each.
func (w *workers) ask(p *Poller, s *Socket, n int) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	buf, answer := make([]byte, w.size), make([]byte, 1)
	for range n {
		for sent := 0; sent < w.size; {
			sent += w.move(p, s, true, func() (int, error) { return s.Write(buf[sent:]) })
		}
		for w.move(p, s, false, func() (int, error) { return s.Read(answer) }) == 0 {
		}
	}
}

// move reads or writes; if that would block it waits, and returns 0. An error ends the peer.
func (w *workers) move(p *Poller, s *Socket, writes bool, do func() (int, error)) int {
	n, err := do()
	if err == ErrAgain {
		var evs [1]Event
		err = p.SetWritable(s, 0, writes)
		if err == nil {
			_, err = holdPoll(p, evs[:], MaxHold)
		}
	}
	if err != nil {
		w.Error(err)
		runtime.Goexit()
	}
	return n
}

// compute counts what it gets of a core.
func (w *workers) compute() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begin := clock(w, unix.CLOCK_THREAD_CPUTIME_ID)
	for x := 0; !w.stopping.Load(); x++ {
	}
	w.computed.Add(clock(w, unix.CLOCK_THREAD_CPUTIME_ID) - begin)
}

// switches is how often threads of this process have slept or lost their core.
func (w *workers) switches() int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		w.Error(err)
	}
	return int64(u.Nvcsw + u.Nivcsw)
}

// clock is a clock of the kernel, in nanoseconds.
func clock(t testing.TB, id int32) int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(id, &ts); err != nil {
		t.Error(err)
	}
	return ts.Nano()
}
