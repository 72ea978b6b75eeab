// Package tests holds the suites that look at FitMPI as a whole: the rule of which package may
// import which, and whole jobs of real processes. It has no code of its own; go test ./tests runs
// it.
package tests
