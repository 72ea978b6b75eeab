// Package core is the engine's protocol: matching, the point-to-point
// protocols, credits and the execution of schedules, as a plain state machine.
//
// It starts no goroutine, takes no lock, reads no clock and makes no system
// call. The engine calls it with its mutex held, except where a method says
// otherwise, and acts on what comes out:
//
//   - bytes to write: NextDirty, Gather, Wrote;
//   - destinations for arriving payloads: OnHeader, OnPayload;
//   - work that is too long for the mutex (large copies, allocations, the
//     arithmetic of a reduction): NextJob, Job.Run (without the mutex), Finish;
//   - waiters to wake once the mutex is released: TakeWoken.
//
// # Queues
//
// The request queue holds the MSOs of posted receives and the sends that are on
// their way; the event queue holds the MSOs of messages that arrived before
// a receive asked for them. Both are indexed so that a match costs the same at any depth
// (match.go).
//
// # Order
//
// Messages from one peer match in the order of their Eager and RTS frames, and
// receives match in the order in which they were posted (MPI 4.1, section
// 3.5: messages are nonovertaking).
//
// # What goes in
//
// Posts, headers of frames, ends of payloads, bytes written, peers that come and go. Golden
// scenarios (testdata) drive the core over a fake network.
//
// # Layouts
//
// A payload that is not one piece of memory is a [Layout] in the MSO, instead of a buffer: a
// datatype, a struct with padding, values to be converted. The core packs a short one behind its
// header. The engine packs into a block of the send buffer what a blocking send, or the eager
// limit, allows. Any other is announced, and packed by jobs, 64 KiB at a time, as its Data frames
// leave. A [Sink] unpacks what is read. Package mpi makes the layouts (docs/decisions/0017).
//
// # What follows
//
// A collective is a [Schedule] and a partitioned message a pair of [Parts]. What follows when one
// of their messages is done is done by the core: by whichever goroutine makes progress, not by a
// call of the user's.
//
// A [Service] takes the messages of one context, and has a handler called for one after the other,
// as jobs. The windows of one-sided communication are served so (docs/decisions/0045). What a
// handler leaves is posted when it has returned. A service is no operation: it keeps no worker
// awake, and is not among what is pending.
//
// # Failure
//
// FailPeer completes every operation that needs a peer that has failed: sends to it, receives from
// it, receives and probes with a wildcard whose group it belongs to, and schedules. What is posted
// later and needs that peer completes at once. A wildcard receive that does not block (MSO.Patient)
// stays posted, and only its waiters are let go. Shut ends all that is of a context, such as that
// of a revoked communicator. resume.go has what is kept of a stream until it is acknowledged.
//
// # What is called with the mutex held
//
// The core calls the lane of a peer ([Local]), but for Fetch, and the [Observer]. It calls
// MSO.Member, Schedule.Member, Schedule.Differ and Schedule.Reason; MSO.Alloc of an eager message
// whose receive is posted; and the [Layout] of a payload that is short, or whose receive is given
// up. None of these may call the engine. All are short, with two exceptions. What withdraws or
// moves an offer, or ends a fetch, waits while a thread of the process copies a part of the
// payload. And what has come of a payload is copied whole when its receive is given up.
//
// # Limits
//
// The core knows no clock, and neither sockets nor rings. It names one environment variable,
// FITMPI_UNEXPECTED, in the text of an [UnexpectedError].
package core
