// Package abi is the constants of MPI's standard ABI in Go (MPI 5.0, annex A.1): handles, error
// classes, and numbers that stand for something else.
package abi
