// Package trace is a flight recorder for a rank, and what makes a picture of the recordings of a
// whole job.
//
// A [Ring] is where a rank notes what it does: calls, messages, turns of its worker, collectives
// and regions of its user's. The launcher makes its memory and hands it to the rank. The memory
// lives as long as a process holds it. So the launcher reads it however the rank has ended, and the
// rank need not do anything at its end. The ring holds the last events; older ones are overwritten
// and counted.
//
// A [Source] is what the launcher reads of the rings of a process when that is dead, and passes on
// to where the trace is made. There [Decode] reads it: all of it may be garbage, as the rank could
// write anything there. [Convert] makes a file in the Trace Event format of it, which Perfetto
// (ui.perfetto.dev) and chrome://tracing open.
//
// # Concurrency
//
// Every goroutine of a rank may note events at any time: noting takes one atomic addition, four
// stores to memory and a look at the clock. A writer may be stopped in the middle for so long that
// others have gone round the ring and write where it does. Nothing is done against that, but each
// event carries a sum over its words and its round, so a reader drops an event that is not whole.
//
// # Clocks
//
// Times are CLOCK_MONOTONIC's, which all processes of a host share unless they are of different
// time namespaces. Those of other hosts are brought to the clock of the launcher by a [Clock],
// which says how well that is known.
//
// # Limits
//
// One ring has names for at most MaxNames strings of its user's; what comes later is called
// "(other)".
package trace
