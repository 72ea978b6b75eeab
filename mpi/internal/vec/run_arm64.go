package vec

// supported: every processor of arm64 that Go runs on has NEON.
func supported(int) bool { return true }

// run combines n bytes by a kernel of the table. Preconditions: n > 0 is a multiple of Step, and
// the table has the kernel.
//
//go:noescape
func run(kernel int, acc, in *byte, n int)

// signallingFirst: of two NaN a signalling one is the result, else the first.
const signallingFirst = true
