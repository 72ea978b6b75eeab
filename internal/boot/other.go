//go:build !linux

package boot

// findOther knows of no launcher but fitrun on other systems.
func findOther([]string) (Session, error) { return newSingle("none"), nil }

func otherRanks([]string) int { return 0 }
