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

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// Counters are what a rank counts, to be read as often as wanted: by any goroutine, and after
// Finalize too. Rank is its number in the world, Spawned the name of its job if ranks have spawned
// that. Stats() are the engine's counters. Collectives()
// are those of collectives, by the name of the communicator (Comm) and the operation (Op).
type Counters = telemetry.Source

// Counters returns the counters of the calling rank. They are those of the rank, whatever
// communicator of it c is, and they always count. Package metrics shows them to Prometheus:
//
//	err := metrics.Register(world.Counters(), prometheus.DefaultRegisterer)
//
// docs/METRICS.md says what they mean. They are what MPI calls performance variables (MPI 4.1,
// section 15.3.7, MPI_T_pvar_get_info and MPI_T_pvar_read).
func (c *Comm) Counters() Counters { return c.job.counted() }

func (j *job) counted() Counters {
	return Counters{Rank: j.engine.Rank(), Spawned: j.kin.Name, Stats: j.engine.Stats, Collectives: j.calls.read}
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
	exports := telemetry.Exports()
	if j.push.url != "" && exports == nil {
		j.push.url = ""
		j.warnPush(j.engine.Rank())
	}
	if set.addr == "" {
		j.warnProfiles(j.engine.Rank())
		return nil
	}
	addr := strings.ReplaceAll(set.addr, "{rank}", strconv.Itoa(j.numberOf(engine.PeerID(j.engine.Rank())))) // each number is there once
	if exports == nil {
		return fmt.Errorf("metrics at %s: %s; fitrun --metrics shows the ranks of any program", addr, noExporter)
	}
	s, err := exports.Serve(telemetry.Endpoint{Addr: addr, SecretFile: set.secretFile, Open: set.open, Profiles: set.profiles}, j.counted())
	if err != nil {
		return fmt.Errorf("metrics at %s: %w", addr, err)
	}
	j.metrics = s
	return j.session.Report(boot.MetricsKey, s.Name())
}

// noExporter says that the program has been asked for what only package metrics does (decision
// 0065).
const noExporter = "the program does not import github.com/fitmpi/fitmpi/metrics (import _ is enough)"

// warnPush says, in rank 0, that a push was asked for and there will be none. The job goes on, as
// it does when the gateway cannot be reached.
func (j *job) warnPush(rank int) {
	if rank == 0 {
		j.logger.Warn("FITMPI_PUSH has no effect: " + noExporter)
	}
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
	if err := telemetry.Exports().Push(ctx, j.push.url, j.push.job, j.counted()); err != nil {
		j.logger.Warn("metrics are lost", "rank", j.engine.Rank(), "err", err)
	}
}
