// Package buffer is the library's memory. [Pool] has byte-budgeted blocks for the send buffer and
// for messages that arrive before a receive asks for them. [Attached] is an allocator inside one
// slice that the user lent. [Ring] is the queue that holds what waits to be written. The package
// knows nothing of messages.
//
// Nothing here is safe for concurrent use: the owner of a value guards it, in the engine by the
// engine's mutex. Nothing allocates in steady state, that is once as much has been in use as will
// be in use.
package buffer
