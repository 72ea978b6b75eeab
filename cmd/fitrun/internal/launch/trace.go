//go:build linux

package launch

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
	"github.com/fitmpi/fitmpi/internal/trace"
)

// Tracer is given what the ranks of a job have noted. Its methods may be called by several
// goroutines.
type Tracer interface {
	// Take reads what a trace.Source of a process gives, which begins when that is dead, to its
	// end. first is the number of its first rank among those of all jobs, see Job.Number, and host
	// where it ran. It may block.
	Take(first int, host string, from io.Reader)
	// Clock says how the clock of another host relates to that of this one, if that is known. It is
	// called when the job is over.
	Clock(c trace.Clock, known bool)
}

const (
	clockLooks = 16              // at the clock of each host, at the start and at the end
	clockWait  = 2 * time.Second // most that they may take
)

// takeTrace hands on what the ranks of process i have noted. The result is closed at its end.
func (x *runner) takeTrace(i int, from crew.Source) <-chan struct{} {
	done := make(chan struct{})
	x.readers.Go(func() { // ends with the stream: its host says when, and dead memory does by itself
		defer close(done)
		defer from.Close()
		if t := x.cfg.Tracer; t != nil {
			p := &x.job.Processes[i]
			t.Take(x.job.Number(p.Ranks[0]), p.Host, from)
		}
		io.Copy(io.Discard, from) // its sender waits
	})
	return done
}

// lookAtClocks looks at the clocks of all other hosts, if the job is traced. The result is by site.
func (a *across) lookAtClocks() [][]trace.Sample {
	if a.r.Trace == 0 || a.cfg.Tracer == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), clockWait)
	defer cancel()
	samples := make([][]trace.Sample, len(a.used))
	var wg sync.WaitGroup
	for i := range a.used {
		if !a.local[i] {
			wg.Go(func() { samples[i] = a.agentOf(i).Look(ctx, clockLooks) })
		}
	}
	wg.Wait()
	return samples
}

// fitClocks tells what the looks at the clocks of the other hosts, before and after the job, have
// shown.
func (a *across) fitClocks(first, last [][]trace.Sample) {
	for i := range first {
		if a.local[i] {
			continue
		}
		c, known := trace.Fit(a.used[i].String(), first[i], last[i])
		a.cfg.Tracer.Clock(c, known)
		switch {
		case !known:
			a.say("the clock of %s could not be looked at: its times in the trace are its own", c.Host)
		case a.cfg.Verbose:
			a.say("%v", &c)
		}
	}
}
