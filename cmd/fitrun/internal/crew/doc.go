// Package crew runs the ranks of a job that are on one host. It starts their processes, watches
// them, carries what they say to the leader of the job, and sees that nothing of them is left.
// fitrun leads the crew of its own machine, and an agent of package agent that of every other.
//
// # Nothing outlives the leader
//
// Each process is the leader of its own process group. When it has exited, and before it is reaped,
// what is left of its group is killed. Descendants that left the group become children of the
// process that has the crew (a child subreaper), which kills them by [SweepOrphans] when the job is
// over. If that process itself is killed, the kernel kills the ranks (parent death signal). The
// [Guard] then kills the rest of their groups, and whatever has the mark of the crew in its
// environment (boot.MarkVariable), which all descendants inherit. The guard is a second process
// that does nothing but wait for that. A guard that dies is replaced. So only a descendant that has
// cleared its environment and made its own session survives the death of the leader by SIGKILL.
// What ranks share has no name, so it ends with the last process that holds it.
package crew
