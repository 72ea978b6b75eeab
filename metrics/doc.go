// Package metrics shows the counters of a rank's engine to Prometheus.
//
// # Use
//
// A program that has an HTTP server of its own registers a collector with its registry:
//
//	reg.MustRegister(metrics.NewCollector(rank, e.Stats))
//
// One that has none serves the rank's metrics, with those of the Go runtime and of the process, by itself:
//
//	s, err := metrics.Serve("127.0.0.1:0", rank, e.Stats) // port 0: any free one, see s.Addr
//	...
//	err = s.Close(ctx)
//
// Listen also serves at a Unix socket, and profiles. Push leaves the metrics of a short job with a Pushgateway.
//
// # Names
//
// Every name starts with fitmpi_. Counters end in _total and never decrease; the others are gauges, but for two
// histograms. Sizes are in bytes and, unless the help text says otherwise, of payload without headers; times are in seconds.
// Every metric carries the constant label rank. docs/METRICS.md says what each means and what to look for.
//
// # Concurrency
//
// Collectors and servers are safe for concurrent use, and call the given function from any goroutine. A scrape calls it
// once, so that the values of a scrape are of one moment.
//
// # Limits
//
// There is no authentication: whoever reaches the address reads the counters. That is why an address without a host
// means the loopback interface, and why profiles are served there or at a Unix socket only. Linux only, as the engine is.
package metrics
