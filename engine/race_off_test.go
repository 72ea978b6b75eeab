//go:build linux && !race && !fitmpi_portable

package engine

const raceEnabled = false
