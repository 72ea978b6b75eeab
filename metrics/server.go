//go:build linux

package metrics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/fitmpi/fitmpi/engine"
)

// patience is how long a client may take to send its request, or to read the answer.
const patience = 10 * time.Second

// Server serves the metrics of one rank.
type Server struct {
	// immutable after Serve
	listener net.Listener
	http     http.Server

	wg  sync.WaitGroup // the goroutine of serve; Close stops it and waits
	err error          // why serve ended; owned by serve until wg is done
}

// Serve listens on addr, host:port, and answers GET /metrics there until Close. Port 0 means any free port, no host the
// loopback interface. Beside the rank's counters it shows those of the Go runtime and of the process.
func Serve(addr string, rank int, stats func() engine.Stats) (*Server, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port))
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry(rank, stats), promhttp.HandlerOpts{}))
	s := &Server{
		listener: l,
		http:     http.Server{Handler: mux, ReadTimeout: patience, WriteTimeout: patience, IdleTimeout: time.Minute},
	}
	s.wg.Go(s.serve)
	return s, nil
}

func registry(rank int, stats func() engine.Stats) *prometheus.Registry {
	reg := prometheus.NewRegistry()
	reg.MustRegister(NewCollector(rank, stats))
	prometheus.WrapRegistererWith(rankLabel(rank), reg).MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return reg
}

func (s *Server) serve() {
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		s.err = fmt.Errorf("metrics: %w", err)
	}
}

// Addr is the address that the server listens on, its port never 0.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close stops the server and waits until it has. Requests that are being answered may finish until ctx is done; then
// their connections are cut, and Close returns ctx's error. It may be called more than once.
func (s *Server) Close(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if err != nil {
		s.http.Close()
	}
	s.wg.Wait()
	return cmp.Or(s.err, err)
}
