//go:build linux

package launch

import (
	"io"
	"os"
	"runtime"
	"time"
)

// start starts all ranks, one after the other, and stays until they have exited.
func (x *runner) start() {
	// The kernel kills a rank when the thread that started it ends (see startProcess); so this goroutine keeps its
	// thread until no rank is left.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for r := range x.job.Ranks {
		if x.stopped.Load() {
			x.post(func(now time.Time) { x.sup.notStarted(now, r, nil) })
			continue
		}
		var stdin *os.File
		if r == 0 {
			stdin = x.cfg.Stdin
		}
		p, err := startProcess(&x.job.Ranks[r], stdin)
		if err != nil {
			x.stopped.Store(true)
			x.post(func(now time.Time) { x.sup.notStarted(now, r, err) })
			continue
		}
		x.cfg.Guard.watch(p.pid)
		x.post(func(now time.Time) {
			x.procs[r] = p
			x.sup.started(now, r, p.pid)
		})
		x.threads.Go(func() { x.watch(r, p) }) // ends with the rank
	}
	<-x.release
}

// watch follows rank r until it has exited, and tells the loop when everything it had to say was heard.
func (x *runner) watch(r int, p *process) {
	outDone := x.show(r, p, p.stdout, x.out, x.cfg.Stdout, nil)
	errDone := x.show(r, p, p.stderr, x.err, x.cfg.Stderr, p.last)
	linkDone := make(chan struct{})
	x.threads.Go(func() { // stopped by Drain
		defer close(linkDone)
		x.listen(r, p)
	})
	e, err := p.wait()
	if err != nil {
		e = exit{code: ExitError} // somebody else reaped it: our bug, but no reason to hang
	}
	x.cfg.Guard.forget(p.pid)
	p.link.Drain()
	<-linkDone
	patience := time.NewTimer(drainWait)
	defer patience.Stop()
	for _, done := range []<-chan struct{}{outDone, errDone} {
		select {
		case <-done:
		case <-patience.C:
			patience.Reset(0)
		}
	}
	x.post(func(now time.Time) { x.sup.exited(now, r, e) })
	p.link.Close()
}

// listen passes on what rank r tells over its link.
func (x *runner) listen(r int, p *process) {
	for {
		n, err := p.link.Next()
		if err == io.EOF {
			p.linkEnded.Store(true)
			return
		}
		if err != nil {
			x.post(func(now time.Time) { x.sup.linkBroken(now, r, err) })
			return
		}
		x.post(func(now time.Time) { x.sup.noticed(now, r, n) })
	}
}

// show starts the reader of one stream of rank r. The result is closed at the end of the stream.
func (x *runner) show(r int, p *process, from *os.File, c *console, to io.Writer, last *tail) <-chan struct{} {
	l := &lines{
		c: c, w: to, tag: x.tagOf(r), tail: last,
		raw:    len(x.job.Ranks) == 1 && !x.cfg.Tag,
		prompt: r == 0 && !x.cfg.Tag && isTerminal(to),
	}
	done := make(chan struct{})
	x.readers.Go(func() { // ends with the stream, or when draining and silent
		defer close(done)
		defer from.Close()
		l.copyFrom(from, &x.draining)
	})
	return done
}
