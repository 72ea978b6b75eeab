// Package mpi is message passing for Go programs: many copies of a program, the
// ranks, that work on one problem and send each other messages, after the MPI
// standard and with its names.
//
//	func main() {
//		mpi.Main(func(ctx context.Context, world *mpi.Comm) error {
//			right, left := (world.Rank()+1)%world.Size(), (world.Rank()+world.Size()-1)%world.Size()
//			in := mpi.Irecv(world, ghost, left, 0)  // ghost is []float64
//			out := mpi.Isend(world, edge, right, 0)
//			computeInterior()                       // messages move meanwhile
//			if _, err := mpi.WaitAll(in, out); err != nil {
//				return err
//			}
//			return mpi.Allreduce(world, mine, sum, mpi.Sum)
//		})
//	}
//
// Start it with the launcher: fitrun -n 4 ./program. Without a launcher it is a
// job of one rank, or of as many as FITMPI_RANKS says, as threads of the process:
// FITMPI_RANKS=4 go run . works on macOS and Windows too, the launcher on Linux. RunThreads
// runs ranks as threads of the calling process.
//
// # API rules
//
// Names follow from a few rules, and a test holds them:
//
//   - What moves data, or is generic, is a function: Send(c, buf, 1, 0), WinCreate(c, mem, nil).
//     All else that concerns an object is its method: c.Split(0, 0), c.ProcessorName().
//   - A function that makes an object has a name that begins with its type, as in MPI: InfoCreate,
//     FileOpen, KeyvalCreate. Those of datatypes say the layout: Vector.
//   - A getter has no Get, as Comm.Name, except where MPI's users know no other name: GetCount.
//   - Hints are an *Info, the last argument before a handler, and may be nil; other options are a
//     struct, as Threads. There are no twins for them. Only what takes a context besides has one,
//     with Context at the end, as in the standard library: RunThreadsContext.
//   - With in front returns the same object that behaves otherwise: Comm.WithType. RegisterMetrics
//     registers.
//   - A buffer of a communicator or session is AttachBuffer's, that of the job AttachJobBuffer's.
//   - Results have names where these tell something; an error is err.
//
// # Messages move while you compute
//
// Every rank has a worker, a goroutine on a thread of its own, that sends and
// receives whatever there is to send and receive, while the program computes.
// Isend and Irecv start; Wait finds the work done. Where a host has less than two
// cores for each of its ranks the worker looks once in some milliseconds, so as not to
// take them from the program, and Isend writes what the system takes at once.
//
// A message that many goroutines compute together may be sent in partitions, each as
// soon as it is ready: see PsendInit.
//
// # Types
//
// Operations are functions over []T. A T without pointers travels as memory.
// Any other T is serialised by the same call: by its own BinaryAppender or
// BinaryMarshaler, else by encoding/gob, which sends exported fields only; if gob
// cannot carry T, by its own TextAppender or TextMarshaler, as *regexp.Regexp has it.
// A T of one's own codec needs these methods and no more. The receiver must use the
// type that was sent. SendValue and RecvValue move one value, AllreduceValue and its
// like are collectives of values, RecvNew receives a message of unknown length.
//
// Where T is an interface, or has one inside, the types of the values in it must be
// made known to gob: every rank calls gob.Register with a value of each, before it
// sends or receives one. Without that the call fails with ErrType and names the type.
//
// gob does not tell some values apart. An empty slice arrives as nil, as does a pointer to zero in
// a field of a struct; negative zero in a field arrives as zero, a nil map that is an element
// arrives empty. A pointer in an interface arrives as a value if gob.Register was given a value,
// and the reverse. What is shared arrives once for each reference. What cannot arrive whole fails
// with ErrType: a value that refers to itself, or is nested deeper than 1,000,000 levels, and one
// with a channel or function in an exported field, also where an interface holds it. A type to
// which that matters has a MarshalBinary of its own.
//
// A struct without pointers travels without its padding. A buffer of which only some values are
// meant has a layout, a Datatype. TypeOf, Vector, Indexed, Subarray, Struct and their like make
// one. Comm.WithType returns the communicator with that layout for the buffers of calls made
// through it, whatever the operation. Alltoallw takes a Datatype for each rank. Pack and Unpack do
// the same with memory.
//
// Ranks of a job may run on machines of different byte orders: values are converted.
//
// # Buffers
//
// A buffer given to a blocking call is the library's until the call returns; one
// given to a nonblocking call until Wait or a successful Test. In between it must
// not be written to, and a receive buffer must not be read.
//
// # Collective operations
//
// Barrier, Bcast, Reduce and their like are called by every rank of the communicator, in the same
// order everywhere, with the same root, operation and lengths that fit each other. They return when
// this rank's part is done, which but for Barrier says nothing of the others. Each has a form with
// I that starts it and returns a Request, to which the buffers belong until Wait or a successful
// Test. A form with Init makes a persistent Request, which each Start starts anew. Counts are
// lengths of slices, in elements. So in is as long as this rank's share of out. A buffer that only
// counts at the root may be nil elsewhere. Giving the same slice as in and out stands for
// MPI_IN_PLACE where a comment says so; slices that overlap in part are a mistake. Wrong arguments
// give an error before anything is sent. The class is ErrRoot for a root that is none, ErrCount for
// lengths and counts that do not fit, and ErrBuffer for slices that overlap. It is ErrOp for a nil
// operation, and ErrType for a T that can neither travel as memory nor be serialised. Where ranks
// differ in lengths or root, they may get an error of class ErrTruncate, or wait for ever: see
// Checking.
//
// # Files
//
// FileOpen opens a file for all ranks of a communicator. File.SetView says what a rank sees of it,
// by a Datatype. FileReadAt, FileWriteAll and their like move data between it and a buffer. They do
// so at an offset, at the rank's own file pointer, or at the pointer that all ranks share. Each
// rank does so alone or all together, with a Request or without. Errors of files are returned,
// unless a handler of the file says otherwise.
//
// # Sessions
//
// A library can communicate without asking what else in the program does. SessionInit opens a
// session, GroupFromPset names ranks, and CommCreateFromGroup makes a communicator of them. All
// that works without Init, before it, beside Main or after Finalize, as often as one likes.
//
// # Errors
//
// Under Main, and in RunThreads, an error of an operation is returned. It is an *Error that names
// the operation, the line of the caller, the ranks and the cause, and errors.Is finds its class
// (ErrTruncate, ErrProcFailed, ...). What the function returns ends the job, with one message. So
// the words that callers add (fmt.Errorf("block 7: %w", err)) are in it, and what is deferred runs.
// An error that the program ignores ends nothing. After Init, without Main, there is no function to
// return from: an error ends the job there, as MPI has it (ErrorsAreFatal).
//
// SetErrhandler chooses another handler for a communicator, and FITMPI_ERRHANDLER the first one of
// everything: fatal, abort or return. Files begin with ErrorsReturn in any case. Programs and
// libraries can add classes and codes of their own (AddErrorClass, AddErrorCode) and hand errors to
// the handler of a communicator (CallErrhandler). That a context of WithContext has ended is
// returned whatever the handler.
//
// # Failures
//
// When a rank dies the job ends, unless it was started to go on (fitrun --with-ft,
// Threads.FaultTolerant) and errors are returned, as under Main. Then operations that need the dead
// rank fail with ErrProcFailed, and collectives of its communicators fail so at every rank. The
// survivors can say so to each other (Revoke), find out which ranks are left (Failed, AckFailed)
// and go on without the dead one. Die lets a program try that. docs/FAULTS.md is the guide.
//
// # Checking
//
// With FITMPI_CHECK=1 (fitrun --check), the same at all ranks, a receive whose buffer is of other
// types than the message fails with ErrType and names both (MPI 4.1, section 3.3.1). The kinds of
// all values are compared, in their order, so that structs and layouts match where MPI says so;
// bytes match every plain type, and objects need the Go type that was sent. Of messages of Bsend
// the kind alone is compared; partitioned ones are compared as a whole. Collectives begin with a
// comparison of operation, root and element type: a difference fails at all ranks, with ErrNotSame
// or ErrType.
//
// Wait and its family return an error of class ErrBuffer if what a nonblocking or persistent
// operation sends was changed before it was complete. That holds for sends between two ranks
// (Isendrecv included) and for partitions from Pready on. It holds for collectives over both kinds
// of communicators and over neighbours, with counts, displacements and layouts. What is not sent,
// as between blocks, is the program's. Objects, Ibsend and BsendInit are not looked at, since they
// send copies. Nor are operands of collectives, and of Isendrecv, that share memory with what the
// call receives into. Nor are buffers that are received into, what blocking calls send, and the
// memory of one-sided operations and of files.
//
// Finalize tells of requests that were never completed, with ErrRequest, and of messages that were
// never received, with ErrOther. It does so for the world and what was made of it; Session.Finalize
// does so for its session. What reaches a rank after its Session.Finalize is not told.
//
// Messages are longer and copied once more then, what is sent is copied and compared, and every
// collective waits for all ranks: it is for finding errors, not for production.
//
// # Attributes
//
// A library can cache a value of any type on a communicator, under a Keyval, and
// says what becomes of it when the communicator is duplicated or freed; on a Datatype
// it is a TypeKeyval, on a window a WinKeyval.
//
// # Concurrency
//
// The thread level is always MPI_THREAD_MULTIPLE: goroutines may communicate
// side by side. One Request belongs to one goroutine at a time, and the
// collectives of one communicator are started by one goroutine at a time, in the
// same order at all ranks.
//
// # Threads as ranks
//
// Ranks may be threads of one process: RunThreads makes such a job within any
// program, and fitrun --ranks-per-process puts several ranks of a job into each
// process that it starts, where Main runs them. Long messages between them are
// copied once, from the sender's memory to the receiver's.
//
// Each of them is a rank in all that this package does: it has a world, requests,
// error handlers, an attached buffer and a worker of its own. But a process has its
// package variables once, as it has its environment and its working directory, and
// all of its ranks see them. So what a rank has of its own belongs in variables of
// its function, and what is in package variables is guarded like anything that
// goroutines share. If one rank ends the process, all its ranks end.
//
// A communicator belongs to the rank that got it. Goroutines of a rank may use it, whichever
// goroutine starts them; no other rank may.
//
// Ranks that write small things side by side in memory slow each other down, for the
// processor moves whole lines of 64 bytes between cores. Slices of 8 bytes may lie so
// although each rank has made its own. With 128 bytes for each, windows of short
// messages went twice as fast.
//
// In the terms of McMPI, which proposed thread levels beyond MPI's, this is THREAD_AS_RANK with two
// differences. The function decides which thread is a rank, not a call of Init by the thread. Each
// rank may have many threads itself, as at MPI_THREAD_MULTIPLE. McMPI's other level,
// THREAD_FILTERED, has no counterpart here: a rank's threads keep their messages apart by tags, or
// by communicators made with Dup.
//
// # How messages travel
//
// Each pair of ranks uses the fastest way that both have: the memory of their process,
// memory that the launcher makes for the processes of one host, or TCP. Transport
// says which; FITMPI_TRANSPORT (fitrun --transport) restricts the choice. With FITMPI_TLS=1
// connections are encrypted, each rank proving by a certificate that it is of the job. Collectives
// combine what the ranks of a host have before they talk to other hosts.
//
// # One-sided communication
//
// A window (WinCreate, WinAllocate, WinCreateDynamic) is memory that other ranks read and change by
// Put, Get, Accumulate and their like. They do so in epochs: between two calls of Fence, between
// Start and Complete for targets that called Post, or between Lock and Unlock. What a target has to
// do is done by its worker, while its program computes. See Win.
//
// # Time and cancellation
//
// Comm.WithContext bounds the blocking calls made through the value it returns.
//
// # Source
//
// For readers of the source: a program needs none of this. docs/ARCHITECTURE.md shows the way of a
// message.
//
//	p2p_*    messages between two ranks, requests, buffers of Bsend
//	coll*    collectives, by the algorithms of package coll
//	comm*    groups, communicators, topologies, attributes
//	type_*   element types, datatypes, serialisation
//	win*     one-sided communication: package rma says how an operation goes
//	file*    files: package fileio says where bytes lie
//	fault*   ranks that fail, agreement, checkpoints
//	job*     the life of a job: joining, cards, configuration, errors, sessions, threads
//	tool*    tools, checks, metrics, traces, and what a rank waits for (package telemetry)
//
// How two ranks reach each other follows from the cards of both, so both find the same. A rank
// listens at the loopback interface if its job is on one host and nothing else is asked, else at
// addresses that package netif picks. Cards also say which ranks share a host, and how near its
// ranks are. A topology that may reorder places ranks by such levels: hosts first; inside each
// those that share memory; then the package, NUMA node, cache and core that their processes are
// bound to; threads of one process last.
//
// An algorithm of package coll lists steps. It moves parts of a coll.Buf, which is memory or a
// layout (docs/decisions/0020). A blocking collective between ranks that share memory does what it
// can while its algorithm lists the steps. The rest is a schedule, which the engine runs.
//
// Functions of the user's run on the goroutine of the call that has them called, without the
// engine's mutex and without its progress right. There are two exceptions. Those that are steps of
// a collective run beside the goroutine that makes progress (docs/decisions/0064). The methods
// Message and Turn of tools are called where the engine has something to report. A tool that ends
// its goroutine there ends the process.
//
// A rank that learns that another has failed ends the collectives of all communicators that the
// other belongs to, and informs ranks that may not know (docs/decisions/0033). What the function of
// Main returns aborts the job through the launcher, which ends every rank.
//
// The mutex of a window (win.mu) is not held while something is posted, nor that of what is known
// of failures (faults.mu) in any call of the engine. Such a call may make progress, and so run
// handlers of this rank.
package mpi
