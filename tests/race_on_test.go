//go:build race

package tests

const raceEnabled = true

// farSize is the length of long vectors; of eight bytes each they go by rendezvous.
const farSize = 40_000
