//go:build race

package vec

// raceEnabled: assembler is not seen by the race detector, plain loops are.
const raceEnabled = true
