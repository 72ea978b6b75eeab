package telemetry

import (
	"context"

	"github.com/fitmpi/fitmpi/engine"
)

// Source is a rank whose counters can be read, as often as wanted: by any goroutine, and after the
// rank has finalized too.
type Source struct {
	Rank int // in the world
	// Spawned is the name of the rank's job among those of its launcher, if ranks have spawned it:
	// "2", or "2.1" for the first that job 2 has spawned. It is "" for the job that was begun with.
	Spawned string
	Stats   func() engine.Stats
	// Collectives returns what is counted of collectives, each communicator and operation once; nil
	// if nothing is.
	Collectives func() []Calls
}

// Exporter shows what ranks count outside their process. Package metrics is one. It registers
// itself by [Export], so that a program has its dependencies only if it imports it.
type Exporter interface {
	// Serve serves what src counts until the returned server is closed.
	Serve(at Endpoint, src Source) (Server, error)
	// Push sends what src counts now to the gateway at url, as of the job of that name.
	Push(ctx context.Context, url, job string, src Source) error
}

// Endpoint says where and to which clients an Exporter serves: see the fields of metrics.Config.
type Endpoint struct {
	Addr       string
	SecretFile string
	Open       bool
	Profiles   bool
}

// Server is what an Exporter has started.
type Server interface {
	Name() string // its address, port never 0
	Close(ctx context.Context) error
}

// exporter is set by an init function, before any rank begins, and immutable after.
var exporter Exporter

// Export registers the exporter of the ranks of this process. Only an init function may call it.
func Export(e Exporter) { exporter = e }

// Exports returns the exporter of this process, nil if the program has none.
func Exports() Exporter { return exporter }
