// Package sys is the part of Linux that the engine and the launcher need beside sockets: the set of
// processors, the clock, and attributes of threads and processes. It knows nothing of messages.
// Files named *_portable.go have what package mpi needs of it elsewhere, by what Go itself can do.
//
// All functions are safe for concurrent use.
package sys
