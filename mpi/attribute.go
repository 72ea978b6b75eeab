//go:build linux

package mpi

// attributes are what users and libraries have cached on one communicator.
type attributes struct{}
