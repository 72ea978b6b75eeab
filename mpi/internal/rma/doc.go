// Package rma is the pure part of one-sided communication (MPI 4.1, chapter 12). It defines what
// windows say to each other ([Request], [Answer]) and which memory of a target an operation
// concerns ([Block]). It also says which ranks hold the lock of a target ([Locks]), and which calls
// an origin may make when ([Epochs]).
//
// It has no goroutine, lock, clock or system call, and knows nothing of messages: its caller has
// those.
//
// # One operation
//
// This is what package mpi makes of Put and Flush:
//
//   - The origin checks arguments and epoch (Epochs) and makes blocks of the target's memory. It
//     sends a request in the window's served context, with the data if both fit into MaxMessage.
//     Longer data follow as a message of their own, from the user's memory.
//   - At the target the window's service gets the request. The goroutine that makes progress there
//     runs the handler, which copies the data, or posts a receive straight into the window. The
//     engine posts what a handler leaves when it has returned.
//   - Flush sends another request and waits for its answer. The target sends that when all requests
//     of this origin before it are done; for long transfers there is a queue. Fence is a flush of
//     all targets and a barrier, Unlock a flush that gives the lock back.
//
// An origin that has the target's memory, as a thread of its process or by shared memory, copies
// the data itself. Messages only begin and end epochs then (docs/decisions/0046).
//
// # Concurrency
//
// The caller sees to that. What others may do to a rank belongs to the handler of its service,
// which runs one event at a time: the lock (Locks), the queue of each origin. Values are combined
// under a mutex of the target. What a rank does to others has another mutex, which is never held
// while something is posted: under the policy caller a post makes progress, and so may run the
// handler of the same rank.
package rma
