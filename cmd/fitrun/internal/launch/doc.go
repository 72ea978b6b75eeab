// Package launch is fitrun's working parts: it plans a job, starts its ranks, watches them, and
// ends them.
//
// The way of a job, one file each:
//
//	program.go, build.go   a name from the command line becomes a binary
//	plan.go, bind.go       a [Request] becomes a [Job]: its [Rank]s, and the [Process]es that hold
//	                       them, with their cores
//	supervisor.go          the state machine of a job: what happened goes in, what to do comes out
//	                       through hands
//	member.go, abort.go    the same for the ranks, and for an abort that may follow from a death
//	report.go              how ranks are named in messages
//	run.go, events.go      [Run]: the loop that drives the supervisor, and is the only goroutine
//	                       that touches it
//	console.go, lines.go   the ranks' output, whole lines only
//
// What starts and watches the processes of one host is package crew.
//
// # Hosts
//
//	fitrun: supervisor -- runner -+- crew of this machine ------------------ ranks
//	                              +- client --- frames over ssh --- agent: crew --- ranks
//	                              +- client --- ... --- agent (relay) --- agent: crew --- ranks
//
// The supervisor is one state machine for the whole job, in fitrun. It acts on hosts. A host is the
// crew of this machine, or a client of an agent: fitrun on another host, which leads a crew there
// and passes on what it hears (package agent). What is of one host stays there: the shared segment,
// bells, binding, process groups, the guard.
//
// Nothing that the supervisor does waits for an answer. It asks which ranks are gone (a census),
// and what a silent process does (examine). Both are answered by events.
//
// Ranks are planned when all hosts have said what they are, and started only then. So when a host
// cannot be reached, no rank was started anywhere. Hosts beyond a fan-out are reached through
// others, which pass frames on. docs/LAUNCH.md says what users see of it, docs/PROTOCOL.md what is
// said.
//
// # Silent ranks
//
// Ranks say which others are silent (suspect.go). The crew of the host looks at the process first.
// A process that is held to be dead is ended for good before the other ranks hear that it has
// failed (docs/decisions/0032).
//
// # Which rank failed
//
// A rank has failed if it exits with a code other than 0, is killed by a signal, or exits with code
// 0 between Init and Finalize. The ranks of one process die together, and each counts as failed.
// The first failure ends the job: it is reported once, the others are told, then sent SIGTERM, then
// SIGKILL. The job's exit code is that of the lowest rank that failed on its own: one that exited
// before fitrun signalled it.
package launch
