//go:build linux

package main

// pairTests are the tests of two ranks that exchange messages and do nothing else.
func pairTests() []test {
	return []test{
		{"pingpong", "half the round trip of one message", 2, latencySizes, pingpong},
	}
}
