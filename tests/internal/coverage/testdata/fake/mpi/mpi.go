// Package mpi is a small stand-in, by which the tests of the generator know what it must find.
package mpi

// Comm is a communicator (MPI 4.1, chapter 7).
type Comm struct{ *inner }

type inner struct{}

// Dup copies c (MPI 4.1, section 7.4.2).
func (c *inner) Dup() *Comm { return &Comm{c} }

// Name is c's name (MPI 4.1, section 7.8).
func (c *Comm) Name() string { return "c" }

// Free frees c (MPI 4.1, section 7.4.3).
func (c *Comm) Free() {}

// Pair has fields.
type Pair[T any] struct{ First, Second T }

// Request is a request.
type Request struct{}

// Free frees r.
func (r *Request) Free() {}

// Incoming is a Request with data.
type Incoming struct{ *Request }

// Data is the data. It is no procedure's.
func (i *Incoming) Data() []byte { return nil }

// Send sends (MPI 4.1, section 3.2.1).
func Send[T any](c *Comm, buf []T) error { return nil }

// Recv receives (MPI 4.1, section 3.2.4).
func Recv[T any](c *Comm, buf []T) error { return nil }

// Bcast broadcasts (MPI 4.1, section 6.4).
func Bcast[T any](c *Comm, buf []T) error { return nil }

// ReduceScatter reduces (MPI 4.1, section 6.10).
func ReduceScatter[T any](c *Comm, buf []T) error { return nil }

// ReduceScatterBlock reduces (MPI 4.1, section 6.10).
func ReduceScatterBlock[T any](c *Comm, buf []T) error { return nil }

// Alone is called by nobody.
func Alone() {}

func Bare() {}
