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
// anyone asked. Both are indexed so that a match costs the same at any depth
// (match.go).
//
// # Order
//
// Messages from one peer match in the order of their Eager and RTS frames, and
// receives match in the order in which they were posted (MPI 4.1, section
// 3.5: messages are nonovertaking).
package core
