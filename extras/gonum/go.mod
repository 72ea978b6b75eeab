// Matrices of gonum as buffers, and distributed ones: a module of its own, so that gonum is no dependency of FitMPI.
module github.com/fitmpi/fitmpi/extras/gonum

go 1.26.0

require (
	github.com/fitmpi/fitmpi v0.0.0
	gonum.org/v1/gonum v0.17.0
)

require golang.org/x/sys v0.49.0 // indirect

replace github.com/fitmpi/fitmpi => ../../
