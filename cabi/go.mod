// The C library, in a module of its own: it needs a C compiler, which the rest of FitMPI does not.
module github.com/fitmpi/fitmpi/cabi

go 1.26.0
