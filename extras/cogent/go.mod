// The calls of Cogent Core's package mpi, for programs that have used that: a module of its own, for others do not need them.
module github.com/fitmpi/fitmpi/extras/cogent

go 1.26.0

require github.com/fitmpi/fitmpi v0.0.0

require golang.org/x/sys v0.49.0 // indirect

replace github.com/fitmpi/fitmpi => ../../
