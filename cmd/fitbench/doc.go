// Fitbench measures FitMPI: latency, bandwidth, message rate, matching, and how
// well communication hides behind computation. Run it under fitrun, where its ranks
// are processes, or alone, where they are threads of its own:
//
//	fitrun -n 2 ./cmd/fitbench pingpong
//	fitbench -ranks 2 -plot pingpong.svg pingpong
//
// Built with -tags noplot it cannot draw, and is 4 MB smaller in memory; bench/compare
// measures with that one.
//
// bench/METHOD.md says what each test does and reports; bench/compare runs it beside
// Open MPI, MPICH and raw sockets.
package main
