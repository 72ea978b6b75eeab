package main

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/view"
	"github.com/fitmpi/fitmpi/internal/hang"
	"github.com/fitmpi/fitmpi/internal/hang/quiesce"
	"github.com/fitmpi/fitmpi/internal/plain"
)

// What --on-deadlock does.
const (
	deadlockReport = "report"
	deadlockAbort  = "abort"
	deadlockOff    = "off"
)

// envPause is for tests: the time between two rounds of the watch for deadlocks.
const envPause = "FITRUN_DEADLOCK_PAUSE"

// deadlockPart notices that the job can never go on.
type deadlockPart struct {
	abort bool
	pause time.Duration // 0 is the watch's own choice
}

// hangParts are the parts that say what ranks wait for: when they are asked, and, unless
// --on-deadlock is off, when the job can never go on.
func (o *options) hangParts(*view.View, io.Writer) ([]part, error) {
	parts := []part{newStatusPart(o)}
	if o.onDeadlock == deadlockOff {
		return parts, nil
	}
	pause, err := time.ParseDuration(os.Getenv(envPause))
	if err != nil {
		pause = 0
	}
	return append(parts, &deadlockPart{abort: o.onDeadlock == deadlockAbort, pause: pause}), nil
}

func (p *deadlockPart) run(ctx context.Context, v *view.View) {
	select {
	case <-v.Begun():
	case <-ctx.Done():
		return
	}
	w := quiesce.Watch{
		View: asked{v}, Dir: hereDir(), Pause: p.pause,
		Deadlocked: func(e *hang.Explanation) {
			v.FoundKnot(plain.Text(e.Text()))
			p.deadlocked(v.Control(), e)
		},
		Stalled: v.Control().Say,
	}
	w.Run(ctx)
}

func (p *deadlockPart) deadlocked(to launch.Control, e *hang.Explanation) {
	text := e.Text()
	switch {
	case !e.IsDeadlock():
		to.Say(text + "\n  The job is left as it is, with --on-deadlock abort too: a signal may let it go on.")
	case p.abort:
		to.Say(text)
		to.Abort(exitDeadlock, "deadlock")
	default:
		to.Say(text + "\n  The job is left as it is; with --on-deadlock abort it would be ended.")
	}
}

func (p *deadlockPart) after(*view.View, io.Writer) {}

// asksOnly says that the part has no use for what ranks say when they leave: see
// watch.wantsFinalReports.
func (p *deadlockPart) asksOnly() {}

// wantsFinalReports reports whether ranks shall say what they have counted when they leave. It
// costs each a message, so it is not done for parts that look at running ranks only.
func (w *watch) wantsFinalReports() bool {
	for _, p := range w.parts {
		if _, ok := p.(interface{ asksOnly() }); !ok {
			return true
		}
	}
	return false
}

// hereDir is the directory from which source files are named, "" if it is not known.
func hereDir() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	return dir
}

// exitDeadlock is the exit code of a job that --on-deadlock abort has ended.
const exitDeadlock = 111
