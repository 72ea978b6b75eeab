// Compare measures FitMPI beside Open MPI, MPICH and raw sockets on this machine, and
// writes docs/BENCHMARKS.md and the pages in docs/benchmarks:
//
//	go run ./bench/compare                      everything, as root on Debian
//	go run ./bench/compare -list                what it would run, and for how long
//	go run ./bench/compare -quick               every experiment once, with few sizes
//	go run ./bench/compare -only 'isend-wait'   some experiments
//	go run ./bench/compare -only solve          time to solution
//	go run ./bench/compare -from docs/bench/rows.csv   the pages again, without measuring
//	go run ./bench/compare -add xeon-8          a further machine, beside those that the pages have
//	go run ./bench/compare -judge -from docs/bench/rows.csv  which targets are reached
//
// It installs the Debian packages of the peers, builds fitrun, fitbench and bench/peers,
// and runs everything interleaved: for each repeat, for each experiment, each contender
// in turn, so that what the machine does meanwhile meets all of them alike. The rows of
// all runs are kept in docs/bench/rows.csv, what else the pages say (machine,
// versions, failures) in docs/bench/run.json, and figures beside them. Further machines
// have the same two files in docs/bench/machines/NAME.
//
// What is measured is in bench/METHOD.md. What is run, and what is made of it, is data
// here: contenders (contenders.go), experiments (experiments.go), the rows of the first
// page (headlines.go), the sections of the others (sections.go, topics.go) and the targets of the
// project (criteria.go).
//
// Rows of rows.csv are those of METHOD.md, which also says what this program adds to them.
package main
