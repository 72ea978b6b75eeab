// Command fitrun starts and supervises the ranks of a FitMPI job.
//
//	fitrun -n 4 ./prog arg ...            a binary
//	fitrun -n 4 ./examples/heat2d         a Go package, which is built first
//
// # Processes
//
// Each rank is a process of its own, unless --ranks-per-process puts several into one: then they
// are threads of it, which mpi.Main runs, and messages between them take the shortest way. What is
// said below of a rank that fails holds for all ranks of its process, which start and end together.
//
// # Cores
//
// The cores that fitrun may use (its CPU affinity mask and its cgroup's CPU limit) are divided
// evenly. With C cores and N ranks each rank is given max(1, floor(C/N)) of them, and a process
// those of its ranks, but at most C. Unless GOMAXPROCS is set, fitrun sets it to the cores of the
// process plus the number of its ranks: the one more is for the rank's worker, which moves messages
// while all the others compute.
//
// With --bind-to core a process runs on its cores only, on all of them: what it keeps away is other
// ranks. This is the default where the cores are divided without remainder and no cgroup limits
// them; with more ranks than cores nothing is bound. --report-bindings says what was done. Without
// --bind-to a worker that has no core to itself may run on any core of the job on its host, though
// its process is bound: where one is idle the kernel wakes it there.
//
// # Shared memory
//
// If a job has two processes or more, fitrun makes memory for its ranks to share, and hands it to
// them over the sockets by which they talk to it. It has no name, and is gone when the last process
// that has it is. --transport tcp makes none.
//
// # Failure
//
// The first rank that fails ends the job within a second: fitrun reports it once, tells the other
// ranks, and ends them by SIGTERM and then SIGKILL. No process of the job outlives fitrun. A rank
// fails if its exit code is not 0, if a signal kills it, or if it exits between mpi.Init and
// mpi.Finalize. Programs that never call mpi.Init may run under fitrun too.
//
// Run fitrun --help for options, environment and exit codes.
package main
