package main

import (
	"context"
	"io"
	"os/signal"
	"sync"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/view"
)

// part looks at the job in one way while it runs.
type part interface {
	// run looks at the job until ctx ends, which it does soon after the job is over.
	run(ctx context.Context, v *view.View)
	// after is called when the job is over, its output is shown and run has returned.
	after(v *view.View, stderr io.Writer)
}

// watch is all that looks at the job.
type watch struct {
	view  *view.View // nil if nothing looks
	parts []part
}

// watch makes what o asks for. What must listen does so now, so that an address that cannot be had
// is an error before any rank is started.
func (o *options) watch(stderr io.Writer) (*watch, error) {
	w, v := new(watch), view.New()
	for _, make := range []func(*view.View, io.Writer) ([]part, error){o.hangParts, o.metricsParts, o.webParts, o.traceParts, o.summaryParts} {
		ps, err := make(v, stderr)
		w.parts = append(w.parts, ps...)
		if err != nil {
			w.close()
			return nil, err
		}
	}
	if len(w.parts) > 0 {
		w.view = v
	}
	return w, nil
}

// close gives back what the parts hold, if the job is not run.
func (w *watch) close() {
	for _, p := range w.parts {
		if c, ok := p.(io.Closer); ok {
			c.Close()
		}
	}
}

// execute runs the job, and all parts beside it.
func (w *watch) execute(ctx context.Context, r launch.Request, cfg launch.Config) int {
	if w.view == nil {
		return launch.Execute(ctx, r, cfg)
	}
	r.Watched, cfg.Observer = w.wantsFinalReports(), w.view
	cfg.Afterword = w.hasAfterword()
	running, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for _, p := range w.parts {
		if t, ok := p.(launch.Tracer); ok {
			cfg.Tracer = t
		}
		wg.Go(func() { p.run(running, w.view) })
	}
	code := launch.Execute(ctx, r, cfg)
	stop()
	wg.Wait()
	signal.Reset(stopSignals()...) // no rank runs any more: what is still to be said must not hold fitrun up
	for _, p := range w.parts {
		p.after(w.view, cfg.Stderr)
	}
	return code
}
