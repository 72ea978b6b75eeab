// Package topo is the arithmetic of process topologies (MPI 4.1, chapter 8). It divides ranks into
// a grid, finds the way in it, and chooses which rank takes which place so that neighbours are near
// each other: on one host, and there in one part of the machine, and in one process.
//
// Everything here is a pure function: every rank of a communicator that calls one with the same
// arguments gets the same result, so that ranks need not talk to agree. Arguments are checked by
// Dims only; the other functions expect what their comments say.
package topo
