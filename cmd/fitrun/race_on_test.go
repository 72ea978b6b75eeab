//go:build race

package main

// withRace says that the race detector is on, which takes terabytes of address space.
const withRace = true
