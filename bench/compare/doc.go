// Compare measures FitMPI beside Open MPI, MPICH and raw sockets on this machine, and
// writes docs/BENCHMARKS.md:
//
//	go run ./bench/compare                      everything, as root on Debian
//	go run ./bench/compare -list                what it would run, and for how long
//	go run ./bench/compare -quick               every experiment once, with few sizes
//	go run ./bench/compare -only 'isend-wait'   some experiments
//	go run ./bench/compare -only solve          time to solution
//	go run ./bench/compare -from docs/bench/rows.csv   the document again, without measuring
//
// It installs the Debian packages of the peers, builds fitrun, fitbench and bench/peers,
// and runs everything interleaved: for each repeat, for each experiment, each contender
// in turn, so that what the machine does meanwhile meets all of them alike. The rows of
// all runs are kept in docs/bench/rows.csv, what else the document says (machine,
// versions, failures) in docs/bench/run.json, and figures beside them.
//
// What is measured is in bench/METHOD.md. What is run, and what is made of it, is data
// here: contenders (contenders.go), experiments (experiments.go), the targets of the
// project (criteria.go) and the sections of the document (sections.go).
//
// Rows of rows.csv are those of METHOD.md, which also says what this program adds to them.
package main
