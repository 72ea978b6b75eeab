package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/jobmetrics"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/view"
	"github.com/fitmpi/fitmpi/metrics"
)

// jobMetrics is the part that serves Prometheus metrics of all ranks.
type jobMetrics struct {
	addr   string // of the option
	server *metrics.Server
}

// serveMetrics listens at addr.
func (o *options) metricsParts(v *view.View, _ io.Writer) ([]part, error) {
	if o.metrics == "" {
		return nil, nil
	}
	file, open := o.httpGuard()
	s, err := metrics.ServeHandler(metrics.Config{Addr: o.metrics, SecretFile: file, Open: open}, jobmetrics.Handler(v, o.name()))
	if err != nil {
		return nil, fmt.Errorf("--metrics %s: %w", o.metrics, err)
	}
	return []part{&jobMetrics{o.metrics, s}}, nil
}

// name is the name of the job in metrics: what ranks call it too when they push theirs, else the
// first program's.
func (o *options) name() string {
	path, err := filepath.Abs(o.apps[0].program[0])
	if err != nil {
		path = o.apps[0].program[0]
	}
	return cmp.Or(os.Getenv("FITMPI_PUSH_JOB"), filepath.Base(path))
}

func (m *jobMetrics) run(ctx context.Context, v *view.View) {
	select {
	case <-v.Begun():
		if at := m.server.Name(); strings.HasSuffix(m.addr, ":0") {
			v.Control().Say(fmt.Sprintf("metrics of all ranks are at http://%s/metrics", at))
		}
	case <-ctx.Done():
	}
	<-ctx.Done()
	m.Close()
}

func (m *jobMetrics) after(*view.View, io.Writer) {}

// lastScrapes is how long the scrapes that go on when the job is over may take.
const lastScrapes = time.Second

// Close ends the server and waits for it. It is idempotent.
func (m *jobMetrics) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), lastScrapes)
	defer cancel()
	return m.server.Close(ctx)
}
