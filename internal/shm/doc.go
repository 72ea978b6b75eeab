// Package shm carries records of bytes between two parties that share memory, and lays out the
// memory that the processes of one host share. It knows nothing of messages.
//
// A ring has one Writer and one Reader. In one process its memory is Alloc's; between processes it
// is part of a Segment: a memfd that one process makes with Create, hands to the others over a Unix
// socket, and that each maps with Open. Beside a ring for each ordered pair of ranks the segment
// holds a Block for each rank, which says whether the rank sleeps and offers long payloads.
// ReadProcess fetches those straight from the memory of the process that offers them, and ReadsFast
// says whether that is worth it on this machine.
//
// # Trust
//
// The other side of a ring may be a process that has crashed, or that writes anything anywhere in
// the shared memory at any time. Neither side keeps in shared memory what it relies on: a Reader
// takes a record's length from the control word once and checks it, a Writer checks what the reader
// says it consumed. What cannot be is reported by Err as ErrCorrupt, and nothing outside the ring
// is ever read or written. The bytes of a record may still change while they are looked at: its
// decoder copies each field once.
//
// # Concurrency
//
// A Writer and a Reader each belong to one goroutine at a time; the two need no lock between them.
// The fields of a Block are atomics and belong to all. A Segment is immutable until Close, which
// nothing that was taken from it survives.
//
// # Sleeping
//
// A reader that wants to sleep sets Block.Armed, then looks at its rings once more; a writer that
// has put a record looks at Armed, and wakes the reader if its Swap(0) finds it set. A writer
// without room calls Block, and sleeps if that says no; the reader's Release says when to wake it.
// Both pairs order "note, then look" on one side against "publish, then look" on the other by
// sequentially consistent atomics. So neither side sleeps while there is something to do. A record
// of PutHeaded is published by a plain store: its writer releases a mutex before it looks.
//
// # Limits
//
// Linux, 64-bit, up to MaxRanks ranks, byte order and layout of one host. Size bounds the memory of
// a segment; pages that no ring has touched take none. They are taken when first touched: on a host
// or in a container without any left, that ends the process that touches, like any use of memory
// there.
package shm
