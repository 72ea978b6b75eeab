package boot

import (
	"slices"
	"strings"
)

// Environment variables by which a launcher tells a process which rank it is, of how many.
const (
	RankVariable = "FITMPI_RANK" // of this process
	SizeVariable = "FITMPI_SIZE" // ranks of the job
)

// RanksVariable is the environment variable by which a user says how many ranks mpi.Main is to run
// in a process that no launcher has started.
const RanksVariable = "FITMPI_RANKS"

// ShownVariable is the environment variable that has, as RANK/SIZE, what fitrun has set
// RankVariable and SizeVariable to.
//
// fitrun sets those two for programs to read: a wrapper around a rank, or one that is no rank at
// all. All descendants inherit them, and none may take itself for the rank: a rank talks to fitrun
// over a descriptor. So where the two have the values that fitrun gave them they are left out of
// what says which rank this is; where the user has set others they count.
const ShownVariable = "FITMPI_SHOWN"

// Shown is the value of ShownVariable.
func Shown(rank, size string) string { return rank + "/" + size }

// withoutShown is environ without RankVariable and SizeVariable if they are for reading only.
func withoutShown(environ []string) []string {
	shown, ok := lookup(environ, ShownVariable)
	rank, _ := lookup(environ, RankVariable)
	size, _ := lookup(environ, SizeVariable)
	if !ok || shown != Shown(rank, size) {
		return environ
	}
	return slices.DeleteFunc(slices.Clone(environ), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return name == RankVariable || name == SizeVariable
	})
}

// hintShown is what to do about variables that withoutShown has left out, "" if there are none.
func hintShown(environ []string) string {
	if _, ok := lookup(environ, ShownVariable); !ok {
		return ""
	}
	return "; those that fitrun sets for reading do not count: unset " + ShownVariable + " if they are meant"
}
