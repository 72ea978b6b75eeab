// Package tests holds the suites that look at FitMPI as a whole: the rule of who may import whom, and whole jobs of real
// processes. It has no code of its own; go test ./tests runs it.
package tests
