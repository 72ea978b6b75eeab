//go:build linux

package agent

import (
	"errors"
	"os"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
	"github.com/fitmpi/fitmpi/internal/boot"
)

// drainIdle ends the reading of a stream that a process beyond our reach holds open when the job is
// over.
const drainIdle = time.Second

// maxPiece is how much of a stream goes into one frame.
const maxPiece = 32 << 10

// The agent is the leader of its crew: it passes on what it hears.

func (a *agent) Started(proc, pid int)           { a.send(kindStarted, procPID{proc, pid}) }
func (a *agent) Noticed(rank int, n boot.Notice) { a.send(kindNoticed, rankNotice{rank, n}) }
func (a *agent) Exited(proc int, e crew.Exit)    { a.send(kindExited, procExit{proc, e}) }

func (a *agent) Examined(proc int, c crew.Condition) { a.send(kindExamined, procCondition{proc, c}) }

func (a *agent) NotStarted(proc int, err error) {
	p := procError{Proc: proc}
	if err != nil {
		p.Error = err.Error()
	}
	a.send(kindNotStarted, p)
}

func (a *agent) LinkBroken(rank int, err error) { a.send(kindBroken, rankError{rank, err.Error()}) }

func (a *agent) Show(proc int, s crew.Stream, from crew.Source, last *crew.Tail) <-chan struct{} {
	flow := newOutflow(window)
	a.mu.Lock()
	a.flows[streamID{proc, s}] = flow
	a.streams = append(a.streams, from)
	a.mu.Unlock()
	done := make(chan struct{})
	a.showing.Go(func() { // ends with the stream, when draining and silent, or when flow is closed
		defer close(done)
		defer from.Close()
		a.copyOutput(proc, s, from, last, flow)
		a.parent.send(packOutput(a.host, proc, s, nil))
	})
	return done
}

// copyOutput sends a stream as far as there is credit.
func (a *agent) copyOutput(proc int, s crew.Stream, from crew.Source, last *crew.Tail, flow *outflow) {
	buf := make([]byte, maxPiece)
	for {
		room := flow.take(len(buf))
		if room == 0 {
			return
		}
		isLast := a.draining.Load()
		if isLast {
			from.SetReadDeadline(time.Now().Add(drainIdle))
		}
		n, err := from.Read(buf[:room])
		if n > 0 {
			if last != nil {
				last.Feed(buf[:n])
			}
			a.parent.send(packOutput(a.host, proc, s, buf[:n]))
		}
		flow.give(room - n)
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded) && !isLast:
			from.SetReadDeadline(time.Time{})
		default:
			return
		}
	}
}

// finish ends what is left of the job, when its processes have exited, and says so.
func (a *agent) finish() {
	c := a.crewNow()
	if a.finished {
		return
	}
	a.finished = true
	a.threads.Go(func() { // ends when the output is shown, or with the agent
		a.sweep(c)
		a.showing.Wait()
		if c != nil {
			c.Wait()
		}
		a.send(kindDone, UseHere())
	})
}

// sweep kills what processes have left behind, and makes silence end their output.
func (a *agent) sweep(c *crew.Crew) {
	if c != nil {
		c.Finish()
	}
	crew.SweepOrphans(append(a.below.pids(), a.guard.PID())...)
	a.draining.Store(true)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.streams {
		s.SetReadDeadline(time.Now())
	}
}

// end ends everything: the agent has no parent any more.
func (a *agent) end() {
	a.cancel()
	c := a.crewNow()
	if c != nil {
		c.Kill()
	}
	a.mu.Lock()
	for _, f := range a.flows {
		f.close()
	}
	for _, p := range a.pipes {
		p.Close()
	}
	a.mu.Unlock()
	for _, c := range a.copies {
		c.abandon()
	}
	a.below.close()
	crew.SweepOrphans(a.guard.PID())
}
