package vec

// supported: every processor of arm64 that Go runs on has NEON.
func supported(int) bool { return true }
