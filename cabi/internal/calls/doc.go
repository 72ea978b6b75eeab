// Package calls is what MPI's functions in C do, on top of package mpi: the Go half of the library,
// without what needs cgo.
//
// Each function has a handler, which gets the arguments as words of 64 bits: numbers, and addresses
// of the caller's memory. A function and its twin for large counts share one. A function without a
// handler is not there yet, and says so.
//
// What is wrong with an argument is found where it is read: accessors such as call.comm and
// call.buffer end the handler by a panic with a *failure, which Call recovers. Errors of package
// mpi are returned. Either way Call gives the error to the error handler that the standard names.
//
// Handles are small numbers, by which tables find objects: no Go pointer is kept in C.
package calls
