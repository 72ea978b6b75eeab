// Package chaos breaks jobs on purpose and classifies how they end.
//
// A run is a job of fitrun whose ranks, copies of the test binary, exchange messages of every
// protocol as fast as they can. Each payload says which rank sent it, to which, as which message of
// its stream and how long it is. What it must contain follows from that, so a receiver notices
// loss, duplication, disorder and damage. The ranks reach each other through a proxy. Meanwhile
// faults come by a schedule that is drawn from a seed. Processes are killed, stopped and continued.
// Connections are reset, cut in the middle of a frame, stalled, slowed down, and lose what was
// written to them. Disks are full, descriptors run out.
//
// A run's verdict follows from which faults a job must survive and which may end it. It wants
// success, or the right error at every rank and from fitrun, within a stated time; and nothing
// left: no process, no file, no socket.
//
//	go test ./tests/chaos                                               a few schedules of fixed seeds
//	go test ./tests/chaos -run 'TestChaos$' -chaos.for 20m              drawn schedules for 20 minutes, and a table
//	go test ./tests/chaos -run 'TestChaos$' -chaos.seed 77 -chaos.runs 1 -v   the schedule of a seed once more
//	go test ./tests/chaos -run 'TestSoak$' -soak.for 1h                 no faults, everything at once, and nothing may grow
//
// The same seed gives the same job and the same faults in the same order; when exactly they strike
// depends on the machine. docs/RELIABILITY.md has what was found.
package chaos
