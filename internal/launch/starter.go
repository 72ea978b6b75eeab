//go:build linux

package launch

import (
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/fitmpi/fitmpi/internal/boot"
)

// start starts all processes, one after the other, and stays until they have exited.
func (x *runner) start() {
	// The kernel kills a process when the thread that started it ends (see startProcess); so this goroutine keeps its
	// thread until no rank is left. startBound needs the thread too.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for i := range x.job.Processes {
		if x.stopped.Load() {
			x.post(func(now time.Time) { x.sup.notStarted(now, i, nil) })
			continue
		}
		var stdin *os.File
		if i == 0 {
			stdin = x.cfg.Stdin
		}
		plan := &x.job.Processes[i]
		p, err := startProcess(plan, x.infos(plan), stdin)
		if err != nil {
			x.stopped.Store(true)
			x.post(func(now time.Time) { x.sup.notStarted(now, i, err) })
			continue
		}
		x.cfg.Guard.watch(p.pid)
		x.post(func(now time.Time) {
			x.procs[i] = p
			x.sup.started(now, i, p.pid)
		})
		x.threads.Go(func() { x.watch(i, p) }) // ends with the process
	}
	<-x.release
}

// infos is what the ranks of a process are told.
func (x *runner) infos(plan *Process) []boot.Info {
	var infos []boot.Info
	for _, r := range plan.Ranks {
		info := x.job.Ranks[r].Info
		info.Segment, info.Bell = x.shared.segment, x.shared.bell(info.LocalRank)
		infos = append(infos, info)
	}
	return infos
}

// watch follows process i until it has exited, and tells the loop when everything its ranks had to say was heard.
func (x *runner) watch(i int, p *process) {
	outDone := x.show(p.stdout, x.linesOf(i, stdoutStream, nil))
	errDone := x.show(p.stderr, x.linesOf(i, stderrStream, p.last))
	var heard sync.WaitGroup
	for k := range p.links {
		heard.Go(func() { x.listen(i, k, p) }) // stopped by Drain
	}
	e, err := p.wait()
	if err != nil {
		e = exit{code: ExitError} // somebody else reaped it: our bug, but no reason to hang
	}
	x.cfg.Guard.forget(p.pid)
	for _, l := range p.links {
		l.Drain()
	}
	heard.Wait()
	patience := time.NewTimer(drainWait)
	defer patience.Stop()
	for _, done := range []<-chan struct{}{outDone, errDone} {
		select {
		case <-done:
		case <-patience.C:
			patience.Reset(0)
		}
	}
	x.post(func(now time.Time) { x.sup.exited(now, i, e) })
	for _, l := range p.links {
		l.Close()
	}
}

// listen passes on what the k-th rank of process i tells over its link.
func (x *runner) listen(i, k int, p *process) {
	r := x.job.Processes[i].Ranks[k]
	for {
		n, err := p.links[k].Next()
		if err == io.EOF {
			p.linkEnded[k].Store(true)
			return
		}
		if err != nil {
			x.post(func(now time.Time) { x.sup.linkBroken(now, r, err) })
			return
		}
		x.post(func(now time.Time) { x.sup.noticed(now, r, n) })
	}
}

// show starts the reader of one stream of a process. The result is closed at the end of the stream.
func (x *runner) show(from *os.File, l *lines) <-chan struct{} {
	done := make(chan struct{})
	x.readers.Go(func() { // ends with the stream, or when draining and silent
		defer close(done)
		defer from.Close()
		l.copyFrom(from, &x.draining)
	})
	return done
}
