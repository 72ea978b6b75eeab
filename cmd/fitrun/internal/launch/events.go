//go:build linux

package launch

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
	"github.com/fitmpi/fitmpi/internal/boot"
)

// events receives what happens on one site and passes it to the loop. It is the leader of the
// site's crew.
type events struct {
	x        *runner
	site     int
	draining *atomic.Bool // as of lines.copyFrom; nil is the runner's, which is for streams of this machine
}

func (e *events) Started(proc, pid int) {
	i := e.x.procs[e.site][proc]
	e.x.startedRanks.Add(int64(len(e.x.job.Processes[i].Ranks)))
	e.x.post(func(now time.Time) { e.x.sup.started(now, i, pid) })
}

func (e *events) NotStarted(proc int, err error) {
	i := e.x.procs[e.site][proc]
	e.x.post(func(now time.Time) { e.x.sup.notStarted(now, i, err) })
}

func (e *events) Noticed(rank int, n boot.Notice) {
	e.x.post(func(now time.Time) { e.x.sup.noticed(now, rank, n) })
}

func (e *events) LinkBroken(rank int, err error) {
	e.x.post(func(now time.Time) { e.x.sup.linkBroken(now, rank, err) })
}

func (e *events) Examined(proc int, c crew.Condition) {
	i := e.x.procs[e.site][proc]
	e.x.post(func(now time.Time) { e.x.sup.examined(now, i, c) })
}

func (e *events) Exited(proc int, exit crew.Exit) {
	i := e.x.procs[e.site][proc]
	e.x.post(func(now time.Time) { e.x.sup.exited(now, i, exit) })
}

func (e *events) Show(proc int, s crew.Stream, from crew.Source, last *crew.Tail) <-chan struct{} {
	x := e.x
	if s == crew.Trace {
		return x.takeTrace(x.procs[e.site][proc], from)
	}
	l := x.linesOf(x.procs[e.site][proc], s, last)
	if e.draining != nil { // its host says when a stream ends
		if f, ok := from.(interface{ Ended() bool }); ok {
			l.ended = f.Ended
		}
		x.remember(x.procs[e.site][proc], s, l)
		return x.show(from, l, e.draining)
	}
	x.remember(x.procs[e.site][proc], s, l)
	x.mu.Lock()
	x.streams = append(x.streams, from)
	x.mu.Unlock()
	return x.show(from, l, &x.draining)
}

// Counted implements agent.Leader.
func (e *events) Counted() { e.x.post(func(now time.Time) { e.x.sup.tick(now) }) }

// Say implements agent.Leader.
func (e *events) Say(text string) {
	if e.x.cfg.Verbose {
		e.x.post(func(time.Time) { e.x.say(text) })
	}
}

// Lost implements agent.Leader.
func (e *events) Lost(err error) {
	e.x.post(func(now time.Time) { e.x.sup.hostLost(now, e.x.procs[e.site], err.Error()) })
}

// show starts the reader of one stream of a process. The result is closed at the end of the stream.
func (x *runner) show(from crew.Source, l *lines, draining *atomic.Bool) <-chan struct{} {
	x.readers.Go(func() { // ends with the stream, or when draining and silent
		defer close(l.shown)
		defer from.Close()
		l.copyFrom(from, draining)
	})
	return l.shown
}

// tagOf is what is put before each line of process i: its rank, or the first and the last of them.
func (x *runner) tagOf(i int) string {
	if !x.cfg.Tag {
		return ""
	}
	return fmt.Sprintf("[%s%s] ", x.cfg.prefix(), intervals(x.job.Processes[i].Ranks))
}
