//go:build linux

package jobmetrics

import (
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/view"
	"github.com/fitmpi/fitmpi/internal/telemetry"
	"github.com/fitmpi/fitmpi/metrics"
)

// labelled is the series of each rank, made when they are shown first: a rank has some hundred,
// whose names and labels do not change. A place of the view may become that of another rank.
type labelled struct {
	mu     sync.Mutex
	places []entry // guarded by mu
}

// entry is the series of the rank in a place.
type entry struct {
	number int // of the rank
	series metrics.Series
}

func (l *labelled) of(place, number int, labels prometheus.Labels) metrics.Series {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.places) <= place {
		l.places = append(l.places, entry{})
	}
	e := &l.places[place]
	if e.series == nil || e.number != number {
		*e = entry{number, metrics.NewSeries(labels)}
	}
	return e.series
}

// rankCollector collects what is known of ranks. It does not say beforehand what it will show:
// there are no ranks before the job begins.
type rankCollector struct {
	*server
	which func(*view.Rank) bool
	began time.Time // of the scrape
}

// Describe implements prometheus.Collector.
func (c *rankCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *rankCollector) Collect(ch chan<- prometheus.Metric) {
	ranks := c.view.Ranks()
	for i := range ranks {
		if r := &ranks[i]; !r.Vacant && c.which(r) {
			c.collect(ch, i, r)
		}
	}
}

// labelsOf tell a rank from others. Those of the job that fitrun began with have no label spawned.
func labelsOf(r *view.Rank) map[string]string {
	labels := map[string]string{"rank": strconv.Itoa(r.Rank), "host": r.Host}
	if r.Job != "" {
		labels["spawned"] = r.Job
	}
	return labels
}

func (c *rankCollector) collect(ch chan<- prometheus.Metric, place int, r *view.Rank) {
	labels := labelsOf(r)
	show := shower{ch, labels}
	up := 0.0
	if r.State.Phase == launch.Joined && !r.Counted.Before(c.began.Add(-fresh)) {
		up = 1
	}
	show.gauge("fitmpi_rank_up", "Whether the rank takes part in the job and has answered this scrape; if not, its other figures are its last.", up)
	if r.Counters == nil {
		return
	}
	show.gauge("fitmpi_rank_answer_age_seconds", "Time since the rank said what it has counted.", time.Since(r.Counted).Seconds())
	c.series.of(place, r.Number, labels).Collect(ch, &r.Counters.Stats, r.Counters.Collectives)
	show.process(&r.Counters.Process)
	if d := r.Counters.Ready; d != nil {
		show.ready(d)
	}
}

// shower shows single metrics with the labels of a rank.
type shower struct {
	ch     chan<- prometheus.Metric
	labels prometheus.Labels
}

func (s shower) desc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, nil, s.labels)
}

func (s shower) gauge(name, help string, v float64) {
	s.ch <- prometheus.MustNewConstMetric(s.desc(name, help), prometheus.GaugeValue, v)
}

func (s shower) counter(name, help string, v float64) {
	s.ch <- prometheus.MustNewConstMetric(s.desc(name, help), prometheus.CounterValue, v)
}

// process shows what the rank's process uses, by the names that Prometheus' client gives to those
// figures at a rank's own endpoint, if it has them.
func (s shower) process(p *telemetry.Process) {
	if p.RSS > 0 {
		s.gauge("process_resident_memory_bytes", "Resident memory size in bytes.", float64(p.RSS))
	}
	if p.PeakRSS > 0 {
		s.gauge("fitmpi_peak_resident_memory_bytes", "Largest resident memory that the process ever had.", float64(p.PeakRSS))
	}
	if p.Heap > 0 {
		s.gauge("go_memstats_heap_alloc_bytes", "Number of heap bytes allocated and currently in use.", float64(p.Heap))
	}
	if p.CPU > 0 {
		s.counter("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.", p.CPU.Seconds())
	}
	s.gauge("go_goroutines", "Number of goroutines that currently exist.", float64(p.Goroutines))
	s.ch <- prometheus.MustNewConstSummary(s.desc("go_gc_duration_seconds", "A summary of the time for which garbage collections stopped all goroutines."),
		p.GCs, p.GCPause.Seconds(), nil)
}

// ready shows for how long goroutines waited to run. The sum is not known, and not less than what
// is shown.
func (s shower) ready(d *telemetry.Durations) {
	if len(d.Counts) != len(d.Bounds)+1 {
		return // it comes from a rank, which may say anything
	}
	buckets, upTo, sum, from := make(map[float64]uint64, len(d.Bounds)), uint64(0), 0.0, 0.0
	for i, n := range d.Counts {
		upTo += n
		sum += float64(n) * from
		if i < len(d.Bounds) {
			from = d.Bounds[i]
			buckets[from] = upTo
		}
	}
	s.ch <- prometheus.MustNewConstHistogram(s.desc("go_sched_latencies_seconds", "Distribution of the time goroutines have spent in the scheduler in a runnable state before actually running. The sum is an underestimate."),
		upTo, sum, buckets)
}

// jobCollector collects the metrics of the job itself.
type jobCollector struct{ *server }

var (
	ranksDesc  = prometheus.NewDesc("fitmpi_ranks", "Ranks of the job and of those that it has spawned, by how far they are. Most of spawned jobs that are over are left out.", []string{"state"}, nil)
	failedDesc = prometheus.NewDesc("fitmpi_failed_ranks", "Ranks, of those of fitmpi_ranks, that have failed on their own.", nil, nil)
	againDesc  = prometheus.NewDesc("fitmpi_job_restarts_total", "Times that the job was started again because it had failed.", nil, nil)
	spawnDesc  = prometheus.NewDesc("fitmpi_spawned_jobs_total", "Jobs that ranks have spawned.", nil, nil)
	startDesc  = prometheus.NewDesc("fitmpi_job_start_time_seconds", "When the job began, since the epoch.", nil, nil)
)

// Describe implements prometheus.Collector.
func (c *jobCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- ranksDesc
	ch <- failedDesc
	ch <- againDesc
	ch <- spawnDesc
	ch <- startDesc
}

// Collect implements prometheus.Collector.
func (c *jobCollector) Collect(ch chan<- prometheus.Metric) {
	in, failed := make(map[launch.Phase]int), 0
	for _, r := range c.view.Ranks() {
		if r.Vacant {
			continue
		}
		in[r.State.Phase]++
		if r.State.Code != 0 {
			failed++
		}
	}
	for _, p := range []launch.Phase{launch.Waiting, launch.Started, launch.Joined, launch.Idle, launch.Finalizing, launch.Over} {
		ch <- prometheus.MustNewConstMetric(ranksDesc, prometheus.GaugeValue, float64(in[p]), string(p))
	}
	ch <- prometheus.MustNewConstMetric(failedDesc, prometheus.GaugeValue, float64(failed))
	ch <- prometheus.MustNewConstMetric(againDesc, prometheus.CounterValue, float64(c.view.Restarts()))
	spawned, _ := c.view.Totals()
	ch <- prometheus.MustNewConstMetric(spawnDesc, prometheus.CounterValue, float64(spawned))
	if start, _ := c.view.Times(); !start.IsZero() {
		ch <- prometheus.MustNewConstMetric(startDesc, prometheus.GaugeValue, float64(start.UnixNano())/1e9)
	}
}
