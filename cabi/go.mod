// The C library, in a module of its own: it needs a C compiler, which the rest of FitMPI does not.
module github.com/fitmpi/fitmpi/cabi

go 1.26.0

require github.com/fitmpi/fitmpi v0.0.0

require golang.org/x/sys v0.49.0 // indirect

replace github.com/fitmpi/fitmpi => ../
