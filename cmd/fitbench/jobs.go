//go:build linux

package main

// jobTests are the tests of whole jobs, and of what the interface costs.
func jobTests() []test {
	return []test{}
}
