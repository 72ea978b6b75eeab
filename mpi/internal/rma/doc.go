// Package rma is the pure part of one-sided communication (MPI 4.1, chapter 12). It defines what
// windows say to each other ([Request], [Answer]) and which memory of a target an operation
// concerns ([Block]). It also says which ranks hold the lock of a target ([Locks]), and which calls
// an origin may make when ([Epochs]).
//
// It has no goroutine, lock, clock or system call, and knows nothing of messages: its caller has
// those.
package rma
