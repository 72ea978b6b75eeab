//go:build !linux

package mpi

// The compiler stops here and shows the reason.
var _ int = "FitMPI is for Linux: set GOOS=linux"
