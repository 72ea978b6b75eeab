// Package metrics shows the counters of a rank's engine to Prometheus.
//
// # Use
//
// Ranks of a program that imports this package serve their metrics, and push them, if the launcher
// or the environment asks (fitrun --rank-metrics, FITMPI_METRICS, FITMPI_PUSH). Programs that do
// not import it do not link its dependencies:
//
//	import _ "github.com/fitmpi/fitmpi/metrics"
//
// A program that has an HTTP server of its own registers a collector with its registry:
//
//	err := metrics.Register(world.Counters(), prometheus.DefaultRegisterer)
//
// One that has an engine without package mpi serves its metrics, with those of the Go runtime and
// of the process, by itself:
//
//	s, err := metrics.Serve("127.0.0.1:0", metrics.Source{Rank: rank, Stats: e.Stats}) // port 0: any free one, see s.Addr
//	...
//	err = s.Close(ctx)
//
// Listen also serves at a Unix socket, and profiles. Push leaves the metrics of a short job with a
// Pushgateway.
//
// # Names
//
// Every name starts with fitmpi_. Counters end in _total and never decrease; the others are gauges,
// but for two histograms, which have native buckets as well. Sizes are in bytes and, unless the
// help text says otherwise, of payload without headers; times are in seconds. Every metric carries
// the constant label rank. docs/METRICS.md says what each means and what to look for.
//
// # What it needs
//
// A Source is functions that give counters, so this package serves any program that has an engine,
// with or without package mpi. It imports engine and package telemetry for the types of counters,
// package httpguard for its server, and the client library of Prometheus. Package mpi does not
// import it: it registers itself with package telemetry, where ranks look for it.
//
// # Concurrency
//
// Collectors and servers are safe for concurrent use, and call the given function from any
// goroutine. A scrape calls it once, so that the values of a scrape are of one moment.
//
// # Limits
//
// An address without a host means the loopback interface, where every user of the machine may read
// the counters. A server at an address that other machines reach needs one of two things. Either it
// is given a file with a secret that clients must know (Config.SecretFile), or it is told in so
// many words that every client may read (Config.Open). Profiles are served at the loopback
// interface or a Unix socket only. There is no TLS: the secret crosses the network as it is. Linux
// only, as the engine is.
package metrics
