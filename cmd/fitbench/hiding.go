//go:build linux

package main

// hidingTests are the tests of what communication costs computation, and the other way round.
func hidingTests() []test {
	return []test{}
}
