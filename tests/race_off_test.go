//go:build !race

package tests

const raceEnabled = false

// farSize is the length of long vectors.
const farSize = 100_000
