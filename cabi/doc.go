// Package cabi is the C library of FitMPI: libmpi_abi.so.0, with the standard ABI of MPI 5.0, by
// which programs in C and C++ run on the engine of package mpi. docs/C.md is the manual;
// COVERAGE.md says which functions are there. Build it with
//
//	go -C cabi run ./build
//
// # Two halves
//
//   - The C half (chalf, libmpi_abi.so.0) has the functions, each under two names: PMPI_Send, and
//     MPI_Send as a weak alias that a tool may replace. Most are generated: they gather their
//     arguments as words of 64 bits and enter Go by number, so that the form with int and that with
//     MPI_Count are one. Clocks, statuses, and the completion of requests that are done are written
//     by hand and do not enter Go.
//   - The Go half (gohalf, libfitmpi_go.so) is package internal/calls on top of package mpi, which
//     has all semantics: there is no second implementation of any protocol. It is loaded by the
//     first call that needs it, so a program that only links MPI has no Go runtime.
//
// # A call
//
//	MPI_Isend                                       chalf/entries_gen.c
//	  words, number: fit_call                       chalf/load.c: loads Go, the first time
//	calls.Call: the handler of the number           internal/calls/call.go
//	  handles to objects, by tables                 handles.go
//	  buffer: elements of a kind, or a layout       buffers_unsafe.go, datatypes.go
//	  mpi.Isend of []int32, or []byte under WithType
//	  done at once: a slot of the slab, with its status
//	  else: the request is kept by its slot's place requests.go
//	  an error: the error handler of the object     errors.go
//	MPI_Wait                                        chalf/requests.c
//	  the slot says done: status copied, slot freed, without Go
//	  else into Go: mpi.Request.Wait                complete.go
//
// # Rules
//
//   - C holds no Go pointer: handles are places in tables of Go, requests are slots in memory that
//     both halves map.
//   - Functions of the program (operations, error handlers, attributes, generalised requests) are
//     called with no lock held, and may call MPI where the standard lets them.
//   - Threads of Go block all signals but those that its runtime needs, so handlers of the program
//     run on its own threads, which get alternate stacks for them (chalf/stack.c). A child of a
//     fork may exec; a call of MPI there ends it with a message.
//   - Elements keep their kinds: MPI_INT meets []int32 of a rank in Go. Where a datatype is no
//     plain array of a kind, bytes travel under a layout, and match every kind.
//
// # Libraries with the interface of another
//
// libmpich.so.12 and libmpi.so.40 (dialects) are for programs that were built for MPICH and Open
// MPI. Each holds the C half with other names for its functions, and functions that convert:
//
//	MPI_Isend                                       dialects/mpich/entries_gen.c
//	  handles, constants, addresses                 convert_gen.h: tables, generated
//	abi_Isend: as above                             chalf/entries_gen.c, by chalf/inner_gen.h
//	  handles, statuses, error code back            status_convert.h, codes_gen.c
//
// A handle that is not predefined is the same number in all interfaces. What a program gives to be
// called, Go calls by fit_foreign (dialects/callbacks.c), which converts the arguments. Functions
// whose memory has numbers in it that no type tells are written by hand, in dialects; so are those
// that another library has beside the standard, as MPICH's for Fortran want them.
// docs/decisions/0070 says why.
//
// # Generated code
//
// Package facts is the table of all procedures, types and constants of the standard, and of the
// numbers that other libraries have for them. From it come include/mpi.h, the entry points, the
// conversions, and the constants in Go. After a change of the table, or of what the Go half has, go
// generate renews the rest; tests say if that was forgotten. suites/mpich runs MPICH's own tests,
// suites/programs programs of Debian.
package cabi

//go:generate go run ./internal/gen
//go:generate go run ./internal/coverage
