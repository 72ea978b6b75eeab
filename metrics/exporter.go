package metrics

import (
	"context"

	"github.com/fitmpi/fitmpi/internal/telemetry"
)

func init() { telemetry.Export(exporter{}) }

// exporter serves and pushes the metrics of ranks of package mpi in programs that import this one.
type exporter struct{}

// Serve implements telemetry.Exporter.
func (exporter) Serve(at telemetry.Endpoint, src Source) (telemetry.Server, error) {
	s, err := Listen(Config{Addr: at.Addr, SecretFile: at.SecretFile, Open: at.Open, Profiles: at.Profiles, Source: src})
	if err != nil {
		return nil, err // not s: a Server that holds a nil *Server is not nil
	}
	return s, nil
}

// Push implements telemetry.Exporter.
func (exporter) Push(ctx context.Context, url, job string, src Source) error {
	return Push(ctx, url, job, src)
}
