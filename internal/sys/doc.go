// Package sys is the part of Linux that the engine and the launcher need beside sockets: futexes, the set of processors,
// the clock, and attributes of threads and processes. It knows nothing of messages.
//
// Functions whose name ends in Holding keep the caller's P while they wait; their rules are those of
// netpoll.Poller.WaitHolding. All functions are safe for concurrent use.
package sys
