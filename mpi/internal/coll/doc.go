// Package coll holds the collective algorithms of MPI (MPI 4.1, chapter 6). An algorithm does not
// communicate: it appends the sends, receives and local steps of one rank to a [Graph], and the
// implementation of Graph executes them. So one algorithm serves the blocking, nonblocking and
// persistent form of a collective, and the arithmetic of a reduction advances without its caller.
//
// # Use
//
// Every rank of the communicator calls the same function with the same root, lengths, algorithm and
// reduction. The functions differ by kind of operand:
//   - plain ones (Bcast, Allreduce, ...) move bytes; every length is in bytes and known to the rank
//     that needs it. Operands and results are a [Buf], which is memory or a layout of it: those
//     that do not combine need not know which, reductions pack segments;
//   - v-forms (Gatherv, ...) take counts and displacements in bytes;
//   - object forms (BcastObject, ...) move serialised values whose size is not known while the
//     schedule is built.
//
// The algorithm [Auto] stands for the choice of the Choose function. Any other is a preference: one
// that the collective does not have, or that its operands do not allow (Ring with a reduction that
// does not commute), gives way to Auto, at every rank alike.
//
// The first step starts when every step of after is complete. The result lists steps: when they are
// complete, so is this rank's part, its results are there and its operands may be reused.
//
// # What a schedule may rely on
//
//   - A schedule may be run again after it completed (persistent collectives): operands are read by
//     steps, never while building.
//   - A Graph may do a step as soon as it is added, if those that it comes after are done: what the
//     step uses is set before.
//   - Messages of different streams ([Graph.Stream]) do not match.
//   - Temporary memory is allocated while building, from the Graph if it is a [Scratcher], and
//     lives as long as the schedule.
//   - in and out may be the same slice where the function says "in place"; they never overlap
//     otherwise.
//
// # Order of messages
//
// Messages of one schedule between one pair of ranks match in the order in which their steps start
// at each end. Steps that become ready at the same time start in the order of their creation. So of
// two steps with the same peer and direction the first starts first if the second waits, directly
// or not, for the first itself or for everything that the first waits for. Every algorithm here
// keeps to that rule at both ends; the tests check it for every pair of steps.
//
// # Order of operands
//
// A reduction combines contiguous ranges of ranks only, the lower on the left, so that an operation
// that does not commute is right, unless the algorithm says that it needs a commutative one. All
// ranks of Allreduce hold the same bits, and the same call gives the same bits on every run: which
// operand meets which depends on ranks, size, layout and algorithm, never on time. (MPI 4.1, 6.9.1:
// "It is strongly recommended that MPI_REDUCE be implemented so that the same result be obtained
// whenever the function is applied on the same arguments, appearing in the same order.")
//
// # Segments
//
// A reduction of a long vector is one of segments, a few of which are under way at once in streams
// of their own, so that temporary memory does not grow with the vector. How long they are follows
// from the number of ranks alone. To the algorithms a segment is all there is.
//
// # Hosts
//
// A Graph that is [Placed] tells which ranks share a host ([Places]). The algorithm [TwoLevel] then
// works inside each host and between one leader of each: the root on its own host, the lowest rank
// elsewhere. Both parts are flat algorithms over the ranks concerned; the second starts at a rank
// when its part in the first is complete, or sooner where all its messages go to other ranks. Flat
// algorithms take the ranks host by host where their order does not matter. So which operand of a
// reduction meets which depends on the layout too: the same layout gives the same bits on every
// run.
//
// A reduction whose operation does not commute knows of hosts only if the ranks of every host are
// contiguous. If all ranks share a host, or no two do, everything is as if nothing were known.
//
// # Cost
//
// Comments give the cost for p ranks and n bytes as rounds (latency) and bytes that the busiest
// rank sends or receives (bandwidth). lg is the logarithm to base 2, rounded up.
package coll
