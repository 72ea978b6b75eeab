//go:build linux

package jobmetrics

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/view"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

const (
	// longestWait is how long a scrape waits for ranks, if the scraper has time enough.
	longestWait = 2 * time.Second
	// fresh is the age up to which an answer is not asked for again: scrapers that come at once, or
	// one by one for each rank, cost a rank one question.
	fresh = 100 * time.Millisecond
	// mostScrapes is how many scrapes go on at once; more are told to come again.
	mostScrapes = 8
)

// Handler serves the metrics of a job, of which v is the picture. Name is the value of the label
// job of its targets.
func Handler(v *view.View, name string) http.Handler {
	s := &server{view: v, name: name, room: make(chan struct{}, mostScrapes)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", s.all)
	mux.HandleFunc("GET /rank/{rank}/metrics", s.one)
	mux.HandleFunc("GET /sd", s.discover)
	return mux
}

type server struct {
	// immutable after Handler
	view *view.View
	name string
	room chan struct{} // holds one for each scrape that goes on

	series labelled
}

// all serves the job and all its ranks.
func (s *server) all(w http.ResponseWriter, r *http.Request) {
	s.scrape(w, r, func(*view.Rank) bool { return true }, &jobCollector{s})
}

// one serves a rank, by its number among the ranks of all jobs.
func (s *server) one(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.PathValue("rank"))
	is := func(of *view.Rank) bool { return !of.Vacant && of.Number == n }
	if ranks := s.view.Ranks(); err != nil || !slices.ContainsFunc(ranks, func(of view.Rank) bool { return is(&of) }) {
		http.NotFound(w, r)
		return
	}
	s.scrape(w, r, is, nil)
}

// scrape asks the ranks that which chooses and shows what is known of them.
func (s *server) scrape(w http.ResponseWriter, r *http.Request, which func(*view.Rank) bool, job prometheus.Collector) {
	select {
	case s.room <- struct{}{}:
		defer func() { <-s.room }()
	default:
		http.Error(w, "too many scrapes at once", http.StatusServiceUnavailable)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience(r.Header))
	defer cancel()
	now := time.Now()
	s.view.AskSome(ctx, telemetry.AskCounters, func(of *view.Rank) bool { return which(of) && now.Sub(of.Counted) > fresh })
	reg := prometheus.NewRegistry()
	reg.MustRegister(&rankCollector{s, which, now})
	if job != nil {
		reg.MustRegister(job)
	}
	// Ranks may say anything: what of it cannot be shown must not hide the rest.
	promhttp.HandlerFor(reg, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}).ServeHTTP(w, r)
}

// patience is how long a scrape waits for ranks: at most half of the time that the scraper has.
func patience(h http.Header) time.Duration {
	seconds, err := strconv.ParseFloat(h.Get("X-Prometheus-Scrape-Timeout-Seconds"), 64)
	if err != nil || !(seconds > 0) || seconds > 3600 {
		return longestWait
	}
	return min(longestWait, time.Duration(seconds*float64(time.Second))/2)
}
