// Package engine moves the messages of one rank.
//
// An Engine has one progress right. Its holder owns the sockets, parsers and staging memory and may
// run the driver. Usually that is the worker, a goroutine locked to an OS thread (worker.go), and
// under the assist policy for short times a caller that waits (wait.go; right.go says whose turn it
// is). Everything about matching and protocol is in the core, a state machine that the engine's
// mutex guards.
//
// # Use
//
//	e, err := engine.Listen(cfg)      // opens the listener
//	... publish e.Addr(), learn the addresses of the others ...
//	err = e.Start(peers)              // fills the bridge table, starts the worker
//	m := &engine.MSO{Kind: engine.KindRecv, ...}
//	e.Post(m)
//	e.Wait(m)                         // or poll m.IsDone
//	err = e.Close(timeout)
//
// # Concurrency
//
// All methods of Engine are safe for concurrent use. An MSO is its owner's until
// Post and from the moment IsDone reports true. The lock order is: progress
// right, then mutex. Waiters are woken after the mutex is released.
//
// # Limits
//
// The engine knows nothing of communicators, element types, environment
// variables, flags or Prometheus: it takes a Config and gives Stats.
package engine
