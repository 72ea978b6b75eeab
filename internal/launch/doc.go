// Package launch is fitrun's working parts: it plans a job, starts its ranks, watches them, and ends them.
//
// The way of a job, one file each:
//
//	program.go, build.go   a name from the command line becomes a binary
//	plan.go, bind.go       a [Request] becomes a [Job]: its [Rank]s, and the [Process]es that hold them, with their cores
//	shared.go              memory and bells that the ranks of this host share
//	supervisor.go          the state machine of a job: what happened goes in, what to do comes out through hands
//	member.go, abort.go    the same for the ranks, and for an abort that may be the consequence of a death
//	report.go              how ranks and their ends are named in messages
//	run.go                 [Run]: the loop that drives the supervisor; the only goroutine that touches it
//	starter.go, process.go a planned process becomes one of this machine
//	console.go, lines.go   the ranks' output, whole lines only
//	guard.go, sweep.go     nothing outlives fitrun
//
// # Nothing outlives fitrun
//
// Each process is the leader of its own process group. When it has exited, and before it is reaped, what is
// left of its group is killed. Descendants that left the group become children of fitrun (a child subreaper), which kills
// them when the job is over. If fitrun itself is killed, the kernel kills the ranks (parent death signal), and the guard,
// a second fitrun process that does nothing but wait for this, kills the rest of their groups. Only a descendant that made
// its own session survives the death of fitrun by SIGKILL. What ranks share has no name, so it ends with who holds it.
//
// # Who failed
//
// A rank has failed if it exits with a code other than 0, is killed by a signal, or exits with code 0 between Init and
// Finalize. The ranks of one process die together, and each counts as failed. The first failure ends the job: it is
// reported once, the others are told, then sent SIGTERM, then SIGKILL. The job's exit code is that of the lowest rank
// that failed on its own: one that exited before fitrun signalled it.
package launch
