// Package cabi will be the C library of FitMPI: libmpi_abi.so.0, with the standard ABI of MPI 5.0.
// So far there is what the library is generated from, and the first of what is generated:
//
//   - package facts is a table of each procedure, type and constant, in text;
//   - include/mpi.h is the header, for C99, C11 and C++17;
//   - package internal/procedure numbers the procedures;
//   - COVERAGE.md says which of them are there.
//
// After a change of the table, go generate renews the rest; a test says if that was forgotten.
package cabi

//go:generate go run ./internal/gen
