// Command fitrun starts and supervises the ranks of a FitMPI job.
//
//	fitrun -n 4 ./prog arg ...            a binary
//	fitrun -n 4 ./examples/heat2d         a Go package, which is built first
//
// # Cores
//
// The cores that fitrun may use (its CPU affinity mask and its cgroup's CPU limit) are divided evenly: with C cores and N
// ranks each rank is given max(1, floor(C/N)) of them. No rank is pinned to its cores. Unless GOMAXPROCS is set, fitrun
// sets it to the rank's cores plus 1: the one more is for the rank's worker, which moves messages while all the others
// compute.
//
// # Failure
//
// The first rank that fails ends the job within a second: fitrun reports it once, tells the other ranks, and ends them by
// SIGTERM and then SIGKILL. No process of the job outlives fitrun. A rank fails if its exit code is not 0, if a signal
// kills it, or if it exits between mpi.Init and mpi.Finalize. Programs that never call mpi.Init may run under fitrun too.
//
// Run fitrun --help for options, environment and exit codes.
package main
