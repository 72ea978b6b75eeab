//go:build linux

package mpi

import "github.com/fitmpi/fitmpi/engine"

// The name of a context is a number of 64 bits: what it is for (3), the world rank that leads it
// (29), that rank's count of contexts (31) and the collective bit. A rank that leads a new context
// takes the next count and tells the others. So names never meet, whichever goroutines of whichever
// ranks make communicators at the same time. To tell the others needs a context too, one that both
// sides know without being told. Those are the contexts of the purposes below, which go with a
// communicator or a text.
const (
	// collectiveBit tells the collective context of a communicator from the other.
	collectiveBit engine.ContextID = 1
	// groupPurpose is for agreements about children of the communicator that not all of its ranks
	// take part in.
	groupPurpose engine.ContextID = 1 << 61
	// leaderPurpose is for the leaders that make an intercommunicator; they meet in that
	// communicator.
	leaderPurpose engine.ContextID = 2 << 61
	// innerPurpose is for the communicators of the local groups of an intercommunicator. Two have
	// the same context, but no rank in common.
	innerPurpose engine.ContextID = 3 << 61
	// bothPurpose is for the communicator of both groups of an intercommunicator.
	bothPurpose engine.ContextID = 4 << 61
	// textPurpose is for agreements about communicators without a parent; the other bits stand for
	// a text.
	textPurpose engine.ContextID = 5 << 61
	// partitionedPurpose is for partitioned messages over the communicator: their hellos and, with
	// the collective bit, their partitions.
	partitionedPurpose engine.ContextID = 6 << 61
	// agreePurpose is for the signals of agreements about the communicator; nothing is received
	// there.
	agreePurpose engine.ContextID = 7 << 61
	// contextFamily are the bits that all contexts of a communicator share.
	contextFamily = ^(purposes | collectiveBit)
	// purposes are the bits that say what a context is for.
	purposes engine.ContextID = 7 << 61
)

// The contexts that every job has: of the world, of the barrier of Finalize, and
// of each rank's self. Each number stands for two: point-to-point and collective.
const (
	contextWorld = iota
	contextFinalize
	contextSelf
	contextFirst
)

// contextID is the name of the n-th context that a rank leads.
func contextID(leader, n int) engine.ContextID {
	return engine.ContextID(leader)<<32 | engine.ContextID(n)<<1
}

// leadContext returns a context that no other communicator of the job has. Safe for
// concurrent use. After some two billion communicators names are used again.
func (j *job) leadContext() engine.ContextID {
	const most = 1<<31 - contextFirst
	return contextID(j.engine.Rank(), contextFirst+int(j.nextContext.Add(1)-1)%most)
}
