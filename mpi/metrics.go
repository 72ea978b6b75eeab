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

// MetricsCollector returns a Prometheus collector of the counters of the calling rank, for a program that has a registry
// or an HTTP server of its own:
//
//	reg.MustRegister(mpi.MetricsCollector(world))
//
// Its metrics begin with fitmpi_ and have the constant label rank, so the collectors of several ranks of a process go into
// one registry. They are those of the rank, whatever communicator of it c is, and may be collected by any goroutine, after
// Finalize too. docs/METRICS.md says what they mean. No counterpart in MPI.
func MetricsCollector(c *Comm) metrics.Collector {
	return metrics.NewCollector(c.job.engine.Rank(), c.job.engine.Stats)
}

// pushing is where a rank pushes its metrics when it finalizes; url is empty if nowhere.
type pushing struct{ url, job string }

// pushTimeout bounds how long Finalize takes for it.
const pushTimeout = 5 * time.Second

// serveMetrics starts the metrics server if the launcher or the environment asks.
func (j *job) serveMetrics(info boot.Info, getenv func(string) string) error {
	j.push = pushing{getenv(envPush), cmp.Or(getenv(envPushJob), filepath.Base(os.Args[0]))}
	profiles := getenv(envPprof)
	if profiles != "" && profiles != "0" && profiles != "1" {
		return fmt.Errorf("%s=%s: 1 serves profiles beside metrics, 0 does not", envPprof, profiles)
	}
	addr := getenv(envMetrics)
	if info.MetricsRequested {
		addr = info.MetricsAddr
	}
	if addr == "" {
		return nil
	}
	addr = strings.ReplaceAll(addr, "{rank}", strconv.Itoa(info.Rank))
	s, err := metrics.Listen(metrics.Config{Addr: addr, Rank: info.Rank, Stats: j.engine.Stats, Profiles: profiles == "1"})
	if err != nil {
		return fmt.Errorf("metrics at %s: %w", addr, err)
	}
	j.metrics = s
	return j.session.Report(boot.MetricsKey, s.Name())
}

// pushMetrics pushes what the rank has counted, if it is to. The job is over by then, and its results do not depend on it:
// an error is logged.
func (j *job) pushMetrics() {
	if j.push.url == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), pushTimeout)
	defer cancel()
	if err := metrics.Push(ctx, j.push.url, j.push.job, j.engine.Rank(), j.engine.Stats); err != nil {
		j.logger.Warn("metrics are lost", "rank", j.engine.Rank(), "err", err)
	}
}
