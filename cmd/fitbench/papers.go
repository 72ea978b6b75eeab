//go:build linux

package main

// paperTests are the tests that only the papers ask for; which paper, bench/METHOD.md says.
func paperTests() []test {
	return []test{
		{"duplex", "one message each way at once, twice, beside a round trip", 2, latencySizes, pair(duplex)},
		{"multi", "ping-pong and ping-ping of all pairs of ranks at once", 2, multiSizes, multi},
		{"queued", "half a round trip while receives that do not match, or messages, wait", 2, queuedSizes, queued},
		{"histogram", "how half round trips are distributed", 2, histogramSizes, pair(histogram)},
		{"bsend", "what a buffered send costs while the receiver is late", 2, lateSizes, lateBsend},
		{"types", "Allreduce by type of element and by operation", 1, penaltySizes, types},
	}
}

// Sizes of the tests above, in bytes.
var (
	multiSizes     = []int{8, 1 << 10, 64 << 10, 1 << 20}
	queuedSizes    = []int{8, 1 << 10, 64 << 10, 1 << 20}
	histogramSizes = []int{8, 64 << 10}
)
