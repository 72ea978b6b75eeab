//go:build linux

package mpi

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/metrics"
)

// MetricsCollector returns a Prometheus collector of the counters of the calling rank, for a
// program that has a registry or an HTTP server of its own:
//
//	reg.MustRegister(mpi.MetricsCollector(world))
//
// Its metrics begin with fitmpi_ and have the constant label rank, so the collectors of several
// ranks of a process go into one registry. They are those of the rank, whatever communicator of it
// c is, and may be collected by any goroutine, after Finalize too. docs/METRICS.md says what they
// mean. They are what MPI calls performance variables (MPI 4.1, section 15.3.7, MPI_T_pvar_get_info
// and MPI_T_pvar_read).
func MetricsCollector(c *Comm) metrics.Collector {
	return metrics.NewCollector(c.job.counted())
}

// WithRegisterer registers the collector of MetricsCollector with reg, a registry that exists
// already, such as prometheus.DefaultRegisterer. The error is the registry's: the same rank is
// registered with it already, for example. No counterpart in MPI.
func WithRegisterer(c *Comm, reg metrics.Registerer) error {
	const op = "WithRegisterer"
	if err := c.present(op); err != nil {
		return c.fail(err)
	}
	if reg == nil {
		return c.fail(opErrorf(ErrArg, op, "the registerer is nil: give a registry, such as prometheus.DefaultRegisterer"))
	}
	if err := reg.Register(MetricsCollector(c)); err != nil {
		return c.fail(opError(ErrOther, op, err))
	}
	return nil
}

// counted is what metrics show of the rank.
func (j *job) counted() metrics.Source {
	return metrics.Source{Rank: j.engine.Rank(), Stats: j.engine.Stats, Collectives: j.calls.read}
}

// metricsSettings say where a rank's metrics go.
type metricsSettings struct {
	addr       string // at which they are served; "" if they are not. {rank} in it is replaced
	secretFile string // of what clients must give; "" if nothing
	open       bool   // they need give nothing, wherever the address is
	profiles   bool   // /debug/pprof is served there too
	push       pushing
}

// pushing is where a rank pushes its metrics when it finalizes; url is empty if nowhere.
type pushing struct{ url, job string }

// pushTimeout bounds how long Finalize takes for it.
const pushTimeout = 5 * time.Second

// serveMetrics starts the metrics server if the launcher or the environment asks.
func (j *job) serveMetrics() error {
	set := &j.set.metrics
	j.push = pushing{set.push.url, cmp.Or(set.push.job, filepath.Base(os.Args[0]))}
	if set.addr == "" {
		j.warnProfiles(j.engine.Rank())
		return nil
	}
	addr := strings.ReplaceAll(set.addr, "{rank}", strconv.Itoa(j.engine.Rank()))
	s, err := metrics.Listen(metrics.Config{Addr: addr, SecretFile: set.secretFile, Open: set.open, Source: j.counted(), Profiles: set.profiles})
	if err != nil {
		return fmt.Errorf("metrics at %s: %w", addr, err)
	}
	j.metrics = s
	return j.session.Report(boot.MetricsKey, s.Name())
}

// warnProfiles says, in rank 0, that profiles were asked for and are served nowhere: a rank serves
// them beside its metrics.
func (j *job) warnProfiles(rank int) {
	if j.set.metrics.profiles && rank == 0 {
		j.logger.Warn("FITMPI_PPROF=1 has no effect: ranks serve /debug/pprof beside their own metrics; give --rank-metrics 127.0.0.1:0 or FITMPI_METRICS")
	}
}

// pushMetrics pushes what the rank has counted, if it is to. The job is over by then, and its
// results do not depend on it: an error is logged.
func (j *job) pushMetrics() {
	if j.push.url == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), pushTimeout)
	defer cancel()
	if err := metrics.Push(ctx, j.push.url, j.push.job, j.counted()); err != nil {
		j.logger.Warn("metrics are lost", "rank", j.engine.Rank(), "err", err)
	}
}
