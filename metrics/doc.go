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
// # Names
//
// Every name starts with fitmpi_. Counters end in _total and never decrease; the others are gauges. Sizes are in bytes
// and, unless the help text says otherwise, of payload without headers. Every metric carries the constant label rank;
// further labels are protocol (short, eager or rendezvous: how a message was sent) and reason (why a handshake was
// rejected).
//
// Three questions and where the answer stands: is a receiver late with its receives?
// rate(fitmpi_unexpected_messages_total), and fitmpi_event_queue_messages for how many wait now. Is the library send
// buffer too small? fitmpi_send_buffer_stalls_total. Does a stranger knock? fitmpi_rejected_handshakes_total.
//
// # Concurrency
//
// Collectors and servers are safe for concurrent use, and call the given function from any goroutine. A scrape calls it
// once, so that the values of a scrape are of one moment.
//
// # Limits
//
// There is no authentication: whoever reaches the address reads the counters. That is why an address without a host
// means the loopback interface. Linux only, as the engine is.
package metrics
