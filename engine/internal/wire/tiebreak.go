package wire

// DialWins says which of two connections stays when two ranks dial each other at the same time:
// true for the one that self dialled. The lower rank's dial wins, so both sides choose the same one
// without another word.
func DialWins(self, peer uint32) bool { return self < peer }
