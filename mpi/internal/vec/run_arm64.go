package vec

// supported: every processor of arm64 that Go runs on has NEON.
func supported(int) bool { return true }

// signallingFirst: of two NaN a signalling one is the result, else the first.
const signallingFirst = true
